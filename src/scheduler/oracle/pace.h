#pragma once

// When the scheduler's process may fork for a simulation.
//
// A fork costs the scheduler's thread the time of fork(), and afterwards a page fault for each page
// that it writes first. With 150,000 pods (bench_whatif) these are 5 ms and, at full speed, 15 ms
// in a tenth of a second and 35 ms in a second: few forks cost less than many. While the thread
// works, the next fork waits until the last one has cost at most 4 % of the time since, at most two
// seconds. A thread that mostly waits for work loses nothing that counts, and may fork at once.

#include <cstdint>
#include <optional>

#include "base/executor.h"

namespace koord::scheduler::oracle {

// What a thread has done since it began.
struct ThreadWork {
  Duration cpu{};
  std::uint64_t faults = 0;  // minor ones: a page that is there, but not writable or not mapped
};
ThreadWork workOfThisThread();

class Pace {
 public:
  // Returns true if a fork may follow now.
  bool allows(SteadyTime now, const ThreadWork& work) const;
  // A fork began at `before` and took so long; `work` is that of the end.
  void forked(SteadyTime before, Duration took, const ThreadWork& work);

 private:
  struct Fork {
    SteadyTime at{};
    Duration took{};
    ThreadWork work;
  };
  std::optional<Fork> last_;
};

}  // namespace koord::scheduler::oracle
