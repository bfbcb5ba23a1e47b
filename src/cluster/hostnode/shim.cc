#include "cluster/hostnode/shim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/file.h"
#include "cluster/hostnode/container_record.h"
#include "cluster/hostnode/log_pump.h"

namespace koord::cluster {

namespace {

WallTime now() {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

// What the child says through the pipe when it cannot become the command.
struct StartFailure {
  int error = 0;
  char where[120] = {};
};

[[noreturn]] void giveUp(int pipe, int error, const std::string& where) {
  StartFailure failure;
  failure.error = error;
  std::strncpy(failure.where, where.c_str(), sizeof failure.where - 1);
  [[maybe_unused]] const auto put = ::write(pipe, &failure, sizeof failure);
  ::_exit(128);
}

bool joinCgroup(const std::string& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool joined = ::write(fd, "0", 1) == 1;
  const int error = errno;
  ::close(fd);
  errno = error;
  return joined;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void becomeCommand(ContainerRecord record, const LogPump& log, pid_t shim, int pipe) {
  ::setsid();
  // The container must not outlive the process that records its end.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(128);
  for (const auto& file : record.joinFiles)
    if (!joinCgroup(file)) giveUp(pipe, errno, "join " + file);

  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  const int in = ::open("/dev/null", O_RDONLY);
  if (in < 0 || ::dup2(in, 0) < 0 || !log.attach()) giveUp(pipe, errno, "standard streams");
  const std::string workingDir = record.config.workingDir.empty() ? "/" : record.config.workingDir;
  if (::chdir(workingDir.c_str()) != 0) giveUp(pipe, errno, "working folder " + workingDir);
  // Everything else that is open, the pipe included, closes on exec.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);

  std::vector<std::string> argv = record.config.command;
  argv.insert(argv.end(), record.config.args.begin(), record.config.args.end());
  auto arguments = pointersTo(argv);
  auto environment = pointersTo(record.config.env);
  ::execvpe(arguments[0], arguments.data(), environment.data());
  giveUp(pipe, errno, "exec " + argv[0]);
}

// Kills what is left in the cgroup until nothing is.
void killLeftovers(const std::vector<std::string>& joinFiles) {
  for (int round = 0; round < 200; ++round) {
    bool any = false;
    for (const auto& file : joinFiles) {
      const auto text = readFile(file);
      std::istringstream in(text ? *text : std::string());
      for (pid_t pid = 0; in >> pid;) {
        any = true;
        if (pid > 1 && pid != ::getpid()) ::kill(pid, SIGKILL);
      }
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (!any) return;
    ::usleep(10'000);
  }
}

std::int64_t oomKillsIn(const std::string& file) {
  const auto text = readFile(file);
  std::istringstream in(text ? *text : std::string());
  std::string key;
  for (std::int64_t value = 0; in >> key >> value;)
    if (key == "oom_kill") return value;
  return 0;
}

ExitRecord exitOf(int status, const ContainerRecord& record) {
  ExitRecord exit;
  exit.finishedAt = now();
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
    exit.exitCode = 128 + exit.signal;
  } else {
    exit.exitCode = WEXITSTATUS(status);
  }
  exit.reason = exit.exitCode == 0 ? "Completed" : "Error";
  if (exit.exitCode != 0 && oomKillsIn(record.oomFile) > 0) exit.reason = "OOMKilled";
  return exit;
}

void sayReady() {
  [[maybe_unused]] const auto put = ::write(kShimReadyFd, "1", 1);
  ::close(kShimReadyFd);
}

}  // namespace

int runShim(const std::string& dir) {
  ::setsid();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::fcntl(kShimReadyFd, F_SETFD, FD_CLOEXEC);

  const std::string lock = dir + "/lock";
  const int lockFd = ::open(lock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (lockFd < 0 || ::flock(lockFd, LOCK_EX | LOCK_NB) != 0) return 1;

  const auto text = readFile(dir + "/config.json");
  if (!text) return 1;
  auto record = decodeContainerRecord(*text);
  if (!record) return 1;
  // Processes that the command leaves behind come to us and not to init, so that they are reaped
  // here.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "koordctl-shim");

  LogPump log;
  int pipe[2];
  if (!log.open(dir + "/log") || ::pipe2(pipe, O_CLOEXEC) != 0) return 1;
  const pid_t shim = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) becomeCommand(*std::move(record), log, shim, pipe[1]);
  ::close(pipe[1]);

  StartFailure failure;
  ssize_t got = 0;
  while ((got = ::read(pipe[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  ::close(pipe[0]);
  const bool started = got == 0;  // exec closed the pipe without a word
  if (started) {
    if (!writeFileAtomic(dir + "/started.json", encodeRecord(StartRecord{child, now()}))) {
      ::kill(child, SIGKILL);
      return 1;
    }
    sayReady();
  }

  log.copyUntilEnd(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ExitRecord exit = exitOf(status, *record);
  if (!started) {
    exit.exitCode = 128;
    exit.reason = "StartError";
    exit.message = fmt::format("{}: {}", failure.where, std::strerror(failure.error));
  }
  killLeftovers(record->joinFiles);
  log.drain();
  const bool written = writeFileAtomic(dir + "/exit.json", encodeRecord(exit)).has_value();
  if (!started) sayReady();
  return written ? 0 : 1;
}

}  // namespace koord::cluster
