#pragma once

// Questions share forks while the scheduler works.
//
// A question waits until the scheduler's process may fork (pace.h) and a child may run; then one
// fork answers all that wait. So each answer is about a state that is newer than its question:
// what a user wrote and the scheduler received before the question, the answer knows. The other
// way to save forks, a copy that is kept for the questions of the next second, would answer with
// what was before, and its pages would be copied all the time.
//
// On the scheduler's thread, between two of its turns.

#include <atomic>
#include <deque>
#include <functional>
#include <memory>

#include "scheduler/oracle/oracle.h"
#include "scheduler/oracle/pace.h"

namespace koord::scheduler::oracle {

// The scheduler of now; scheduler is nullptr until its state is complete.
struct Askable {
  Scheduler* scheduler = nullptr;
  Seam* seam = nullptr;
  PodExists exists;                               // as ask() takes it
  const forecast::RunHistory* history = nullptr;  // likewise
  // Without a scheduler: why.
  const char* absent = "the scheduler has not read the whole cluster yet";
};

class SharedForks {
 public:
  // The pieces of time and work; tests replace them.
  struct Meter {
    std::function<SteadyTime()> now;
    std::function<ThreadWork()> work;
  };
  static Meter realMeter();

  // atOnce: children that run at once, of all forks.
  SharedForks(std::function<Askable()> subject, const Registry& registry, std::size_t atOnce,
              Meter meter = realMeter())
      : subject_(std::move(subject)),
        registry_(registry),
        atOnce_(atOnce),
        meter_(std::move(meter)) {}

  // An answer that is computed now. Its child's place is free again when `place` is gone, on this
  // thread.
  struct Started {
    ForkedAnswer answer;
    std::shared_ptr<void> place;
  };
  struct Waiting {
    AskedQuestion asked;     // what it refers to lives until `started` is called
    ForkLimits limits = {};  // questions of one fork have the same time
    std::shared_ptr<const std::atomic<bool>> cancelled;
    // Called once, in look(). Cancelled. Unavailable. TooManyRequests: no child was free for long.
    std::function<void(Result<Started>)> started;
    SteadyTime since{};
  };
  void add(Waiting question);
  bool empty() const { return waiting_.empty(); }
  // Forks for the questions that wait, if it is time. Call it after add() and, while questions
  // wait, every 10 ms.
  void look();

  std::uint64_t forks() const { return forks_; }

 private:
  void dropLost();
  void fork();

  const std::function<Askable()> subject_;
  const Registry& registry_;
  const std::size_t atOnce_;
  const Meter meter_;
  Pace pace_;
  std::deque<Waiting> waiting_;
  std::uint64_t forks_ = 0;
  // Children that may run now; shared with places, which may live longer.
  std::shared_ptr<std::size_t> running_ = std::make_shared<std::size_t>(0);
};

}  // namespace koord::scheduler::oracle
