#include "koordlet/hooks/reconciler.h"

namespace koord::koordlet {
namespace {

// After a value that the kernel refused: often another one must change first (a child's quota may
// not be above its parent's), and its writer runs every second.
constexpr Duration kRetry = std::chrono::seconds(1);

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

bool Reconciler::reconcile() {
  if (!states_.podsSynced()) return true;
  prepared_ = true;
  int failed = 0;
  for (const auto& [name, hook] : hooks_) {
    HookUpdates updates;
    hook->prepare(states_, updates);
    for (const auto& pod : states_.pods())
      if (pod.active()) hook->wanted(pod, updates);
    failed += resources_.updateBatch(updates.qos).failed;
    // Limits of a pod and of its containers move together, in the order that the kernel accepts.
    const std::vector<CgroupUpdate> levels[] = {std::move(updates.pods),
                                                std::move(updates.containers)};
    failed += resources_.updateLeveled(levels).failed;
    for (const auto& update : updates.files)
      if (!resources_.updateFile(update, ResourceExecutor::Caching::No)) ++failed;
  }
  return failed == 0;
}

const std::vector<Reconciler::Named>& Reconciler::prepared() {
  HookUpdates ofTheNode;  // the next round's
  if (!prepared_)
    for (const auto& [name, hook] : hooks_) hook->prepare(states_, ofTheNode);
  prepared_ = true;
  return hooks_;
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
