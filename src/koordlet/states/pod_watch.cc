#include "koordlet/states/pod_watch.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/system/small_file.h"

// The watched directories are those of the QoS classes, for pods, and those of known pods, for
// containers, in the cpu hierarchy (any would do). A missed event (a pod and its container created
// between two looks) is caught at the next change of the pods: a directory in a pod that belongs to
// no known container is treated as if it were new. Sandboxes stay unknown, because the runtime does
// not list them as containers. Files are watched before koordlet first writes there, so that no
// later write is missed.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// How often the runtime is asked whether a container that is being created runs. A container that
// takes longer than most waits for something, so it is asked less often.
constexpr Duration kRuntimePeriod = 25ms, kSlowRuntimePeriod = 1s, kLong = 3s;
// How often kubelet is asked for a container that it does not report yet: soon at first, then the
// interval doubles.
constexpr Duration kFirstKubeletPeriod = 25ms, kKubeletPeriod = 200ms;

std::size_t watchBudget(const HostDirs& dirs) {
  const auto all = readSmallFile(dirs.procRoot + "sys/fs/inotify/max_user_watches");
  const auto number = all ? parseInt(*all) : Result<std::int64_t>(8192);
  return static_cast<std::size_t>(std::max<std::int64_t>(number.value_or(8192), 0)) / 4;
}

// Returns true if a container of the pod is not known to run. Ignores init containers that have
// ended.
bool awaitsContainers(const PodView& pod) {
  const auto isAwaited = [&](const api::Container& container, bool ends) {
    const auto known = std::ranges::find(pod.containers, container.name, &ContainerView::name);
    return known == pod.containers.end() || known->dir.empty() || (!known->running && !ends);
  };
  return std::ranges::any_of(pod.pod->spec.containers,
                             [&](const auto& one) { return isAwaited(one, false); }) ||
         std::ranges::any_of(pod.pod->spec.initContainers, [&](const auto& one) {
           return isAwaited(one, one.restartPolicy != "Always");
         });
}

// Returns true if the pod's directory has a directory of no known container.
bool hasUnknown(const PodView& pod, const std::string& dir) {
  for (const auto& name : listDirs(dir)) {
    const std::string own = joinPath(pod.dir, name);
    if (std::ranges::find(pod.containers, own, &ContainerView::dir) == pod.containers.end())
      return true;
  }
  return false;
}

}  // namespace

PodWatch::PodWatch(Executor& executor, const Host& host, States& states, PodPoller& poller,
                   ContainerRuntime* runtime, Callbacks callbacks)
    : executor_(executor),
      host_(host),
      states_(states),
      poller_(poller),
      runtime_(runtime),
      callbacks_(std::move(callbacks)),
      maxWatches_(watchBudget(host.dirs)),
      watcher_(executor, [this](const DirWatcher::Event& event) { take(event); }) {}

PodWatch::~PodWatch() {
  executor_.cancel(next_);
}

void PodWatch::start() {
  states_.onPods([this] { refresh(); });
  refresh();
}

void PodWatch::watch(const std::string& dir, DirWatcher::Interest interest) {
  const auto watching = watcher_.watch(dir, interest);
  const bool gone = !watching && watching.error().code == ErrorCode::NotFound;
  if (watching || gone) return;
  if (problem_.empty()) log::warn("new pods are detected late: {}", watching.error().message);
  problem_ = watching.error().message;
}

void PodWatch::watchFiles(const std::string& cgroup) {
  for (const auto subsystem : {Subsystem::Cpu, Subsystem::Cpuset, Subsystem::Memory}) {
    const std::string dir = host_.layout.dir(subsystem, cgroup);
    if (!watcher_.watches(dir) && watcher_.size() < maxWatches_)
      watch(dir, DirWatcher::Interest::Files);
  }
}

void PodWatch::refresh() {
  for (const KubeQos qos : kKubeQosClasses)
    if (const auto dir = host_.layout.dir(Subsystem::Cpu, qosDir(host_.driver, qos));
        !watcher_.watches(dir))
      watch(dir, DirWatcher::Interest::Directories);
  bool unknown = false;
  for (const auto& pod : states_.pods()) {
    if (!pod.active()) continue;
    const std::string dir = host_.layout.dir(Subsystem::Cpu, pod.dir);
    if (!watcher_.watches(dir)) {
      watch(dir, DirWatcher::Interest::All);
      unknown = unknown || hasUnknown(pod, dir);
    }
    watchFiles(pod.dir);
    for (const auto& container : pod.containers)
      if (!container.dir.empty()) watchFiles(container.dir);
  }
  if (unknown) identify();
}

void PodWatch::takeWritten(const DirWatcher::Event& event) {
  if (!callbacks_.written) return;
  const bool first = written_.empty();
  const SteadyTime now = executor_.steadyNow();
  written_.try_emplace(event.dir + event.name, now, now).first->second.last = now;
  if (first) tasks_.spawn(notifyWritten());
}

void PodWatch::take(const DirWatcher::Event& event) {
  using enum DirWatcher::ChangeKind;
  // Directories are watched by names that end in a slash.
  if (event.what == Written) return takeWritten(event);
  if (event.what == Lost) {
    if (callbacks_.lost) callbacks_.lost();
    poller_.request();
    return identify();
  }
  if (callbacks_.cgroupChanged) callbacks_.cgroupChanged(event.dir + event.name);
  if (event.what == Removed) return;  // kubelet reports the end
  if (parsePodDirName(host_.driver, event.name)) {
    poller_.request();  // the list adds a watch and finds existing containers
  } else {
    identify();
  }
}

void PodWatch::identify() {
  newContainerWait_ = {};
  if (runtime_) return queryRuntime();
  poller_.request();
  pollKubelet();
}

// Asks for a limited time, and not about sandboxes, which kubelet never lists: each reply has all
// pods.
void PodWatch::pollKubelet() {
  executor_.cancel(next_);
  if (newContainerWait_ >= kLong) return;
  const Duration wait =
      std::clamp<Duration>(newContainerWait_, kFirstKubeletPeriod, kKubeletPeriod);
  newContainerWait_ += wait;
  next_ = executor_.runAfter(wait, [this] {
    const auto isUnknown = [this](const PodView& pod) {
      return pod.active() && awaitsContainers(pod) &&
             hasUnknown(pod, host_.layout.dir(Subsystem::Cpu, pod.dir));
    };
    if (!std::ranges::any_of(states_.pods(), isUnknown)) return;
    poller_.request(PodPoller::Wanted::Changes);
    pollKubelet();
  });
}

void PodWatch::queryRuntime() {
  again_ = true;
  if (querying_) return;
  querying_ = true;
  tasks_.spawn(ask());
}

Task<void> PodWatch::ask() {
  while (again_) {
    again_ = false;
    auto listing = runtime_->list();
    const auto containers = co_await listing;
    if (!containers) {
      log::v(4, "polling kubelet for new containers: {}", containers.error().message);
      poller_.request();
      pollKubelet();
    } else if (!learn(*containers)) {
      const Duration wait = newContainerWait_ < kLong ? kRuntimePeriod : kSlowRuntimePeriod;
      newContainerWait_ += wait;
      executor_.cancel(next_);
      next_ = executor_.runAfter(wait, [this] { queryRuntime(); });
    }
  }
  querying_ = false;
}

Task<void> PodWatch::notifyWritten() {
  do {
    SteadyTime next = SteadyTime::max();
    for (const auto& [path, writing] : written_) next = std::min(next, writing.notifyAt());
    auto pause = sleepUntil(executor_, next);
    co_await pause;
    const SteadyTime now = executor_.steadyNow();
    std::vector<std::string> quiet;
    for (const auto& [path, writing] : written_)
      if (now >= writing.notifyAt()) quiet.push_back(path);
    for (const auto& path : quiet) {
      written_.erase(path);
      callbacks_.written(path);
    }
  } while (!written_.empty());
}

bool PodWatch::learn(const std::vector<RuntimeContainer>& containers) {
  bool all = true;
  for (const auto& container : containers) {
    const PodView* pod = states_.podOf(container.podUid);
    if (!pod) continue;
    const bool known = std::ranges::any_of(pod->containers, [&](const ContainerView& view) {
      return view.id == container.id && !view.dir.empty();
    });
    const auto* spec = known ? nullptr : containerOf(*pod->pod, container.name);
    if (!spec) continue;
    // Runtimes name cgroups differently: find the name that exists.
    for (const auto* scheme : {"containerd", "cri-o", "docker", "pouch"}) {
      const auto name = containerDirName(host_.driver, std::string(scheme) + "://" + container.id);
      const std::string dir = name ? joinPath(pod->dir, *name) : "";
      if (dir.empty() || !pathExists(host_.layout.dir(Subsystem::Cpu, dir))) continue;
      if (!container.running) {
        all = false;
        break;
      }
      const bool init = std::ranges::any_of(
          pod->pod->spec.initContainers,
          [&](const api::Container& other) { return other.name == container.name; });
      poller_.learn(container.podUid, {container.name, container.id, dir, init, true});
      break;
    }
  }
  return all;
}

}  // namespace koord::koordlet
