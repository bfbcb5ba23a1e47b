#include "base/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/fd.h"

namespace koord {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kPollPeriod = 50;  // ms between checks if no descriptor signals the program's end

struct Pipe {
  Fd reader;
  Fd writer;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
    return true;
  }
};

std::vector<char*> pointersTo(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environmentWith(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [other, value] : added) replaced = replaced || other == name;
    if (!replaced) all.push_back(text);
  }
  return all;
}

// 0, or the errno of the failure.
int spawn(const ProgramSpec& program, int out, int err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  if (!program.folder.empty())
    posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
  // A group of its own, to be killed as a whole, and none of our blocked signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);

  const auto variables = environmentWith(program.environment);
  const int error = ::posix_spawnp(&pid, program.argv[0].c_str(), &actions, &attributes,
                                   pointersTo(program.argv).data(), pointersTo(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Whether it waits to be reaped.
bool hasEnded(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Reads until both pipes are closed and the program has ended; why it stopped earlier, if it did.
Result<> collect(const ProgramSpec& program, std::array<int, 2> pipes, pid_t pid,
                 ProgramOutput& output, const Interrupt& interrupt) {
  const std::string& name = program.argv[0];
  const Steady::time_point deadline = Steady::now() + program.limit;
  // -1 if the kernel has no such descriptors, or seccomp forbids them: then the loop polls.
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  bool isGone = false;
  std::array<pollfd, 4> watched{pollfd{pipes[0], POLLIN, 0}, pollfd{pipes[1], POLLIN, 0},
                                pollfd{ended.get(), POLLIN, 0}, pollfd{interrupt.fd(), POLLIN, 0}};
  std::array<char, 8192> part;
  while (watched[0].fd >= 0 || watched[1].fd >= 0 || !isGone) {
    constexpr std::int64_t kLongestPoll = std::numeric_limits<int>::max();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
    if (left.count() <= 0) return fail(ErrorCode::Timeout, name + ": timed out");
    const auto pause = static_cast<int>(std::min<std::int64_t>(
        left.count(), ended.get() < 0 && !isGone ? kPollPeriod : kLongestPoll));
    if (ended.get() < 0) isGone = isGone || hasEnded(pid);
    if (isGone && watched[0].fd < 0 && watched[1].fd < 0) break;
    if (::poll(watched.data(), watched.size(), pause) < 0) continue;
    if (watched[3].revents != 0) return fail(ErrorCode::Cancelled, name + ": interrupted");
    if (watched[2].revents != 0) {
      isGone = true;
      watched[2].fd = -1;  // poll passes over it
    }
    for (int i = 0; i < 2; ++i) {
      auto& entry = watched[static_cast<std::size_t>(i)];
      if (entry.fd < 0 || entry.revents == 0) continue;
      const auto size = ::read(entry.fd, part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        entry.fd = -1;
        continue;
      }
      auto& text = i == 0 ? output.out : output.err;
      const auto room = program.maxOutput - text.size();
      text.append(part.data(), std::min(static_cast<std::size_t>(size), room));
      if (static_cast<std::size_t>(size) > room && !program.dropsOutput)
        return fail(ErrorCode::Invalid, name + ": its output is too large");
    }
  }
  return {};
}

void reap(pid_t pid, ProgramOutput& output) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  output.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + output.signal;
}

}  // namespace

Interrupt::Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC)) {}

Interrupt::~Interrupt() {
  ::close(fd_);
}

void Interrupt::raise() {
  ::eventfd_write(fd_, 1);
}

Result<ProgramOutput> runProgram(const ProgramSpec& program, const Interrupt& interrupt) {
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) return fail(errnoError(program.argv[0], errno));
  pid_t pid = -1;
  if (const int error = spawn(program, out.writer.get(), err.writer.get(), pid)) {
    return fail(errnoError(program.argv[0], error));
  }
  out.writer.reset();
  err.writer.reset();
  ProgramOutput output;
  auto collected = collect(program, {out.reader.get(), err.reader.get()}, pid, output, interrupt);
  if (!collected) {
    ::kill(-pid, SIGKILL);
    output.killed = std::move(collected.error());
  }
  reap(pid, output);
  return output;
}

}  // namespace koord
