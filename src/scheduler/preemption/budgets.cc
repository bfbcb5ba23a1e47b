#include "scheduler/preemption/budgets.h"

namespace koord::scheduler {

DisruptionBudgets::DisruptionBudgets(Store<api::PodDisruptionBudget>& store) {
  using Object = Store<api::PodDisruptionBudget>::Object;
  const auto note = [this](const Object& before, const Object& after) {
    ++version_;
    const api::ObjectMeta& meta = (after ? after : before)->metadata;
    auto& here = byNamespace_[meta.namespace_];
    here.erase(meta.name);
    if (!after) return;
    // A budget whose selector is empty or invalid protects nothing.
    auto selector = api::Selector::compile(after->spec.selector);
    if (selector && !selector->empty()) here[meta.name] = {after, *std::move(selector)};
  };
  for (const auto& [key, budget] : store.all()) note(nullptr, budget);
  store.listen(note);
}

template <class Fn>
void DisruptionBudgets::forEach(const api::ObjectMeta& pod, Fn fn) const {
  const auto here = byNamespace_.find(pod.namespace_);
  if (here == byNamespace_.end() || pod.labels.empty()) return;
  for (const auto& [name, budget] : here->second)
    if (budget.selector.matches(pod.labels) &&
        !budget.object->status.disruptedPods.contains(pod.name))
      fn(budget);
}

DisruptionBudgets::Split DisruptionBudgets::split(const std::vector<PodPtr>& victims) const {
  Split split;
  std::unordered_map<const Budget*, std::int64_t> left;
  for (const PodPtr& victim : victims) {
    bool breaks = false;
    forEach(victim->pod->metadata, [&](const Budget& budget) {
      auto& allowed =
          left.try_emplace(&budget, budget.object->status.disruptionsAllowed).first->second;
      breaks |= --allowed < 0;
    });
    (breaks ? split.breaking : split.allowed).push_back(victim);
  }
  return split;
}

std::vector<std::shared_ptr<const api::PodDisruptionBudget>> DisruptionBudgets::of(
    const api::Pod& pod) const {
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
  forEach(pod.metadata, [&](const Budget& budget) { budgets.push_back(budget.object); });
  return budgets;
}

}  // namespace koord::scheduler
