#include "kube/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace koord::kube {
namespace {

using Clock = std::chrono::steady_clock;

// More than this is not what anybody asked for.
constexpr std::size_t kMaxOutput = 1 << 20;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  void reset() { Fd(std::move(*this)); }

 private:
  int fd_;
};

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
int spawn(const std::vector<std::string>& argv,
          const std::vector<std::pair<std::string, std::string>>& environment, int out, int err,
          pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  // A group of its own, to be killed as a whole, and none of our blocked signals.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);

  const auto variables = environmentWith(environment);
  const int error = ::posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                   pointersTo(argv).data(), pointersTo(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Reads until both pipes are closed; why it stopped earlier, if it did.
Result<> collect(Pipe& out, Pipe& err, ProgramOutput& output, Clock::time_point deadline,
                 const Interrupt& interrupt, const std::string& program) {
  std::array<pollfd, 3> watched{pollfd{out.reader.get(), POLLIN, 0},
                                pollfd{err.reader.get(), POLLIN, 0},
                                pollfd{interrupt.fd(), POLLIN, 0}};
  std::array<char, 8192> part;
  while (watched[0].fd >= 0 || watched[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return fail(ErrorCode::Timeout, program + ": took too long");
    if (::poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0) continue;
    if (watched[2].revents != 0) return fail(ErrorCode::Cancelled, program + ": interrupted");
    for (int i = 0; i < 2; ++i) {
      auto& entry = watched[static_cast<std::size_t>(i)];
      if (entry.fd < 0 || entry.revents == 0) continue;
      const auto size = ::read(entry.fd, part.data(), part.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        entry.fd = -1;  // poll passes over it
        continue;
      }
      auto& text = i == 0 ? output.out : output.err;
      text.append(part.data(), static_cast<std::size_t>(size));
      if (text.size() > kMaxOutput) return fail(ErrorCode::Invalid, program + ": writes too much");
    }
  }
  return {};
}

int reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Interrupt::Interrupt() : fd_(::eventfd(0, EFD_CLOEXEC)) {}

Interrupt::~Interrupt() {
  ::close(fd_);
}

void Interrupt::raise() {
  ::eventfd_write(fd_, 1);
}

Result<ProgramOutput> runProgram(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& environment,
    std::chrono::milliseconds limit, const Interrupt& interrupt) {
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) return fail(errnoError(argv[0], errno));
  pid_t pid = -1;
  if (const int error = spawn(argv, environment, out.writer.get(), err.writer.get(), pid)) {
    return fail(errnoError(argv[0], error));
  }
  out.writer.reset();
  err.writer.reset();
  ProgramOutput output;
  auto collected = collect(out, err, output, Clock::now() + limit, interrupt, argv[0]);
  if (!collected) ::kill(-pid, SIGKILL);
  output.status = reap(pid);
  if (!collected) return fail(std::move(collected.error()));
  return output;
}

}  // namespace koord::kube
