#include "simulation/plain_preemption.h"

#include <algorithm>
#include <set>

#include "simulation/plain_volumes.h"

namespace koord::simulation {

using scheduler::testing::Reference;

namespace {

std::int32_t priorityOf(const api::Pod& pod) {
  return pod.spec.priority.value_or(0);
}
WallTime startOf(const api::Pod& pod, WallTime now) {
  return pod.status.startTime.value_or(now);
}

bool isPreempted(const api::Pod& pod) {
  return pod.metadata.deletionTimestamp &&
         std::ranges::any_of(pod.status.conditions, [](const auto& condition) {
           return condition.type == "DisruptionTarget" && condition.status == "True" &&
                  condition.reason == "PreemptionByScheduler";
         });
}

// Returns true if removing pods cannot change the reasons.
bool unresolvable(const std::vector<std::string>& reasons) {
  static const std::set<std::string> kReasons{
      "node(s) were unschedulable", "node(s) had untolerated taint(s)",
      "node(s) didn't match Pod's node affinity/selector",
      "node(s) didn't match pod affinity rules",
      "node(s) didn't match pod topology spread constraints (missing required label)"};
  return std::ranges::any_of(
      reasons, [](const auto& reason) { return kReasons.contains(reason) || isLasting(reason); });
}

// Whether each victim's eviction violates a budget, in the order given.
std::vector<bool> breaking(const std::vector<PodObject>& victims,
                           const std::vector<BudgetObject>& budgets) {
  std::vector<std::int64_t> left;
  for (const auto& budget : budgets) left.push_back(budget->status.disruptionsAllowed);
  std::vector<bool> result;
  for (const auto& victim : victims) {
    bool breaks = false;
    for (std::size_t b = 0; b < budgets.size(); ++b) {
      const auto selector = api::Selector::compile(budgets[b]->spec.selector);
      if (budgets[b]->metadata.namespace_ != victim->metadata.namespace_ || selector->empty() ||
          victim->metadata.labels.empty() || !selector->matches(victim->metadata.labels) ||
          budgets[b]->status.disruptedPods.contains(victim->metadata.name))
        continue;
      breaks |= --left[b] < 0;
    }
    result.push_back(breaks);
  }
  return result;
}

}  // namespace

PlainPlan::PreemptionCost PlainPlan::cost(WallTime now) const {
  std::int64_t highest = INT64_MIN, sum = 0;
  for (const auto& victim : victims) {
    highest = std::max<std::int64_t>(highest, priorityOf(*victim));
    sum += priorityOf(*victim) + (std::int64_t{1} << 31);
  }
  WallTime earliest = WallTime::max();
  for (const auto& victim : victims)
    if (priorityOf(*victim) == highest) earliest = std::min(earliest, startOf(*victim, now));
  const bool vacated = !promised && std::ranges::all_of(victims, [&](const auto& victim) {
    return isPreempted(*victim) &&
           *victim->metadata.deletionTimestamp + std::chrono::minutes(1) >= now;
  });
  return {!vacated, budgetsBroken,  highest,
          sum,      victims.size(), -earliest.time_since_epoch().count()};
}

std::optional<PlainPlan> planOn(const Model& model, const api::Pod& pod, const std::string& node,
                                const std::vector<BudgetObject>& budgets, WallTime now) {
  Model without = model;
  std::vector<PodObject> lower;
  for (const auto& [uid, other] : model.pods) {
    if (other->spec.nodeName != node || priorityOf(*other) >= priorityOf(pod)) continue;
    if (std::ranges::any_of(model.staying, [&](const auto& stays) { return stays(*other); }))
      continue;
    lower.push_back(other);
    without.pods.erase(uid);
  }
  if (lower.empty() || !Reference::judgeOn(without, pod, node).empty()) return std::nullopt;
  std::ranges::sort(lower, [&](const auto& a, const auto& b) {
    return std::tuple(-priorityOf(*a), startOf(*a, now), a->metadata.uid) <
           std::tuple(-priorityOf(*b), startOf(*b, now), b->metadata.uid);
  });
  const auto breaks = breaking(lower, budgets);
  PlainPlan plan;
  if (const auto others = model.nominated.find(node); others != model.nominated.end())
    plan.promised = std::ranges::any_of(
        others->second, [&](const auto& other) { return other->metadata.uid != pod.metadata.uid; });
  for (const bool group : {true, false}) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (breaks[i] != group) continue;
      without.pods[lower[i]->metadata.uid] = lower[i];
      if (Reference::judgeOn(without, pod, node).empty()) continue;
      without.pods.erase(lower[i]->metadata.uid);
      plan.victims.push_back(lower[i]);
      if (group) ++plan.budgetsBroken;
    }
  }
  return plan;
}

std::map<std::string, PlainPlan> plansFor(const Model& model, const api::Pod& pod,
                                          const std::vector<BudgetObject>& budgets, WallTime now) {
  std::map<std::string, PlainPlan> plans;
  for (const auto& [name, node] : model.nodes) {
    const bool excluded = std::ranges::any_of(
        model.excluding, [&](const auto& rule) { return !rule(model, pod, *node).empty(); });
    // A pod that is not admitted has not been judged on the node.
    const bool admitted = !model.admit || model.admit(model, pod, *node).empty();
    if (excluded || (admitted && unresolvable(Reference::judgeOn(model, pod, name)))) continue;
    if (auto plan = planOn(model, pod, name, budgets, now)) plans[name] = *std::move(plan);
  }
  return plans;
}

}  // namespace koord::simulation
