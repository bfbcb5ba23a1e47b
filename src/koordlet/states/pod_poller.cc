#include "koordlet/states/pod_poller.h"

#include <algorithm>
#include <unordered_set>

#include "base/log.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// How often to look for new directories, and the least time between two lists.
constexpr Duration kLook = 1s;

}  // namespace

PodPoller::PodPoller(Executor& executor, Host& host, States& states, PodSource& source,
                     Duration interval)
    : executor_(executor),
      host_(host),
      states_(states),
      source_(source),
      interval_(std::max<Duration>(interval, kLook)) {}

void PodPoller::start() {
  tasks_.spawn(loop());
}

bool PodPoller::podDirBesides(const std::vector<PodView>& pods) const {
  if (host_.driverSource.empty()) return false;
  std::unordered_set<std::string_view> known;
  for (const auto& view : pods) known.insert(view.dir);
  for (const KubeQos qos : {KubeQos::Guaranteed, KubeQos::Burstable, KubeQos::BestEffort}) {
    const std::string dir = qosDir(host_.driver, qos);
    for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpu, dir)))
      if (parsePodDirName(host_.driver, name) && !known.contains(joinPath(dir, name))) return true;
  }
  return false;
}

Task<void> PodPoller::sync() {
  const auto node = states_.node();
  if (!node) co_return;
  auto task = source_.list(*node);
  auto pods = co_await task;
  if (!pods) {
    if (pods.error().message != lastError_) log::warn("pods not listed: {}", pods.error().message);
    lastError_ = pods.error().message;
    co_return;
  }
  host_.detectDriver();
  if (pods->empty() && podDirBesides({})) {
    lastError_ = "kubelet lists no pods, but there are cgroups of pods";
    co_return;
  }
  lastError_.clear();
  std::vector<PodView> views;
  views.reserve(pods->size());
  for (auto& pod : *pods) views.push_back(viewOf(std::move(pod), host_.driver));
  states_.setPods(std::move(views));
}

Task<void> PodPoller::loop() {
  // A directory that stays unknown (its pod is being removed) must not cause a list every second.
  int early = 0;
  for (;;) {
    auto syncing = sync();
    co_await syncing;
    const SteadyTime next = executor_.steadyNow() + (states_.podsSynced() ? interval_ : kLook);
    bool again = false;
    while (!again && executor_.steadyNow() < next) {
      auto pause = sleepFor(executor_, std::min<Duration>(kLook, next - executor_.steadyNow()));
      co_await pause;
      again = early < 3 && podDirBesides(states_.pods());
    }
    early = again ? early + 1 : 0;
  }
}

}  // namespace koord::koordlet
