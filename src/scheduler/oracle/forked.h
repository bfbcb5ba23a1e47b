#pragma once

// Forked copies of this process that compute texts. fork() gives a copy of the memory at the cost
// of its page tables; pages are copied when one of the processes writes them.
//
// A copy is bounded: CPU time, memory, and a deadline after which it is killed. It has a low
// priority, is the first that the kernel kills when memory is short, ends with its parent, and has
// no file of the parent's but the pipe and standard error. See child_side.h for what it may do.

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "scheduler/oracle/child_side.h"

namespace koord::scheduler::oracle {

// What the parent has read of a child's texts; it keeps the last whole one.
class OfferedTexts {
 public:
  // heldBack: so many last bytes are no text.
  explicit OfferedTexts(std::size_t heldBack = 0) : heldBack_(heldBack) {}
  // False: a text is longer than 128 MiB.
  bool append(std::string_view bytes);
  const std::optional<std::string>& last() const { return last_; }
  // At the end: the bytes that were held back.
  std::string_view heldBack() const;
  // They are text after all.
  bool release();

 private:
  bool takeTexts();
  std::size_t heldBack_;
  std::string open_;  // what follows the last whole text
  std::optional<std::string> last_;
};

class ForkedAnswer {
 public:
  // Runs `work` in a copy of the process. Call it while no other thread holds a lock that the child
  // needs.
  static Result<ForkedAnswer> start(const ForkLimits& limits, ChildWork work);
  // Runs each of `works` in a copy of its own, all of this moment, `atOnce` at a time. One fork of
  // this process (template_process.h). The works wait until a copy is free for them, at most
  // limits.time.
  static Result<std::vector<ForkedAnswer>> startAll(ForkLimits limits, std::size_t atOnce,
                                                    const std::vector<ChildWork>& works);
  // Their destructor ends what still runs. The last one waits for the end of the process.
  ForkedAnswer(ForkedAnswer&& other) noexcept = default;
  ForkedAnswer& operator=(ForkedAnswer&&) = delete;
  ~ForkedAnswer();

  // Blocks until the child has ended, or ends it after time and grace, or when `cancelled` becomes
  // true. On any thread. The text that the child finished with; if a limit ended it, the last
  // text that it offered. Timeout: it offered none. TooManyRequests: it did not begin. Cancelled.
  // Internal: the child failed.
  Result<std::string> wait(const std::atomic<bool>& cancelled);

 private:
  // The child, or the template of several; reaped when no answer needs it.
  class Process {
   public:
    Process(pid_t pid, bool isTemplate) : pid_(pid), isTemplate_(isTemplate) {}
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    bool isTemplate() const { return isTemplate_; }
    int status();  // waits for its end

   private:
    const pid_t pid_;
    const bool isTemplate_;
    std::mutex mutex_;
    std::optional<int> status_;
  };
  ForkedAnswer(std::shared_ptr<Process> process, Fd pipe, Duration time)
      : process_(std::move(process)), pipe_(std::move(pipe)), time_(time) {}
  Result<> read(const std::atomic<bool>& cancelled, OfferedTexts& texts);
  // How the child has ended; the pipe is at its end.
  int statusOf(OfferedTexts& texts);
  void stop();

  std::shared_ptr<Process> process_;
  Fd pipe_;
  Duration time_{};
};

}  // namespace koord::scheduler::oracle
