#include "koordlet/hooks/reconciler.h"

#include <set>

namespace koord::koordlet {
namespace {

// The pause after a value that the kernel refused: often another value must change first (a child's
// quota may not exceed its parent's), and its writer runs every second.
constexpr Duration kRetry = std::chrono::seconds(1);
// The pause after a write of another program: runc reads its values back and fails if they differ.
constexpr Duration kQuiet = std::chrono::milliseconds(50);

}  // namespace

Reconciler::Reconciler(Executor& executor, States& states, ResourceExecutor& resources,
                       Duration interval)
    : executor_(executor),
      states_(states),
      resources_(resources),
      interval_(std::max(interval, kRetry)) {}

void Reconciler::start() {
  states_.onPods([this] { request(); });
  states_.onSlo([this] { request(); });
  const auto startRepair = [this] {
    if (looking_) return;
    looking_ = true;
    tasks_.spawn(repairNewCgroups());
  };
  resources_.onNewCgroup(startRepair);
  startRepair();
  tasks_.spawn(loop());
}

void Reconciler::request() {
  if (requested_) return;
  requested_ = true;
  executor_.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    requested_ = false;
    settled_ = reconcile();
  });
}

void Reconciler::observe(std::string_view level, std::span<const CgroupUpdate> updates, bool ok,
                         SteadyTime since) const {
  if (!observer_ || updates.empty()) return;
  std::set<CgroupFile> files;  // few: a hook has one to three
  for (const auto& update : updates) files.insert(update.file);
  for (const CgroupFile file : files)
    observer_(level, nameOf(file), ok, executor_.steadyNow() - since);
}

bool Reconciler::apply(const HookUpdates& updates) {
  const SteadyTime start = executor_.steadyNow();
  const bool classes = resources_.updateBatch(updates.qos).failed == 0;
  observe("kubeqos", updates.qos, classes, start);
  // Limits of a pod and its containers are written together, in the order that the kernel accepts.
  const SteadyTime second = executor_.steadyNow();
  const std::span<const CgroupUpdate> levels[] = {updates.pods, updates.containers};
  const bool pods = resources_.updateLeveled(levels).failed == 0;
  observe("pod", levels[0], pods, second);
  observe("container", levels[1], pods, second);
  bool files = true;
  for (const auto& update : updates.files)
    files = resources_.updateFile(update, ResourceExecutor::Caching::No) && files;
  return classes && pods && files;
}

bool Reconciler::reconcile() {
  if (!states_.podsSynced()) return true;
  prepared_ = true;
  bool all = true;
  for (const auto& [name, hook] : hooks_) {
    updates_.clear();
    hook->prepare(states_, updates_);
    for (const auto& pod : states_.pods())
      if (pod.active()) hook->wanted(pod, updates_);
    all = apply(updates_) && all;
  }
  return all;
}

const std::vector<Reconciler::Named>& Reconciler::prepared() {
  HookUpdates ofTheNode;  // not applied here; the next round adds them again
  if (!prepared_)
    for (const auto& [name, hook] : hooks_) hook->prepare(states_, ofTheNode);
  prepared_ = true;
  return hooks_;
}

Task<void> Reconciler::repairNewCgroups() {
  while (const auto until = resources_.nextRepair()) {
    auto pause = sleepFor(executor_, *until);
    co_await pause;
    if (!resources_.repairNewCgroups()) continue;
    auto quiet = sleepFor(executor_, kQuiet);
    co_await quiet;
    request();
  }
  looking_ = false;
}

Task<void> Reconciler::loop() {
  for (SteadyTime last = executor_.steadyNow();;) {
    auto pause = sleepFor(executor_, kRetry);
    co_await pause;
    if (settled_ && executor_.steadyNow() - last < interval_) continue;
    last = executor_.steadyNow();
    settled_ = reconcile();
  }
}

}  // namespace koord::koordlet
