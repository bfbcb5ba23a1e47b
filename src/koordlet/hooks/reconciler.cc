#include "koordlet/hooks/reconciler.h"

namespace koord::koordlet {

Reconciler::Reconciler(Executor& executor, States& states, ResourceExecutor& resources,
                       Duration interval)
    : executor_(executor),
      states_(states),
      resources_(resources),
      interval_(std::max<Duration>(interval, std::chrono::seconds(1))) {}

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
    reconcile();
  });
}

void Reconciler::reconcile() {
  if (!states_.podsSynced()) return;
  for (const auto& hook : hooks_) {
    HookUpdates updates;
    hook->prepare(states_, updates);
    for (const auto& pod : states_.pods())
      if (pod.active()) hook->wanted(pod, updates);
    resources_.updateBatch(updates.qos);
    // Limits of a pod and of its containers move together, in the order that the kernel accepts.
    const std::vector<CgroupUpdate> levels[] = {std::move(updates.pods),
                                                std::move(updates.containers)};
    resources_.updateLeveled(levels);
  }
}

Task<void> Reconciler::loop() {
  for (;;) {
    auto pause = sleepFor(executor_, interval_);
    co_await pause;
    reconcile();
  }
}

}  // namespace koord::koordlet
