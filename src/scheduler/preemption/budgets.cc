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

DisruptionBudgets::Split DisruptionBudgets::split(const std::vector<PodPtr>& victims) const {
  Split split;
  std::unordered_map<const Budget*, std::int64_t> left;
  for (const PodPtr& victim : victims) {
    const api::ObjectMeta& meta = victim->pod->metadata;
    bool breaks = false;
    const auto here = byNamespace_.find(meta.namespace_);
    if (here != byNamespace_.end() && !meta.labels.empty()) {
      for (const auto& [name, budget] : here->second) {
        if (!budget.selector.matches(meta.labels)) continue;
        if (budget.object->status.disruptedPods.contains(meta.name))
          continue;  // already terminating
        auto& allowed =
            left.try_emplace(&budget, budget.object->status.disruptionsAllowed).first->second;
        breaks |= --allowed < 0;
      }
    }
    (breaks ? split.breaking : split.allowed).push_back(victim);
  }
  return split;
}

}  // namespace koord::scheduler
