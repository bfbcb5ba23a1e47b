#include "cluster/hostnode/pod_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "model/pod_requests.h"
#include "model/qos.h"

// One pass from the observation to the next actions. Of earlier passes only the last good runs are
// stored: the restart count is the attempt in a container's runtime record, and the end of its
// back-off follows from when it ended. So a plan that was never carried out (a crash in between) is
// simply made again, and the same pass handles a new pod and a pod that was found running.
//
// The order: a passed deadline ends everything. Otherwise init containers run one at a time, each
// until it has succeeded; a sidecar only until it has started, and then it keeps running. Once a
// main container has started, init containers are done permanently, even if the runtime lost their
// records. Then the main containers start in the order of the spec; each waits for the postStart
// hook of the previous one. An ended container is restarted by the restartPolicy after its
// back-off; a run of ten minutes resets the back-off.
//
// The status is a function of the same observation, computed after the decision, so that the two
// always agree. Of the previous status only the start time and the times of unchanged conditions
// are kept.
//
// Cost: O(containers of the pod * runs in the runtime), which are two per container because older
// ones are removed. Rules: kubelet's computePodActions and its status generation.

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

using Phase = RuntimeContainer::Phase;

constexpr Duration kFirstBackoff = 10s;
constexpr Duration kMaxBackoff = 5min;
constexpr Duration kHealthyRun = 10min;  // a run of this length resets the back-off

// The containers of one name, newest first.
using History = std::vector<const RuntimeContainer*>;

History historyOf(const PodObservation& seen, const std::string& name) {
  History history;
  for (const auto& container : seen.containers)
    if (container.name == name) history.push_back(&container);
  std::ranges::sort(history, std::ranges::greater{}, &RuntimeContainer::attempt);
  return history;
}

bool exited(const History& history) {
  return !history.empty() && history.front()->phase == Phase::Exited;
}
bool running(const History& history) {
  return !history.empty() && history.front()->phase == Phase::Running;
}
bool succeeded(const History& history) {
  return exited(history) && history.front()->exitCode == 0;
}

class Planner {
 public:
  explicit Planner(const PodObservation& seen) : seen_(seen), spec_(seen.pod->spec) {}

  PodPlan run() {
    plan_.pod = seen_.pod;
    plan_.lastGoodRun = seen_.lastGoodRun;
    for (const auto& container : seen_.containers) {
      if (container.phase != Phase::Exited ||
          container.finishedAt - container.startedAt < kHealthyRun)
        continue;
      int& last = plan_.lastGoodRun.try_emplace(container.name, 0).first->second;
      last = std::max(last, container.attempt);
    }
    const auto& before = seen_.pod->status;
    plan_.status.startTime = before.startTime ? before.startTime : api::Time(seen_.now);
    const bool overdue = pastDeadline();
    const bool ready = !overdue && initialise();
    if (ready) runMain();
    runEphemeral();
    const bool over = overdue || finished();
    if (over) stopAll();
    describe(ready, overdue, over);
    forgetOld();
    return std::move(plan_);
  }

 private:
  bool pastDeadline() {
    if (!spec_.activeDeadlineSeconds) return false;
    const WallTime deadline =
        *plan_.status.startTime + std::chrono::seconds(*spec_.activeDeadlineSeconds);
    if (seen_.now >= deadline) return true;
    wakeAt(deadline);
    return false;
  }

  // Advances the init containers; returns true if the main containers may run.
  bool initialise() {
    const bool mainStarted = std::ranges::any_of(spec_.containers, [&](const auto& container) {
      return !historyOf(seen_, container.name).empty();
    });
    for (const auto& container : spec_.initContainers) {
      const auto history = historyOf(seen_, container.name);
      if (model::isSidecar(container)) {
        if (!running(history) && !finished()) startAgain(container, history);
        if (!mainStarted && !healthOf(history).started) return false;
        continue;
      }
      if (mainStarted || succeeded(history)) continue;
      if (history.empty()) {
        start(container, 0);
      } else if (exited(history)) {
        if (spec_.restartPolicy == "Never") {
          initFailed_ = true;
        } else {
          startAgain(container, history);
        }
      }
      return false;
    }
    return true;
  }

  void runMain() {
    for (const auto& container : spec_.containers) {
      const auto history = historyOf(seen_, container.name);
      if (history.empty()) {
        start(container, 0);
      } else if (exited(history) && willRestart(history)) {
        startAgain(container, history);
      }
      // The next container waits for this one's hook.
      if (running(history) && seen_.settingUp.contains(history.front()->id)) return;
    }
  }

  // Once each, also while init containers run.
  void runEphemeral() {
    for (const auto& container : seen_.pod->ephemeralContainers)
      if (historyOf(seen_, container.name).empty()) start(container, 0);
  }

  bool willRestart(const History& history) const {
    if (spec_.restartPolicy == "Never") return false;
    if (spec_.restartPolicy == "OnFailure")
      return !succeeded(history) || seen_.unhealthy.contains(history.front()->id);
    return true;
  }

  // Neither started nor ready if it does not run.
  ContainerHealth healthOf(const History& history) const {
    if (!running(history) || seen_.settingUp.contains(history.front()->id)) return {false, false};
    return seen_.health ? seen_.health(history.front()->id) : ContainerHealth{};
  }

  void start(const api::Container& container, int attempt) {
    plan_.starts.push_back({&container, attempt});
  }

  void startAgain(const api::Container& container, const History& history) {
    if (history.empty()) {
      start(container, 0);
      return;
    }
    if (!exited(history)) return;
    const auto& last = *history.front();
    const auto good = plan_.lastGoodRun.find(container.name);
    const Duration backoff =
        crashBackoff(last.attempt - (good == plan_.lastGoodRun.end() ? 0 : good->second));
    const WallTime due = last.finishedAt + backoff;
    if (seen_.now >= due) {
      start(container, last.attempt + 1);
    } else {
      inBackoff_[container.name] = backoff;
      wakeAt(due);
    }
  }

  void wakeAt(WallTime when) {
    if (!plan_.wakeAt || when < *plan_.wakeAt) plan_.wakeAt = when;
  }

  // Returns true if no container of it will run again.
  bool finished() const {
    if (initFailed_) return true;
    return !spec_.containers.empty() &&
           std::ranges::all_of(spec_.containers, [&](const api::Container& container) {
             const auto history = historyOf(seen_, container.name);
             return exited(history) && !willRestart(history);
           });
  }

  void stopAll() {
    plan_.starts.clear();
    plan_.wakeAt.reset();
    for (const auto& container : seen_.containers)
      if (container.phase != Phase::Exited) plan_.stops.push_back(container.id);
  }

  api::ContainerState stateOf(const RuntimeContainer& container) const {
    api::ContainerState state;
    if (container.phase == Phase::Exited) {
      state.terminated = api::ContainerStateTerminated{container.exitCode,
                                                       container.signal,
                                                       container.reason,
                                                       container.message,
                                                       container.startedAt,
                                                       container.finishedAt,
                                                       "containerd://" + container.id};
    } else {
      state.running = api::ContainerStateRunning{container.startedAt};
    }
    return state;
  }

  api::ContainerStatus statusOf(const api::Container& container, bool init) {
    const auto history = historyOf(seen_, container.name);
    api::ContainerStatus status;
    status.name = container.name;
    status.image = container.image;
    status.imageID = container.image;
    const ContainerHealth health = healthOf(history);
    const bool once = init && !model::isSidecar(container);
    status.started = once ? running(history) : health.started;
    status.ready = once ? succeeded(history) : health.ready;
    const auto failure = seen_.startFailures.find(container.name);
    const auto backoff = inBackoff_.find(container.name);
    if (!history.empty()) {
      const auto& latest = *history.front();
      status.containerID = "containerd://" + latest.id;
      status.restartCount = latest.attempt;
      status.state = stateOf(latest);
      if (history.size() > 1) status.lastState = stateOf(*history[1]);
    }
    const bool dead = history.empty() || exited(history);
    if (dead && failure != seen_.startFailures.end()) {
      if (!history.empty()) status.lastState = stateOf(*history.front());
      status.state = {.waiting = failure->second};
    } else if (backoff != inBackoff_.end()) {
      status.lastState = stateOf(*history.front());
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(backoff->second);
      status.state = {.waiting = api::ContainerStateWaiting{
                          "CrashLoopBackOff",
                          fmt::format("back-off {} restarting failed container={} pod={}_{}",
                                      formatDuration(seconds), container.name,
                                      seen_.pod->metadata.name, seen_.pod->metadata.namespace_)}};
    } else if (history.empty()) {
      const bool waitsForInit = !init && !spec_.initContainers.empty();
      status.state = {.waiting = api::ContainerStateWaiting{
                          waitsForInit ? "PodInitializing" : "ContainerCreating", seen_.waitsFor}};
    }
    return status;
  }

  std::string phase(bool ready, bool overdue) const {
    if (overdue || initFailed_) return "Failed";
    if (!ready) return "Pending";
    bool anyRunning = false;
    bool allExited = true;
    bool allSucceeded = true;
    bool anyNew = false;
    for (const auto& container : spec_.containers) {
      const auto history = historyOf(seen_, container.name);
      anyNew |= history.empty();
      anyRunning |= running(history);
      allExited &= exited(history);
      allSucceeded &= succeeded(history);
    }
    if (anyNew) return "Pending";
    if (anyRunning || !allExited || spec_.restartPolicy == "Always" || spec_.restartPolicy.empty())
      return "Running";
    if (allSucceeded) return "Succeeded";
    return spec_.restartPolicy == "Never" ? "Failed" : "Running";
  }

  void condition(const char* type, bool holds, std::string reason = "", std::string message = "") {
    api::PodCondition condition;
    condition.type = type;
    condition.status = holds ? "True" : "False";
    condition.lastTransitionTime = seen_.now;
    if (!holds) {
      condition.reason = std::move(reason);
      condition.message = std::move(message);
    }
    for (const auto& before : seen_.pod->status.conditions)
      if (before.type == type && before.status == condition.status)
        condition.lastTransitionTime = before.lastTransitionTime;
    plan_.status.conditions.push_back(std::move(condition));
  }

  void describe(bool ready, bool overdue, bool over) {
    auto& status = plan_.status;
    for (const auto& container : spec_.initContainers)
      status.initContainerStatuses.push_back(statusOf(container, true));
    for (const auto& container : spec_.containers)
      status.containerStatuses.push_back(statusOf(container, false));
    for (const auto& container : seen_.pod->ephemeralContainers) {
      plan_.ephemeralStatuses.push_back(statusOf(container, false));
      plan_.ephemeralStatuses.back().ready = false;  // as kubelet reports it
    }
    status.phase = phase(ready, overdue);
    status.hostIP = seen_.hostIp;
    status.podIP = seen_.hostIp;
    status.podIPs = {{seen_.hostIp}};
    status.qosClass = std::string(model::textOf(model::kubernetesQos(*seen_.pod)));
    if (overdue) {
      status.reason = "DeadlineExceeded";
      status.message = "Pod was active on the node longer than the specified deadline";
    }

    std::string unready;
    const auto look = [&](const api::ContainerStatus& container) {
      if (!container.ready) unready += (unready.empty() ? "" : " ") + container.name;
    };
    for (std::size_t i = 0; i < spec_.initContainers.size(); ++i)
      if (model::isSidecar(spec_.initContainers[i])) look(status.initContainerStatuses[i]);
    for (const auto& container : status.containerStatuses) look(container);
    const bool done = status.phase == "Succeeded";
    const std::string reason = done ? "PodCompleted" : over ? "PodFailed" : "ContainersNotReady";
    const std::string message =
        unready.empty() || done ? "" : fmt::format("containers with unready status: [{}]", unready);
    condition("PodReadyToStartContainers", !over);
    condition("Initialized", ready || done, over ? "PodFailed" : "ContainersNotInitialized");
    const std::string gates = closedGates();
    if (unready.empty() && !gates.empty()) {
      condition("Ready", false, "ReadinessGatesNotReady", gates);
    } else {
      condition("Ready", unready.empty(), reason, message);
    }
    condition("ContainersReady", unready.empty(), reason, message);
  }

  // The readiness gates that are not met.
  std::string closedGates() const {
    std::string why;
    for (const auto& gate : seen_.pod->details.readinessGates) {
      const auto& type = gate.conditionType;
      const auto& conditions = seen_.pod->status.conditions;
      const auto found = std::ranges::find(conditions, type, &api::PodCondition::type);
      if (found != conditions.end() && found->status == "True") continue;
      if (!why.empty()) why += ", ";
      why += found == conditions.end()
                 ? fmt::format(
                       "corresponding condition of pod readiness gate \"{}\" does not exist.", type)
                 : fmt::format("the status of pod readiness gate \"{}\" is not \"True\", but {}",
                               type, found->status);
    }
    return why;
  }

  // The status shows the newest run of a container and the previous one; older runs are not needed.
  void forgetOld() {
    std::map<std::string, int> newest;
    for (const auto& container : seen_.containers) {
      auto [entry, fresh] = newest.try_emplace(container.name, container.attempt);
      if (!fresh) entry->second = std::max(entry->second, container.attempt);
    }
    for (const auto& container : seen_.containers)
      if (container.phase == Phase::Exited && container.attempt + 1 < newest[container.name])
        plan_.forget.push_back(container.id);
  }

  const PodObservation& seen_;
  const api::PodSpec& spec_;
  PodPlan plan_;
  bool initFailed_ = false;
  std::map<std::string, Duration> inBackoff_;
};

}  // namespace

Duration crashBackoff(int restarts) {
  if (restarts <= 0) return 0s;
  return restarts > 5 ? kMaxBackoff : std::min(kFirstBackoff * (1 << (restarts - 1)), kMaxBackoff);
}

PodPlan planPod(const PodObservation& seen) {
  return Planner(seen).run();
}

}  // namespace koord::cluster
