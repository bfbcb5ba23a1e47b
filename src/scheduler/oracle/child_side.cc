#include "scheduler/oracle/child_side.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <vector>

namespace koord::scheduler::oracle {

namespace {

constexpr std::size_t kReserve = 64 << 20;  // to write an answer when memory has run out
constexpr int kNiceness = 5;                // a third of a processor that both want
constexpr int kPipe = 3;                    // its number in the child

// In the child.
std::unique_ptr<char[]> gReserve;  // NOLINT: operator new's handler takes no arguments
std::function<void()> gOutOfMemory;

std::uint64_t virtualMemory() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(__rlimit_resource_t which, std::uint64_t value) {
  const rlimit bound{value, value};
  ::setrlimit(which, &bound);
}

void setOomScore(int score) {
  std::ofstream("/proc/self/oom_score_adj") << score;
}

void closeAllBut(std::span<const int> kept) {
  std::vector<int> sorted(kept.begin(), kept.end());
  std::ranges::sort(sorted);
  unsigned next = STDERR_FILENO + 1;
  for (const int file : sorted) {
    const auto number = static_cast<unsigned>(file);
    if (number > next) ::close_range(next, number - 1, 0);
    next = std::max(next, number + 1);
  }
  ::close_range(next, ~0U, 0);
}

void outOfMemoryHandler() {
  if (!gReserve) ::_exit(kNoMemory);
  gReserve.reset();
  gOutOfMemory();
  ::_exit(kNoMemory);
}

// A text as the child writes it: its length, then its bytes.
void writeText(const std::string& text) {
  const std::uint64_t size = text.size();
  std::string framed(sizeof(size), '\0');
  std::memcpy(framed.data(), &size, sizeof(size));
  writeAll(kPipe, framed + text);
}

}  // namespace

void writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

// The parent may have ended before it could be watched.
void isolate(std::span<const int> kept, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  closeAllBut(kept);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing, standard);
  ::close(nothing);
  setOomScore(900);
  limit(RLIMIT_CORE, 0);
}

void runChild(int pipe, const ForkLimits& limits, pid_t parent, const ChildWork& work) {
  isolate(std::span(&pipe, 1), parent);
  if (pipe != kPipe) {
    ::dup2(pipe, kPipe);
    ::close(pipe);
  }
  const auto cpu = std::chrono::ceil<std::chrono::seconds>(limits.time + limits.grace);
  limit(RLIMIT_CPU, static_cast<std::uint64_t>(cpu.count()) + 1);
  limit(RLIMIT_AS, virtualMemory() + limits.memory);
  setOomScore(1000);  // before the template, which has to reap it
  const ChildSide side(limits.time);
  gReserve = std::make_unique_for_overwrite<char[]>(kReserve);
  gOutOfMemory = work.outOfMemory;
  std::set_new_handler(outOfMemoryHandler);
  try {
    work.run(side);
  } catch (...) {
    // The parent reports that there was no answer.
  }
  ::_exit(kNoText);
}

ChildSide::ChildSide(Duration time) : until_(std::chrono::steady_clock::now() + time) {}

void ChildSide::offer(const std::string& text) {
  writeText(text);
}

void ChildSide::finish(const std::string& text) {
  writeText(text);
  ::_exit(0);
}

bool ChildSide::isLate() const {
  return std::chrono::steady_clock::now() >= until_;
}

}  // namespace koord::scheduler::oracle
