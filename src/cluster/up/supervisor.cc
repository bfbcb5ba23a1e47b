#include "cluster/up/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPoll = 200ms;
constexpr Duration kFirstBackoff = 200ms;
constexpr Duration kMaxBackoff = 10s;
constexpr Duration kHealthyRun = 30s;
constexpr std::int64_t kMaxLog = 16 << 20;
constexpr Duration kLogPollPeriod = 10s;

std::string exitText(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void trimLog(const std::string& file, std::int64_t most) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0 || info.st_size <= most) return;
  std::error_code failed;
  std::filesystem::copy_file(file, file + ".1", std::filesystem::copy_options::overwrite_existing,
                             failed);
  // On a full disk it is better to lose the old log than to keep the disk full.
  if (::truncate(file.c_str(), 0) != 0) log::warn("{}: {}", file, std::strerror(errno));
}

Supervisor::Supervisor(Executor& executor, std::function<void(const std::string&)> onExit)
    : executor_(executor), onExit_(std::move(onExit)) {}

Supervisor::~Supervisor() {
  for (auto& child : children_) {
    if (child.state.pid == 0) continue;
    ::kill(child.state.pid, SIGKILL);
    ::waitpid(child.state.pid, nullptr, 0);
  }
}

void Supervisor::start(ChildSpec spec) {
  Child& child = children_.emplace_back();
  child.state.name = spec.name;
  child.spec = std::move(spec);
  launch(child);
  if (!std::exchange(watching_, true)) tasks_.spawn(watch());
}

void Supervisor::launch(Child& child) {
  trimLog(child.spec.logFile, kMaxLog);
  // All preparation happens here: between fork and exec only system calls are safe.
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('=') + 1);
    const bool replaced =
        std::ranges::any_of(child.spec.env, [&](const auto& own) { return own.starts_with(name); });
    if (!replaced) environment.emplace_back(text);
  }
  environment.insert(environment.end(), child.spec.env.begin(), child.spec.env.end());
  std::vector<std::string> arguments = child.spec.argv;
  auto argv = pointersTo(arguments);
  auto env = pointersTo(environment);
  const int log =
      ::open(child.spec.logFile.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // Ctrl-C is for us; children are stopped in order.
    ::setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    if (log >= 0) {
      ::dup2(log, 1);
      ::dup2(log, 2);
    }
    ::close_range(3, ~0U, 0);
    ::execve(argv[0], argv.data(), env.data());
    const char* error = std::strerror(errno);
    [[maybe_unused]] auto put = ::write(2, argv[0], std::strlen(argv[0]));
    put = ::write(2, ": ", 2);
    put = ::write(2, error, std::strlen(error));
    put = ::write(2, "\n", 1);
    ::_exit(127);
  }
  if (log >= 0) ::close(log);
  ++child.state.starts;
  child.state.startedAt = executor_.steadyNow();
  if (pid < 0) {
    child.state.lastExit = fmt::format("fork: {}", std::strerror(errno));
    child.nextStart = executor_.steadyNow() + kMaxBackoff;
    return;
  }
  child.state.pid = pid;
}

void Supervisor::reap(Child& child) {
  int status = 0;
  const pid_t ended = ::waitpid(child.state.pid, &status, WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return;
  const SteadyTime now = executor_.steadyNow();
  child.state.pid = 0;
  child.state.lastExit = ended < 0 ? "lost" : exitText(status);
  const bool healthy = now - child.state.startedAt >= kHealthyRun;
  child.backoff =
      healthy || child.backoff == 0s ? kFirstBackoff : std::min(child.backoff * 2, kMaxBackoff);
  child.nextStart = now + child.backoff;
  if (stopping_) return;
  log::warn("{} ended ({}); it restarts in {} ms; log: {}", child.spec.name, child.state.lastExit,
            child.backoff / 1ms, child.spec.logFile);
  onExit_(child.spec.name);
}

Task<void> Supervisor::watch() {
  while (true) {
    if (executor_.steadyNow() - trimmed_ >= kLogPollPeriod) {
      trimmed_ = executor_.steadyNow();
      for (const auto& child : children_) trimLog(child.spec.logFile, kMaxLog);
    }
    for (auto& child : children_) {
      if (child.state.pid != 0) reap(child);
      if (child.state.pid == 0 && !stopping_ && executor_.steadyNow() >= child.nextStart)
        launch(child);
    }
    auto pause = sleepFor(executor_, kPoll);
    co_await pause;
  }
}

std::vector<ChildState> Supervisor::states() const {
  std::vector<ChildState> states;
  for (const auto& child : children_) states.push_back(child.state);
  return states;
}

Task<void> Supervisor::stopAll(Duration grace) {
  stopping_ = true;
  const SteadyTime deadline = executor_.steadyNow() + grace;
  for (const auto& child : children_)
    if (child.state.pid != 0) ::kill(child.state.pid, SIGTERM);
  bool killed = false;
  while (std::ranges::any_of(children_, [](const Child& child) { return child.state.pid != 0; })) {
    if (!killed && executor_.steadyNow() >= deadline) {
      killed = true;
      for (const auto& child : children_)
        if (child.state.pid != 0) ::kill(child.state.pid, SIGKILL);
    }
    auto pause = sleepFor(executor_, 10ms);
    co_await pause;
    for (auto& child : children_)
      if (child.state.pid != 0) reap(child);
  }
}

void Supervisor::startAll() {
  stopping_ = false;
  for (auto& child : children_) {
    child.backoff = {};
    child.state.starts = 0;
    child.state.lastExit.clear();
    if (child.state.pid == 0) launch(child);
  }
}

}  // namespace koord::cluster
