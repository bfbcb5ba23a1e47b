#pragma once

// A forked copy of the process, seen from the copy: its surroundings, its limits, and what it says
// to the parent (forked.h).
//
// In a copy only the thread that forked exists, and locks that other threads held stay locked. So
// it must not log, use sockets or wait for threads.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/executor.h"

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

// What a child does.
struct ChildWork {
  std::function<void(const ChildSide& side)> run;  // must call finish
  // Called if memory runs out, with a reserve freed; must call finish, too.
  std::function<void()> outOfMemory;
};

// Exit statuses of a child that has not finished.
inline constexpr int kNoMemory = 2;
inline constexpr int kNoText = 3;
inline constexpr int kNotBegun = 4;  // of no process: too late to start one

// In the copy: ends it with `parent`; signals as at the start of a program; no files but `kept` and
// standard error; a low priority. When memory is short, the kernel kills it first.
void isolate(std::span<const int> kept, pid_t parent);

// In the copy: runs the work within the limits.
[[noreturn]] void runChild(int pipe, const ForkLimits& limits, pid_t parent, const ChildWork& work);

// In the copy: writes all, or as much as the reader takes.
void writeAll(int fd, std::string_view bytes);

}  // namespace koord::scheduler::oracle
