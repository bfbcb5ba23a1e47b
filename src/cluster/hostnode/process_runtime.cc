#include "cluster/hostnode/process_runtime.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/run_program.h"
#include "base/time.h"
#include "cluster/hostnode/attach_socket.h"
#include "cluster/hostnode/attached_container.h"
#include "cluster/hostnode/command_process.h"
#include "cluster/hostnode/container_record.h"
#include "cluster/hostnode/pod_cgroups.h"
#include "cluster/hostnode/session_process.h"
#include "cluster/hostnode/shim.h"
#include "cluster/hostnode/volumes/on_worker.h"
#include "net/tls.h"

namespace koord::cluster {

namespace {

constexpr int kShimStartTimeoutMs = 20'000;

constexpr std::size_t kMaxOutput = 1 << 20;  // of a command; no caller shows more

// Returns true if a shim holds the container's lock, also if that cannot be checked for lack of
// descriptors: a container that counts as dead is killed.
bool shimAlive(const std::string& dir) {
  const int fd = ::open((dir + "/lock").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

// Waits for the shim's byte; returns false if it ended without one.
bool awaitReady(int fd) {
  pollfd wait{fd, POLLIN, 0};
  while (true) {
    const int ready = ::poll(&wait, 1, kShimStartTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char byte = 0;
    return ::read(fd, &byte, 1) == 1;
  }
}

}  // namespace

class ProcessRuntime::Worker {
 public:
  Worker(Cgroups& cgroups, Options options) : cgroups_(cgroups), options_(std::move(options)) {}

  Result<> preparePod(const PodRef& pod) {
    return cgroups_.create(pod.cgroup + "/" + sandboxIdOf(pod.uid), {.cpuShares = 2});
  }

  Result<std::string> start(ContainerConfig config) {
    if (config.command.empty() && config.args.empty())
      return fail(ErrorCode::Invalid,
                  fmt::format("container {}: command is empty, and the process runtime does not "
                              "read commands from images: set command, or use --runtime=containerd",
                              config.name));
    const std::string id = net::randomToken(32);
    const std::string dir = dirOf(id);
    const std::string cgroup = config.pod.cgroup + "/" + id;
    ContainerRecord record;
    record.config = std::move(config);
    record.joinFiles = cgroups_.joinFiles(cgroup);
    record.oomFile = cgroups_.oomFile(cgroup);
    if (auto made = makeDirs(dir); !made) return fail(std::move(made.error()));
    auto run = [&]() -> Result<> {
      if (auto made = cgroups_.create(cgroup, record.config.values); !made) return made;
      if (auto put = writeFileAtomic(dir + "/config.json", encodeRecord(record)); !put) return put;
      return spawnShim(dir);
    }();
    if (!run) {
      cgroups_.kill(cgroup);
      forget(id, cgroup);
      return fail(std::move(run.error()));
    }
    if (auto loaded = load(id); !loaded) return fail(std::move(loaded.error()));
    return id;
  }

  void signal(const std::string& id, int number) {
    const auto known = records_.find(id);
    if (known == records_.end()) return;
    const std::string cgroup = known->second.pod.cgroup + "/" + id;
    if (number == SIGKILL) {
      cgroups_.kill(cgroup);
      return;
    }
    const auto text = readFile(dirOf(id) + "/started.json");
    const auto started = text ? decodeStartRecord(*text) : fail(text.error());
    if (!started) return;
    // The process may be gone and its id reused: only processes in the cgroup are ours.
    const auto ours = cgroups_.processes(cgroup);
    if (std::ranges::find(ours, started->pid) != ours.end()) ::kill(started->pid, number);
  }

  bool ended(const std::string& id) {
    if (!records_.contains(id)) return true;
    return describe(id).phase == RuntimeContainer::Phase::Exited;
  }

  // The program that runs a command in the container.
  Result<std::vector<std::string>> execCommand(const std::string& id,
                                               const std::vector<std::string>& command) {
    if (!records_.contains(id) || describe(id).phase != RuntimeContainer::Phase::Running)
      return fail(ErrorCode::NotFound, fmt::format("container {} does not run", id));
    std::vector<std::string> whole = options_.shimCommand;
    whole.insert(whole.end(), {kShimExec, dirOf(id)});
    whole.insert(whole.end(), command.begin(), command.end());
    return whole;
  }

  Result<Fd> connect(const std::string& id) {
    if (!records_.contains(id) || describe(id).phase != RuntimeContainer::Phase::Running)
      return fail(ErrorCode::NotFound, fmt::format("container {} does not run", id));
    return connectForAttach(dirOf(id));
  }

  Result<> remove(const std::string& id) {
    const auto known = records_.find(id);
    if (known == records_.end()) return {};
    return forget(id, known->second.pod.cgroup + "/" + id);
  }

  Result<> removePod(const PodRef& pod) {
    return cgroups_.remove(pod.cgroup + "/" + sandboxIdOf(pod.uid));
  }

  Result<std::vector<RuntimeContainer>> list() {
    reap();
    std::vector<RuntimeContainer> containers;
    std::error_code ec;
    for (auto it = std::filesystem::directory_iterator(options_.dir, ec);
         !ec && it != std::filesystem::end(it); it.increment(ec)) {
      const std::string id = it->path().filename();
      const auto known = load(id);
      if (!known) return fail(known.error());
      if (*known) containers.push_back(describe(id));
    }
    if (ec && ec != std::errc::no_such_file_or_directory)
      return fail(errnoError("list " + options_.dir, ec.value()));
    return containers;
  }

 private:
  std::string dirOf(const std::string& id) const { return options_.dir + "/" + id; }

  Result<> spawnShim(const std::string& dir) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return fail(errnoError("pipe", errno));
    const Fd reader(pipe[0]);
    Fd writer(pipe[1]);
    const std::string shimLog = dir + "/shim.log";
    ChildFiles files;
    files.open(0, "/dev/null", O_RDONLY);
    files.open(1, shimLog, O_WRONLY | O_CREAT | O_APPEND, 0600);
    files.take(2, 1);
    files.take(kShimReadyFd, writer.get());
    files.closeFrom(kShimReadyFd + 1);
    std::vector<std::string> command = options_.shimCommand;
    command.insert(command.end(), {kShimRun, dir});
    auto pid = startSession(std::move(command), files);
    if (!pid) return fail(std::move(pid.error()));
    writer.reset();
    shims_.insert(*pid);
    if (awaitReady(reader.get())) return {};
    ::kill(*pid, SIGKILL);
    const auto log = readFile(shimLog);
    return fail(ErrorCode::Internal,
                fmt::format("the shim did not start the container{}{}",
                            log && !log->empty() ? ": " : "", log ? *log : ""));
  }

  // Shims that this process started are its children.
  void reap() {
    std::erase_if(shims_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

  // Returns false if the folder is not a container's. An error concerns the host.
  Result<bool> load(const std::string& id) {
    if (records_.contains(id)) return true;
    const auto text = readFile(dirOf(id) + "/config.json");
    if (!text && text.error().code != ErrorCode::NotFound) return fail(text.error());
    auto record = text ? decodeContainerRecord(*text) : fail(text.error());
    if (!record && shimAlive(dirOf(id))) return fail(std::move(record.error()).within(dirOf(id)));
    if (!record) {
      // A crash before the record was complete: nothing was started from it.
      log::warn("removing {}: {}", dirOf(id), record.error().message);
      std::error_code ignored;
      std::filesystem::remove_all(dirOf(id), ignored);
      return false;
    }
    RuntimeContainer container;
    container.id = id;
    container.pod = record->config.pod;
    container.name = record->config.name;
    container.attempt = record->config.attempt;
    container.logPath = dirOf(id) + "/log";
    records_.emplace(id, std::move(container));
    return true;
  }

  const RuntimeContainer& describe(const std::string& id) {
    RuntimeContainer& container = records_.at(id);
    using Phase = RuntimeContainer::Phase;
    if (container.phase == Phase::Exited) return container;
    if (container.phase == Phase::Created) {
      const auto text = readFile(dirOf(id) + "/started.json");
      if (const auto started = text ? decodeStartRecord(*text) : fail(text.error())) {
        container.phase = Phase::Running;
        container.startedAt = started->startedAt;
      }
    }
    const bool alive =
        shimAlive(dirOf(id));  // before exit.json is read, which the shim writes last
    const auto text = readFile(dirOf(id) + "/exit.json");
    if (!text && (alive || text.error().code != ErrorCode::NotFound)) return container;
    auto exit = text ? decodeExitRecord(*text) : fail(text.error());
    const std::string cgroup = container.pod.cgroup + "/" + id;
    if (!exit) {
      cgroups_.kill(cgroup);
      exit = ExitRecord{
          128 + SIGKILL, SIGKILL,
          std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now()),
          "Error", "the shim of the container was killed"};
      if (auto put = writeFileAtomic(dirOf(id) + "/exit.json", encodeRecord(*exit)); !put)
        log::warn("{}", put.error().message);
    }
    container.phase = Phase::Exited;
    container.finishedAt = exit->finishedAt;
    if (container.startedAt == WallTime{}) container.startedAt = exit->finishedAt;
    container.exitCode = exit->exitCode;
    container.signal = exit->signal;
    container.reason = exit->reason;
    container.message = exit->message;
    if (auto removed = cgroups_.remove(cgroup); !removed) log::v(2, "{}", removed.error().message);
    return container;
  }

  Result<> forget(const std::string& id, const std::string& cgroup) {
    // Processes in child cgroups that its shim did not end in time or did not see.
    cgroups_.kill(cgroup);
    if (auto removed = cgroups_.remove(cgroup); !removed) return removed;
    std::error_code ec;
    std::filesystem::remove_all(dirOf(id), ec);
    if (ec) return fail(errnoError("remove " + dirOf(id), ec.value()));
    records_.erase(id);
    return {};
  }

  Cgroups& cgroups_;
  Options options_;
  std::map<std::string, RuntimeContainer> records_;
  std::set<pid_t> shims_;
};

// Threads that each run one program to its end; the destructor waits for all of them.
class ProcessRuntime::Programs {
 public:
  ~Programs() {
    interrupt_.raise();
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
  }

  Future<Result<ExecResult>> run(Executor& executor, std::vector<std::string> command,
                                 Duration limit) {
    auto [future, completer] = Future<Result<ExecResult>>::make(executor);
    const ProgramSpec program{.argv = std::move(command),
                              .limit = std::chrono::ceil<std::chrono::milliseconds>(limit),
                              .maxOutput = kMaxOutput,
                              .dropsOutput = true};
    std::lock_guard lock(mutex_);
    try {
      std::thread([this, program, completer = completer] {
        completer.complete(resultOf(runProgram(program, interrupt_)));
        std::lock_guard done(mutex_);
        --running_;
        idle_.notify_all();
      }).detach();
      ++running_;
    } catch (const std::system_error& error) {
      // The host cannot create another thread now, which may change.
      completer.complete(fail(ErrorCode::Unavailable, std::string("thread: ") + error.what()));
    }
    return std::move(future);
  }

 private:
  static Result<ExecResult> resultOf(Result<ProgramOutput> output) {
    if (!output) return fail(std::move(output.error()));
    if (output->killed) return fail(*std::move(output->killed));
    return ExecResult{output->status, output->out + output->err};
  }

  Interrupt interrupt_;
  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;  // guarded by mutex_
};

ProcessRuntime::ProcessRuntime(Executor& executor, Cgroups& cgroups, Options options)
    : executor_(executor),
      programs_(std::make_unique<Programs>()),
      worker_(std::make_unique<Worker>(cgroups, std::move(options))),
      thread_("containers"),
      io_(executor) {}

ProcessRuntime::~ProcessRuntime() = default;

Task<Result<>> ProcessRuntime::preparePod(PodRef pod, SandboxOptions) {
  auto done = onWorker(executor_, thread_.loop(), [worker = worker_.get(), pod = std::move(pod)] {
    return worker->preparePod(pod);
  });
  co_return co_await done;
}

Task<Result<std::string>> ProcessRuntime::startContainer(ContainerConfig config) {
  auto done = onWorker(executor_, thread_.loop(),
                       [worker = worker_.get(), config = std::move(config)]() mutable {
                         return worker->start(std::move(config));
                       });
  co_return co_await done;
}

Task<Result<>> ProcessRuntime::stopContainer(std::string id, Duration grace) {
  using namespace std::chrono_literals;
  const SteadyTime deadline = executor_.steadyNow() + grace;
  bool asked = false;
  while (true) {
    const bool due = executor_.steadyNow() >= deadline;
    const int number = due ? SIGKILL : asked ? 0 : SIGTERM;
    asked = true;
    auto step = onWorker(executor_, thread_.loop(), [worker = worker_.get(), id, number] {
      if (worker->ended(id)) return true;
      if (number != 0) worker->signal(id, number);
      return false;
    });
    if (co_await step) co_return Result<>{};
    auto pause = sleepFor(executor_, 20ms);
    co_await pause;
  }
}

Task<Result<ExecResult>> ProcessRuntime::exec(std::string id, std::vector<std::string> command,
                                              Duration timeout) {
  auto looking = onWorker(executor_, thread_.loop(), [worker = worker_.get(), id, command] {
    return worker->execCommand(id, command);
  });
  auto whole = co_await looking;
  if (!whole) co_return fail(std::move(whole.error()));
  auto running = programs_->run(executor_, *std::move(whole), timeout);
  auto result = co_await running;
  if (!result && result.error().code == ErrorCode::Timeout)
    co_return fail(ErrorCode::Timeout,
                   fmt::format("command timed out: \"{}\" timed out after {}",
                               fmt::join(command, " "), formatDuration(timeout)));
  co_return result;
}

Task<Result<std::shared_ptr<StreamedCommand>>> ProcessRuntime::openCommand(
    std::string id, std::vector<std::string> command, CommandStreams streams) {
  auto looking = onWorker(executor_, thread_.loop(), [worker = worker_.get(), id, command] {
    return worker->execCommand(id, command);
  });
  auto whole = co_await looking;
  if (!whole) co_return fail(std::move(whole.error()));
  co_return startCommandProcess(io_, *std::move(whole), streams);
}

Task<Result<std::shared_ptr<StreamedCommand>>> ProcessRuntime::attach(std::string id,
                                                                      CommandStreams) {
  auto connecting = onWorker(executor_, thread_.loop(),
                             [worker = worker_.get(), id] { return worker->connect(id); });
  auto socket = co_await connecting;
  if (!socket) co_return fail(std::move(socket.error()));
  co_return attachToContainer(executor_, io_, *std::move(socket));
}

Task<Result<>> ProcessRuntime::removeContainer(std::string id) {
  auto done = onWorker(executor_, thread_.loop(),
                       [worker = worker_.get(), id = std::move(id)] { return worker->remove(id); });
  co_return co_await done;
}

Task<Result<>> ProcessRuntime::removePod(PodRef pod) {
  auto done = onWorker(executor_, thread_.loop(), [worker = worker_.get(), pod = std::move(pod)] {
    return worker->removePod(pod);
  });
  co_return co_await done;
}

Task<Result<std::vector<RuntimeContainer>>> ProcessRuntime::list() {
  auto done =
      onWorker(executor_, thread_.loop(), [worker = worker_.get()] { return worker->list(); });
  co_return co_await done;
}

}  // namespace koord::cluster
