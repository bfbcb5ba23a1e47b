#pragma once

// A container runtime for tests: containers run until the test ends them, stopping takes the whole
// grace period if they ignore SIGTERM, and all calls are recorded.

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "cluster/hostnode/cgroups.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

class FakeRuntime final : public Runtime {
 public:
  FakeRuntime(Executor& executor, Cgroups& cgroups) : executor_(executor), cgroups_(cgroups) {}

  std::vector<RuntimeContainer> containers;
  std::vector<ContainerConfig> started;
  std::set<std::string> prepared;        // uids of pods
  std::vector<std::string> stopped;      // names of containers, in the order of the calls
  std::set<std::string> ignoresSigterm;  // names of containers that SIGTERM does not end
  std::vector<std::string> executed;     // names of containers, ": " and the commands run in them
  // The result of such a command.
  std::function<Result<ExecResult>(const std::string& name,
                                   const std::vector<std::string>& command)>
      onExec = [](const auto&, const auto&) { return ExecResult{}; };
  // What it has of an image; nullopt: nothing.
  std::function<std::optional<ImageInfo>(const std::string& image)> onImage = [](const auto&) {
    return ImageInfo{};
  };
  std::function<Result<>(const std::string& image)> onPull = [](const auto&) { return Result<>{}; };
  std::vector<std::string> pulled;  // images, each with " as USER" for credentials
  Duration pullTime = std::chrono::milliseconds(1);
  bool hasImages = true;
  Duration execTime{};
  std::optional<Error> startError;  // the next starts fail with this
  std::optional<Error> listError;   // the next list fails with this, at once
  Duration latency = std::chrono::milliseconds(1);
  std::optional<Duration> listLatency;  // if different
  std::string logDir = "/logs";
  std::function<void()> onStarted = [] {};  // at once, before the host node's notification

  void exit(const std::string& name, int exitCode) {
    for (auto& container : containers)
      if (container.name == name && container.phase == RuntimeContainer::Phase::Running) {
        container.phase = RuntimeContainer::Phase::Exited;
        container.exitCode = exitCode;
        container.finishedAt = executor_.wallNow();
        container.reason = exitCode == 0 ? "Completed" : "Error";
      }
  }
  std::size_t running() const {
    return static_cast<std::size_t>(
        std::ranges::count(containers, RuntimeContainer::Phase::Running, &RuntimeContainer::phase));
  }

  std::string version() const override { return "fake://1"; }

  RuntimeAbilities abilities() const override { return {.images = hasImages}; }
  bool resolvesSubPaths() const override { return true; }

  Task<Result<std::optional<ImageInfo>>> image(std::string name) override {
    co_return onImage(name);
  }

  Task<Result<>> pullImage(std::string name, std::vector<ImageCredentials> credentials) override {
    pulled.push_back(name);
    for (const auto& user : credentials) pulled.back() += " as " + user.user;
    auto pause = sleepFor(executor_, pullTime);
    co_await pause;
    co_return onPull(name);
  }

  Task<Result<>> preparePod(PodRef pod, SandboxOptions) override {
    prepared.insert(pod.uid);
    co_return Result<>{};
  }

  Task<Result<std::string>> startContainer(ContainerConfig config) override {
    auto pause = sleepFor(executor_, latency);
    co_await pause;
    if (startError) co_return fail(*startError);
    RuntimeContainer container;
    container.id = "c" + std::to_string(started.size());
    container.pod = config.pod;
    container.name = config.name;
    container.attempt = config.attempt;
    container.phase = RuntimeContainer::Phase::Running;
    container.startedAt = executor_.wallNow();
    container.logPath = logDir + "/" + container.id;
    if (auto made = cgroups_.create(config.pod.cgroup + "/" + container.id, config.values); !made)
      co_return fail(std::move(made.error()));
    containers.push_back(container);
    started.push_back(std::move(config));
    onStarted();
    co_return container.id;
  }

  Task<Result<>> stopContainer(std::string id, Duration grace) override {
    const auto found = std::ranges::find(containers, id, &RuntimeContainer::id);
    if (found == containers.end()) co_return Result<>{};
    const std::string name = found->name;
    stopped.push_back(name);
    if (ignoresSigterm.contains(name)) {
      auto pause = sleepFor(executor_, grace);
      co_await pause;
      exit(name, 137);
    } else {
      exit(name, 143);
    }
    co_return Result<>{};
  }

  Task<Result<ExecResult>> exec(std::string id, std::vector<std::string> command,
                                Duration timeout) override {
    const auto found = std::ranges::find(containers, id, &RuntimeContainer::id);
    if (found == containers.end() || found->phase != RuntimeContainer::Phase::Running)
      co_return fail(ErrorCode::NotFound, "container " + id + " does not run");
    const std::string name = found->name;
    executed.push_back(name + ":");
    for (const auto& word : command) executed.back() += " " + word;
    auto pause = sleepFor(executor_, std::min(execTime, timeout));
    co_await pause;
    if (execTime > timeout) co_return fail(ErrorCode::Timeout, "command timed out");
    co_return onExec(name, command);
  }

  Task<Result<std::shared_ptr<StreamedCommand>>> openCommand(std::string, std::vector<std::string>,
                                                             CommandStreams) override {
    co_return fail(ErrorCode::Unavailable, "no streams here");
  }
  Task<Result<std::shared_ptr<StreamedCommand>>> attach(std::string, CommandStreams) override {
    co_return fail(ErrorCode::Unavailable, "no streams here");
  }
  Task<Result<>> removeContainer(std::string id) override {
    for (const auto& container : containers)
      if (container.id == id) {
        const std::string cgroup = container.pod.cgroup + "/" + id;
        if (auto removed = cgroups_.remove(cgroup); !removed) co_return removed;
      }
    std::erase_if(containers, [&](const auto& container) { return container.id == id; });
    co_return Result<>{};
  }

  Task<Result<>> releasePod(PodRef pod) override { return removePod(std::move(pod)); }
  Task<Result<>> removePod(PodRef pod) override {
    prepared.erase(pod.uid);
    co_return Result<>{};
  }

  Task<Result<std::vector<RuntimeContainer>>> list() override {
    if (auto error = std::exchange(listError, std::nullopt)) co_return fail(*std::move(error));
    auto pause = sleepFor(executor_, listLatency.value_or(latency));
    co_await pause;
    co_return containers;
  }

 private:
  Executor& executor_;
  Cgroups& cgroups_;
};

}  // namespace koord::cluster
