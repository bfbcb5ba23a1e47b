#include "scheduler/oracle/forked.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <utility>

#include "scheduler/oracle/budget.h"

namespace koord::scheduler::oracle {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kReserve = 64 << 20;  // to write an answer when memory has run out
constexpr std::size_t kMaxText = 128 << 20;
constexpr int kNiceness = 5;                       // a third of a processor that both want
constexpr std::chrono::milliseconds kGlance{100};  // between looks at `cancelled`
constexpr int kPipe = 3;                           // its number in the child
constexpr int kNoMemory = 2;                       // exit status

// In the child.
std::unique_ptr<char[]> gReserve;  // NOLINT: operator new's handler takes no arguments
std::function<void()> gOutOfMemory;

Error systemError(const char* what) {
  return errnoError(what, errno);
}

void writeAll(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

std::uint64_t virtualMemory() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(__rlimit_resource_t which, std::uint64_t value) {
  const rlimit bound{value, value};
  ::setrlimit(which, &bound);
}

// The child's own surroundings: signals as at the start of a program, no files but the pipe and
// standard error, limits, and a low priority. The parent may have ended before it could be watched.
void isolate(int pipe, const ForkLimits& limits, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::signal(number, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (pipe != kPipe) ::dup2(pipe, kPipe);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1}) ::dup2(nothing, standard);
  ::close_range(kPipe + 1, ~0U, 0);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  limit(RLIMIT_CORE, 0);
  const auto cpu = std::chrono::ceil<std::chrono::seconds>(limits.time + limits.grace);
  limit(RLIMIT_CPU, static_cast<std::uint64_t>(cpu.count()) + 1);
  limit(RLIMIT_AS, virtualMemory() + limits.memory);
}

void outOfMemoryHandler() {
  if (!gReserve) ::_exit(kNoMemory);
  gReserve.reset();
  gOutOfMemory();
  ::_exit(kNoMemory);
}

[[noreturn]] void runChild(int pipe, const ForkLimits& limits, pid_t parent,
                           const std::function<void(const ChildSide&)>& child,
                           const std::function<void()>& outOfMemory) {
  isolate(pipe, limits, parent);
  const ChildSide side(limits.time);
  gReserve = std::make_unique_for_overwrite<char[]>(kReserve);
  gOutOfMemory = outOfMemory;
  std::set_new_handler(outOfMemoryHandler);
  try {
    child(side);
  } catch (...) {
    // The parent reports that there was no answer.
  }
  ::_exit(3);
}

// A text as the child writes it: its length, then its bytes.
void writeText(const std::string& text) {
  const std::uint64_t size = text.size();
  std::string framed(sizeof(size), '\0');
  std::memcpy(framed.data(), &size, sizeof(size));
  writeAll(kPipe, framed + text);
}

}  // namespace

bool OfferedTexts::append(std::string_view bytes) {
  open_ += bytes;
  std::uint64_t size = 0;
  while (open_.size() >= sizeof(size)) {
    std::memcpy(&size, open_.data(), sizeof(size));
    if (size > kMaxText) return false;
    if (open_.size() - sizeof(size) < size) break;
    last_ = open_.substr(sizeof(size), size);
    open_.erase(0, sizeof(size) + size);
  }
  return true;
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

Result<ForkedAnswer> ForkedAnswer::start(ForkLimits limits,
                                         const std::function<void(const ChildSide&)>& child,
                                         const std::function<void()>& outOfMemory) {
  const auto memory = boundedMemory(limits.memory, kCgroupRoot);
  if (!memory)
    return fail(ErrorCode::Unavailable,
                "the memory limit of the scheduler's container leaves too little for a simulation; "
                "raise it");
  limits.memory = *memory;
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail(systemError("pipe"));
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) runChild(pipe[1], limits, parent, child, outOfMemory);
  ::close(pipe[1]);
  if (pid < 0) {
    Error error = systemError("fork");
    ::close(pipe[0]);
    return fail(std::move(error));
  }
  return ForkedAnswer(pid, pipe[0], limits.time + limits.grace);
}

ForkedAnswer::ForkedAnswer(ForkedAnswer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      time_(other.time_) {}

ForkedAnswer::~ForkedAnswer() {
  stop();
}

void ForkedAnswer::stop() {
  if (pipe_ >= 0) ::close(std::exchange(pipe_, -1));
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  (void)reap();
}

int ForkedAnswer::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

// Reads until the child has ended.
Result<> ForkedAnswer::read(const std::atomic<bool>& cancelled, OfferedTexts& texts) {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + time_;
  std::array<char, 64 << 10> buffer{};
  for (;;) {
    if (cancelled) return fail(ErrorCode::Cancelled, "the scheduler stops, or the client has gone");
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd waiting{pipe_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp(left, 0ms, kGlance).count()));
    if ((ready < 0 && errno == EINTR) || (ready == 0 && left > 0ms)) continue;
    if (ready <= 0)
      return fail(ErrorCode::Timeout,
                  fmt::format("the simulation took more than {} s",
                              std::chrono::ceil<std::chrono::seconds>(time_).count()));
    const ssize_t got = ::read(pipe_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (!texts.append({buffer.data(), static_cast<std::size_t>(got)}))
      return fail(ErrorCode::Internal, "the answer is too large");
  }
  const int status = reap();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  // The kernel's signals for the limits of CPU time and memory.
  if ((WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) ||
      (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory))
    return fail(ErrorCode::Timeout, "the simulation used too much CPU time or memory");
  return fail(ErrorCode::Internal, "the simulation failed in a plugin");
}

Result<std::string> ForkedAnswer::wait(const std::atomic<bool>& cancelled) {
  OfferedTexts texts;
  auto done = read(cancelled, texts);
  stop();
  if (!done && (done.error().code != ErrorCode::Timeout || !texts.last()))
    return fail(std::move(done.error()));
  if (auto last = texts.last()) return *std::move(last);
  return fail(ErrorCode::Internal, "the simulation ended without an answer");
}

}  // namespace koord::scheduler::oracle
