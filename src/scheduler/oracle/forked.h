#pragma once

// A forked copy of this process that computes a text. fork() gives the child an exact copy of the
// memory at the cost of its page tables; pages are copied when one of the two writes them. In the
// child only the calling thread exists, and locks that other threads held stay locked. So the child
// must not log, use sockets or wait for threads.
//
// The child is bounded: CPU time, memory, and a deadline after which it is killed. It has a low
// priority, is the first that the kernel kills when memory is short, ends with its parent, and has
// no file of the parent's but the pipe and standard error.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord::scheduler::oracle {

struct ForkLimits {
  Duration time = std::chrono::seconds(5);   // after that it should finish: ChildSide::isLate
  Duration grace = std::chrono::seconds(5);  // in addition; then it is killed
  std::uint64_t memory = 1ULL << 30;         // that it may allocate at most, bytes (budget.h)
};

// What the child is given.
class ChildSide {
 public:
  explicit ChildSide(Duration time);
  // A text for the case that a limit ends the child before a better one follows.
  static void offer(const std::string& text);
  // Writes the text for the parent, and ends the child.
  [[noreturn]] static void finish(const std::string& text);
  // True if its time is over.
  bool isLate() const;

 private:
  std::chrono::steady_clock::time_point until_;
};

// What the parent has read of a child's texts; it keeps the last whole one.
class OfferedTexts {
 public:
  // False: a text is longer than 128 MiB.
  bool append(std::string_view bytes);
  const std::optional<std::string>& last() const { return last_; }

 private:
  std::string open_;  // what follows the last whole text
  std::optional<std::string> last_;
};

class ForkedAnswer {
 public:
  // Runs `child` in a copy of the process; it must call finish. If memory runs out, `outOfMemory`
  // is called there, with a reserve freed, and must call finish, too. Call it while no other thread
  // holds a lock that the child needs.
  static Result<ForkedAnswer> start(ForkLimits limits,
                                    const std::function<void(const ChildSide& side)>& child,
                                    const std::function<void()>& outOfMemory);
  ForkedAnswer(ForkedAnswer&& other) noexcept;
  ForkedAnswer& operator=(ForkedAnswer&&) = delete;
  // Kills the child if it still runs, and waits for its end.
  ~ForkedAnswer();

  // Blocks until the child has ended, or kills it after time and grace, or when `cancelled` becomes
  // true. On any thread. The text that the child finished with; if a limit ended it, the last
  // text that it offered. Timeout: it offered none. Cancelled. Internal: the child failed.
  Result<std::string> wait(const std::atomic<bool>& cancelled);

 private:
  ForkedAnswer(pid_t pid, int pipe, Duration time) : pid_(pid), pipe_(pipe), time_(time) {}
  Result<> read(const std::atomic<bool>& cancelled, OfferedTexts& texts);
  int reap();  // the status of its end
  void stop();

  pid_t pid_ = -1;
  int pipe_ = -1;
  Duration time_{};
};

}  // namespace koord::scheduler::oracle
