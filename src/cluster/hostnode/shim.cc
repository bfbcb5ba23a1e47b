#include "cluster/hostnode/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "cluster/hostnode/container_process.h"
#include "cluster/hostnode/container_streams.h"
#include "cluster/hostnode/mounts/safe_path.h"
#include "cluster/hostnode/reserved_file.h"

namespace koord::cluster {

namespace {

// Sizes of a start record, and of an exit record with the longest message, escaped.
constexpr std::size_t kStartReserve = 256;
constexpr std::size_t kExitReserve = 4096;

// The child's report through the pipe when it cannot execute the command.
struct StartFailure {
  char message[400] = {};
};

// Returns false if the child reported a failure.
bool awaitStart(int pipe, StartFailure& failure) {
  ssize_t got = 0;
  while ((got = ::read(pipe, &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  ::close(pipe);
  return got == 0;  // exec closed the pipe without a report
}

[[noreturn]] void giveUp(int pipe, const Error& error) {
  StartFailure failure;
  std::strncpy(failure.message, error.message.c_str(), sizeof failure.message - 1);
  [[maybe_unused]] const auto put = ::write(pipe, &failure, sizeof failure);
  ::_exit(128);
}

[[noreturn]] void execContainerCommand(const std::string& dir, const ContainerRecord& record,
                                       const ContainerStreams& streams, pid_t shim, int pipe) {
  ::setsid();
  if (auto joined = joinCgroups(record); !joined) giveUp(pipe, joined.error());
  resetSignals();
  if (auto entered = enterFiles(record.config, dir + "/root"); !entered)
    giveUp(pipe, entered.error());
  if (!streams.become()) giveUp(pipe, errnoError("standard streams", errno));
  // Everything else that is open, the pipe included, closes on exec.
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (auto become = switchUser(record.config.user); !become) giveUp(pipe, become.error());
  // The container must not outlive the process that records its end. A change of user resets this.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != shim) ::_exit(128);
  std::vector<std::string> argv = record.config.command;
  argv.insert(argv.end(), record.config.args.begin(), record.config.args.end());
  giveUp(pipe, execProgram(record.config, std::move(argv)));
}

// The container's process, which is waited for by id; 0 before it has started.
volatile pid_t commandPid = 0;

// Reaps processes that the command leaves behind as they end: it may run for years, and leave one a
// second.
void reapOthers(int) {
  const int error = errno;
  siginfo_t ended{};
  while (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0 &&
         ended.si_pid != commandPid) {
    ::waitpid(ended.si_pid, nullptr, 0);
    ended = {};
  }
  errno = error;
}

// Blocks SIGCHLD, so that the command is not reaped before its id is known.
pid_t forkCommand() {
  struct sigaction reaping{};
  reaping.sa_handler = reapOthers;
  reaping.sa_flags = SA_RESTART | SA_NOCLDSTOP;
  ::sigaction(SIGCHLD, &reaping, nullptr);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const pid_t child = ::fork();
  commandPid = child;
  ::sigprocmask(SIG_UNBLOCK, &ends, nullptr);
  return child;
}

// The processes of the cgroup with this file and of its child cgroups.
void processesIn(const std::filesystem::path& file, std::vector<pid_t>& pids) {
  const auto text = readFile(file);
  std::istringstream in(text ? *text : std::string());
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  std::error_code ec;
  for (auto it = std::filesystem::directory_iterator(file.parent_path(), ec);
       !ec && it != std::filesystem::end(it); it.increment(ec))
    if (std::error_code typeError; it->is_directory(typeError))
      processesIn(it->path() / file.filename(), pids);
}

// Kills the remaining processes of the cgroup until there are none.
void killLeftovers(const std::vector<std::string>& joinFiles) {
  for (int round = 0; round < 200; ++round) {
    std::vector<pid_t> left;
    for (const auto& file : joinFiles) processesIn(file, left);
    const bool any = !left.empty();
    for (const pid_t pid : left)
      if (pid > 1 && pid != ::getpid()) ::kill(pid, SIGKILL);
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
  exit.finishedAt = machineNow();
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

void signalReady() {
  [[maybe_unused]] const auto put = ::write(kShimReadyFd, "1", 1);
  ::close(kShimReadyFd);
}

// Held while this process lives: it shows that the container has a shim.
bool takeLock(const std::string& dir) {
  const std::string lock = dir + "/lock";
  const int fd = ::open(lock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

int failedWith(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

// A container whose start cannot be recorded is killed.
bool recordStart(ReservedFile& file, pid_t child) {
  if (auto written = file.put(encodeRecord(StartRecord{child, machineNow()})); !written) {
    ::kill(child, SIGKILL);
    failedWith(written.error());
    return false;
  }
  signalReady();
  return true;
}

int runContainer(const std::string& dir) {
  ::setsid();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(number, SIG_IGN);
  ::fcntl(kShimReadyFd, F_SETFD, FD_CLOEXEC);

  if (!takeLock(dir)) return 1;
  const auto text = readFile(dir + "/config.json");
  if (!text) return 1;
  auto record = decodeContainerRecord(*text);
  if (!record) return 1;
  // Orphaned processes of the command become our children instead of init's, so that they are
  // reaped here.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "koordctl-shim");

  // The container may fill the disk itself, and its start and end must be recorded then, too.
  auto startFile = ReservedFile::reserve(dir + "/started.json", kStartReserve);
  auto exitFile = ReservedFile::reserve(dir + "/exit.json", kExitReserve);
  if (!startFile) return failedWith(startFile.error());
  if (!exitFile) return failedWith(exitFile.error());
  const auto& config = record->config;
  ContainerStreams streams({config.openStdin, config.stdinOnce, config.terminal});
  if (auto opened = streams.open(dir); !opened) return failedWith(opened.error());
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return failedWith(errnoError("pipe", errno));
  const pid_t shim = ::getpid();
  const pid_t child = forkCommand();
  if (child < 0) return 1;
  if (child == 0) execContainerCommand(dir, *record, streams, shim, pipe[1]);
  ::close(pipe[1]);

  StartFailure failure;
  const bool started = awaitStart(pipe[0], failure);
  if (started && !recordStart(*startFile, child)) return 1;

  streams.copyUntilEnd(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ExitRecord exit = exitOf(status, *record);
  if (!started) {
    exit.exitCode = 128;
    exit.reason = "StartError";
    exit.message = failure.message;
    if (exit.message.starts_with("exec "))
      exit.message += " (the process runtime has no images: the command must be on this host)";
  }
  killLeftovers(record->joinFiles);
  streams.drain();
  const auto written = exitFile->put(encodeRecord(exit));
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  if (!started) signalReady();
  return written ? 0 : 1;
}

// Enters the file view of the container's command, if its process is still the original.
Result<> enterContainer(const std::string& dir) {
  const auto text = readFile(dir + "/started.json");
  const auto started = text ? decodeStartRecord(*text) : fail(text.error());
  if (!started) return fail(started.error());
  return enterFilesOf(started->pid);
}

int execInContainer(const std::string& dir, std::vector<std::string> command) {
  const auto text = readFile(dir + "/config.json");
  auto record = text ? decodeContainerRecord(*text) : fail(text.error());
  Result<> ready = record ? Result<>{} : fail(record.error());
  // Cgroups first: their files may be hidden in the view.
  if (ready) ready = joinCgroups(*record);
  if (ready) ready = enterContainer(dir);
  if (ready) {
    resetSignals();
    ready = switchUser(record->config.user);
  }
  int status = 126;
  Error error = ready ? Error{} : ready.error();
  if (ready) {
    auto& env = record->config.env;
    const auto isTerm = [](const std::string& variable) { return variable.starts_with("TERM="); };
    if (::isatty(0) && std::ranges::none_of(env, isTerm)) env.emplace_back("TERM=xterm");
    error = execProgram(record->config, std::move(command));
    // As a shell reports it.
    if (errno == ENOENT) status = 127;
  }
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return status;
}

}  // namespace

int runShim(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[0], kShimRun) == 0) return runContainer(argv[1]);
  if (argc >= 3 && std::strcmp(argv[0], kShimExec) == 0)
    return execInContainer(argv[1], {argv + 2, argv + argc});
  return 2;
}

}  // namespace koord::cluster
