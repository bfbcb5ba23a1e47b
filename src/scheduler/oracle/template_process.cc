#include "scheduler/oracle/template_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace koord::scheduler::oracle {

namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kMark = ~std::uint64_t{0};  // bytes that no text has

// What waitpid returns for a process that exited so.
constexpr int exited(int code) {
  return code << 8;
}

class Template {
 public:
  Template(const std::vector<int>& pipes, const ForkLimits& limits, std::size_t atOnce,
           const std::vector<ChildWork>& works)
      : limits_(limits), atOnce_(atOnce), beginUntil_(steady_clock::now() + limits.time) {
    for (std::size_t i = 0; i < pipes.size(); ++i)
      copies_.push_back({.pipe = pipes[i], .work = &works[i]});
  }

  void run() {
    sigset_t none, childEnds;
    ::sigemptyset(&none);
    ::sigemptyset(&childEnds);
    ::sigaddset(&childEnds, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &childEnds, nullptr);  // it arrives in ppoll only
    ::signal(SIGCHLD, [](int) {});
    for (;;) {
      begin();
      if (std::ranges::all_of(copies_, &Copy::ended)) return;
      watch(none);
      reap();
    }
  }

 private:
  struct Copy {
    int pipe = -1;
    const ChildWork* work = nullptr;
    pid_t pid = -1;  // -1: it does not run
    steady_clock::time_point killAt{};
    bool killed = false;
    bool ended = false;
  };

  void begin() {
    for (Copy& copy : copies_) {
      if (copy.ended || copy.pid >= 0) continue;
      const auto now = steady_clock::now();
      if (now >= beginUntil_) {
        end(copy, exited(kNotBegun));
      } else if (running_ < atOnce_) {
        copy.killAt = now + limits_.time + limits_.grace;
        const pid_t self = ::getpid();
        copy.pid = ::fork();
        if (copy.pid == 0) runChild(copy.pipe, limits_, self, *copy.work);
        if (copy.pid < 0) {
          end(copy, exited(kNoText));
        } else {
          ++running_;
        }
      }
    }
  }

  // Until a copy ends, a reader is gone or a time is over.
  void watch(const sigset_t& signals) {
    std::vector<pollfd> files;
    auto until = steady_clock::time_point::max();
    for (const Copy& copy : copies_) {
      const bool watched = !copy.ended && !copy.killed;
      files.push_back({watched ? copy.pipe : -1, 0, 0});
      if (watched) until = std::min(until, copy.pid >= 0 ? copy.killAt : beginUntil_);
    }
    const auto left = std::max<Duration>(until - steady_clock::now(), Duration::zero());
    const timespec wait{left / std::chrono::seconds(1), (left % std::chrono::seconds(1)).count()};
    const bool forever = until == steady_clock::time_point::max();
    if (::ppoll(files.data(), files.size(), forever ? nullptr : &wait, &signals) < 0) return;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      Copy& copy = copies_[i];
      const bool readerGone = (files[i].revents & (POLLERR | POLLNVAL)) != 0;
      if (copy.pid >= 0 && !copy.killed && (readerGone || steady_clock::now() >= copy.killAt)) {
        ::kill(copy.pid, SIGKILL);
        copy.killed = true;
      } else if (copy.pid < 0 && readerGone) {
        end(copy, exited(kNotBegun));
      }
    }
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::ranges::find(copies_, pid, &Copy::pid);
      if (found == copies_.end()) continue;
      --running_;
      end(*found, status);
    }
  }

  static void end(Copy& copy, int status) {
    writeAll(copy.pipe, endOf(status));
    ::close(copy.pipe);
    copy.pid = -1;
    copy.ended = true;
  }

  const ForkLimits limits_;
  const std::size_t atOnce_;
  const steady_clock::time_point beginUntil_;
  std::vector<Copy> copies_;
  std::size_t running_ = 0;
};

}  // namespace

std::string endOf(int status) {
  std::string end(kEndBytes, '\0');
  std::memcpy(end.data(), &kMark, sizeof(kMark));
  std::memcpy(end.data() + sizeof(kMark), &status, sizeof(status));
  return end;
}

std::optional<int> statusIn(std::string_view end) {
  std::uint64_t mark = 0;
  int status = 0;
  if (end.size() != kEndBytes) return std::nullopt;
  std::memcpy(&mark, end.data(), sizeof(mark));
  std::memcpy(&status, end.data() + sizeof(mark), sizeof(status));
  if (mark != kMark) return std::nullopt;
  return status;
}

void runTemplate(const std::vector<int>& pipes, const ForkLimits& limits, std::size_t atOnce,
                 pid_t parent, const std::vector<ChildWork>& works) {
  isolate(pipes, parent);
  Template(pipes, limits, atOnce, works).run();
  ::_exit(0);
}

}  // namespace koord::scheduler::oracle
