#include "devicedaemon/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/utf8.h"

namespace koord::devicedaemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = 1 << 20;
constexpr std::size_t kMostShown = 400;  // of a failed tool's output
constexpr auto kPollPeriod =
    std::chrono::milliseconds(5);                        // between checks for the end of a process
constexpr auto kGrace = std::chrono::milliseconds(500);  // for a killed process
constexpr int kNoProgram = 127, kNoRoot = 126, kWorkFailed = 125;
// Vendors install their tools outside the usual folders.
constexpr const char* kPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/xpu/bin:"
    "/usr/local/neuware/bin:/opt/mxdriver/bin:/opt/mxn100/bin";

class Pipe {
 public:
  Pipe() { open_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() const { return open_; }
  int end(std::size_t which) const { return ends_[which]; }
  void close(std::size_t which) {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool open_ = false;
};

void writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

bool isReadable(int fd) {
  pollfd look{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&look, 1, 0) > 0;
}

// Reads to the end, the limit, the deadline, or until `stop` is readable; returns false at the
// latter three.
bool readAll(int fd, int stop, steady_clock::time_point deadline, std::string& text) {
  std::array<char, 16'384> buffer{};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0 || text.size() > kMaxOutput) return false;
    std::array<pollfd, 2> waiting{pollfd{fd, POLLIN, 0}, pollfd{stop, POLLIN, 0}};
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    if (waiting[1].revents != 0) return false;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The status of waitpid; nullopt if the process has not ended at `end`, or when `stop` became
// readable. A process that is stuck in a driver ignores all signals, even SIGKILL.
std::optional<int> waitFor(pid_t child, int stop, steady_clock::time_point end) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (steady_clock::now() >= end || isReadable(stop)) return std::nullopt;
    std::this_thread::sleep_for(kPollPeriod);
  }
}

// Called in the child. Unblocks all signals, and makes the child end with its parent.
void becomeChild() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

std::string shown(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text.empty() ? "it wrote no output"
                      : fmt::format("output: {}", shortened(text, kMostShown));
}

[[noreturn]] void becomeTool(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::setenv("LC_ALL", "C", 1);
  ::setenv("PATH", kPath, 1);
  ::execvp(arguments.front(), arguments.data());
  ::_exit(kNoProgram);
}

}  // namespace

struct HostRunner::Ended {
  std::string output;
  int status = 0;  // as of waitpid
};

bool HostRunner::stopping() const {
  return isReadable(stop_);
}

bool HostRunner::enterRoot() const {
  return root_.empty() || (::chroot(root_.c_str()) == 0 && ::chdir("/") == 0);
}

Result<HostRunner::Ended> HostRunner::inChild(const std::string& name,
                                              const std::function<int(int)>& body) {
  std::erase_if(stuck_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
  if (stopping()) return fail(ErrorCode::Cancelled, name + ": the program is ending");
  Pipe pipe;
  if (!pipe.open()) return fail(errnoError("pipe", errno));
  const pid_t child = ::fork();
  if (child < 0) return fail(errnoError("fork", errno));
  if (child == 0) {
    becomeChild();
    ::_exit(enterRoot() ? body(pipe.end(1)) : kNoRoot);
  }
  ::setpgid(child, child);  // parent and child both call it; the first call counts
  pipe.close(1);
  Ended ended;
  const auto end = steady_clock::now() + limit_;
  bool whole = readAll(pipe.end(0), stop_, end, ended.output);
  std::optional<int> status = whole ? waitFor(child, stop_, end) : std::nullopt;
  if (!status) {
    whole = false;
    ::kill(-child, SIGKILL);
    status = waitFor(child, -1, steady_clock::now() + kGrace);
  }
  if (!status) stuck_.push_back(child);
  ended.status = status.value_or(0);
  if (!whole && stopping()) return fail(ErrorCode::Cancelled, name + ": the program is ending");
  if (!whole && ended.output.size() > kMaxOutput)
    return fail(ErrorCode::Internal, name + ": it wrote more than a megabyte");
  if (!whole)
    return fail(ErrorCode::Timeout, fmt::format("{}: still running after {} s", name,
                                                std::chrono::duration<double>(limit_).count()));
  if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == kNoRoot)
    return fail(
        ErrorCode::Forbidden,
        fmt::format("{}: cannot change the root to {}: CAP_SYS_CHROOT is needed", name, root_));
  if (WIFSIGNALED(ended.status))
    return fail(ErrorCode::Internal,
                fmt::format("{}: ended by signal {}", name, WTERMSIG(ended.status)));
  return ended;
}

Result<std::string> HostRunner::run(const std::vector<std::string>& command) {
  const std::string name = fmt::format("{}", fmt::join(command, " "));
  auto ended = inChild(name, [&](int output) -> int { becomeTool(command, output); });
  if (!ended) return fail(std::move(ended.error()));
  const int status = WEXITSTATUS(ended->status);
  if (status == kNoProgram)
    return fail(ErrorCode::NotFound, command.front() + " is not installed on the host");
  if (status != 0)
    return fail(ErrorCode::Internal,
                fmt::format("{}: status {}, {}", name, status, shown(ended->output)));
  return std::move(ended->output);
}

Result<std::string> HostRunner::runIsolated(const std::string& name, const Work& work) {
  auto ended = inChild(name, [&](int output) {
    auto done = work();
    // "?" before an error means NotFound.
    if (!done && done.error().code == ErrorCode::NotFound) writeAll(output, "?");
    writeAll(output, done ? *done : done.error().message);
    return done ? 0 : kWorkFailed;
  });
  if (!ended) return fail(std::move(ended.error()));
  if (WEXITSTATUS(ended->status) == 0) return std::move(ended->output);
  const bool absent = ended->output.starts_with('?');
  return fail(absent ? ErrorCode::NotFound : ErrorCode::Internal,
              shortened(std::string_view(ended->output).substr(absent ? 1 : 0), kMostShown));
}

}  // namespace koord::devicedaemon
