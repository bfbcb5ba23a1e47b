#include "koordlet/states/pod_poller.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kDirInterval = 1s;      // how often to look for new directories
constexpr Duration kCheckInterval = 10ms;  // how often to check whether a list is complete
constexpr Duration kRefill = 50ms;         // one more list is allowed
constexpr int kBurst = 10;                 // lists

// Returns true if kubelet read the pod from a file or a URL: it knows such pods without the API
// server.
bool isStatic(const api::Pod& pod) {
  const auto* source = api::findIn(pod.metadata.annotations, "kubernetes.io/config.source");
  return source && *source != "api";
}

}  // namespace

PodPoller::PodPoller(Executor& executor, Host& host, States& states, PodSource& source,
                     Duration interval)
    : executor_(executor),
      host_(host),
      states_(states),
      source_(source),
      interval_(std::max<Duration>(interval, kDirInterval)) {}

void PodPoller::start() {
  tasks_.spawn(loop());
}

std::vector<std::string> PodPoller::podDirsExcept(const Dirs& known) {
  std::vector<std::string> found;
  if (host_.driverSource.empty()) return found;
  for (const KubeQos qos : kKubeQosClasses) {
    dir_ = qosDir(host_.driver, qos);
    host_.layout.dir(Subsystem::Cpu, dir_, path_);
    dir_ += '/';
    const std::size_t stem = dir_.size();
    const auto look = [&](std::string_view name) {
      if (!isPodDirName(host_.driver, name)) return;
      dir_.resize(stem);
      if (!known.contains(dir_.append(name))) found.push_back(dir_);
    };
    forEachDir(path_,
               std::ref(look));  // by reference: std::function would allocate memory for a copy
  }
  return found;
}

bool PodPoller::runs(const std::string& dir) const {
  const auto path = cgroupFilePath(host_.layout, CgroupFile::Procs, dir);
  const auto processes = path ? readSmallFile(*path) : fail(path.error());
  if (processes && !processes->empty()) return true;
  return std::ranges::any_of(listDirs(host_.layout.dir(Subsystem::Cpu, dir)),
                             [&](const std::string& name) { return runs(joinPath(dir, name)); });
}

std::vector<std::string> PodPoller::missingFrom(const Pods& pods) {
  if (!std::ranges::all_of(pods, [](const auto& pod) { return isStatic(*pod); })) return {};
  Dirs listed;
  for (const auto& pod : pods) listed.insert(viewOf(pod, host_.driver).dir);
  std::vector<std::string> missing = podDirsExcept(listed);
  // An empty cgroup does not mean that its pod exists: the cgroup may be left over.
  std::erase_if(missing, [this](const std::string& dir) { return !runs(dir); });
  return missing;
}

bool PodPoller::completeList(Pods& pods) {
  const auto missing = missingFrom(pods);
  if (missing.empty()) {
    incompleteSince_.reset();
    lastError_.clear();
    return true;
  }
  lastError_ = pods.empty() ? "kubelet lists no pods, but cgroups of running pods exist"
                            : "kubelet lists static pods only, but other pods run";
  const SteadyTime now = executor_.steadyNow();
  if (!incompleteSince_) {
    incompleteSince_ = now;
    log::warn("{}", lastError_);
  }
  for (const auto& view : states_.pods())
    if (std::ranges::find(missing, view.dir) != missing.end()) pods.push_back(view.pod);
  return states_.podsSynced() || now - *incompleteSince_ >= kPatience;
}

const PodPoller::Dirs& PodPoller::knownDirs() {
  if (knownFor_ == states_.versions().pods) return known_;
  knownFor_ = states_.versions().pods;
  known_.clear();
  for (const auto& view : states_.pods()) known_.insert(view.dir);
  return known_;
}

void PodPoller::request(Wanted wanted) {
  setsAlways_ = setsAlways_ || wanted == Wanted::Always;
  if (requested_) return;
  requested_ = true;
  tasks_.spawn(syncSoon());
}

SteadyTime PodPoller::earliestStart() const {
  return started_ + 2 * lastDuration_;
}

Task<void> PodPoller::syncSoon() {
  const SteadyTime now = executor_.steadyNow();
  if (2 * lastDuration_ > kRefill) {
    // Slow lists keep the bucket empty, so that a kubelet that recovers is not met by a burst.
    bucketFull_ = std::max(earliestStart(), now) + kBurst * kRefill;
  } else {
    bucketFull_ = std::max(bucketFull_, now) + kRefill;  // takes one token
    auto waiting = sleepUntil(executor_, bucketFull_ - kBurst * kRefill);
    co_await waiting;
  }
  // A running list may lack the change that caused this request, so wait for its end. If it was
  // slow, the next start moves.
  while (syncing_ || executor_.steadyNow() < earliestStart()) {
    auto waiting =
        sleepUntil(executor_, std::max(earliestStart(), executor_.steadyNow() + kCheckInterval));
    co_await waiting;
  }
  requested_ = false;
  auto syncing = sync(std::exchange(setsAlways_, false));
  co_await syncing;
}

void PodPoller::learn(const std::string& podUid, ContainerView container) {
  const PodView* pod = states_.podOf(podUid);
  if (!pod) return;
  const auto known = std::ranges::find(pod->containers, container.dir, &ContainerView::dir);
  if (known != pod->containers.end()) return;
  learned_.insert_or_assign(container.dir, std::move(container));
  std::vector<PodView> views = states_.pods();
  complete(views);
  states_.setPods(std::move(views));
}

void PodPoller::forgetReported(const std::vector<PodView>& views) {
  if (learned_.empty()) return;
  for (const auto& view : views)
    for (const auto& container : view.containers) learned_.erase(container.dir);
}

void PodPoller::complete(std::vector<PodView>& views) {
  std::erase_if(learned_, [&](const auto& entry) {
    return !pathExists(host_.layout.dir(Subsystem::Cpu, entry.first));
  });
  for (const auto& [dir, container] : learned_) {
    const std::string podDir = dir.substr(0, dir.rfind('/'));
    const auto pod = std::ranges::find(views, podDir, &PodView::dir);
    if (pod == views.end()) continue;
    const auto known = std::ranges::find(pod->containers, container.name, &ContainerView::name);
    if (known == pod->containers.end()) {
      pod->containers.push_back(container);
    } else if (known->dir.empty() || !known->running) {
      *known = container;  // kubelet still reports the previous container, or none
    }
  }
}

Task<void> PodPoller::sync(bool always) {
  const auto node = states_.node();
  if (!node || syncing_) co_return;
  syncing_ = true;
  started_ = executor_.steadyNow();
  auto task = source_.list(*node);
  auto pods = co_await task;
  syncing_ = false;
  // A failed list may have waited for its timeout, and must not delay the list after it.
  if (pods) lastDuration_ = executor_.steadyNow() - started_;
  if (!pods) {
    if (pods.error().message != lastError_) log::warn("pods not listed: {}", pods.error().message);
    lastError_ = pods.error().message;
    co_return;
  }
  host_.detectDriver();
  if (!completeList(*pods)) co_return;
  const bool same =
      states_.podsSynced() && learned_.empty() && listed_ == *pods && listedFor_ == host_.driver;
  if (same && !always) co_return;
  listed_ = *pods;
  listedFor_ = host_.driver;
  std::vector<PodView> views;
  views.reserve(pods->size());
  for (auto& pod : *pods) views.push_back(viewOf(std::move(pod), host_.driver));
  forgetReported(views);
  complete(views);
  states_.setPods(std::move(views));
}

Task<void> PodPoller::loop() {
  // A directory that stays unknown (its pod is being removed) must not cause a list every second.
  int early = 0;
  for (bool again = false;;) {
    auto syncing = sync(again);
    co_await syncing;
    const SteadyTime next =
        executor_.steadyNow() + (states_.podsSynced() ? interval_ : kDirInterval);
    again = false;
    while (!again && executor_.steadyNow() < next) {
      auto pause =
          sleepFor(executor_, std::min<Duration>(kDirInterval, next - executor_.steadyNow()));
      co_await pause;
      again = early < 3 && !podDirsExcept(knownDirs()).empty();
    }
    early = again ? early + 1 : 0;
  }
}

}  // namespace koord::koordlet
