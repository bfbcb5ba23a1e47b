#include "scheduler/plugins/podtopologyspread/constraints.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

std::string_view nameOf(SpreadAction action) {
  return action == SpreadAction::DoNotSchedule ? "DoNotSchedule" : "ScheduleAnyway";
}

api::TopologySpreadConstraint systemConstraint(std::string key, std::int32_t maxSkew) {
  api::TopologySpreadConstraint constraint;
  constraint.topologyKey = std::move(key);
  constraint.maxSkew = maxSkew;
  constraint.whenUnsatisfiable = "ScheduleAnyway";
  return constraint;
}

SpreadConstraint compile(Symbols& symbols, const api::TopologySpreadConstraint& from,
                         const PodInfo& pod, api::Selector selector) {
  SpreadConstraint constraint;
  constraint.maxSkew = from.maxSkew;
  constraint.key = symbols.intern(from.topologyKey);
  constraint.minDomains = from.minDomains.value_or(1);
  constraint.honorAffinity = from.nodeAffinityPolicy.value_or("Honor") == "Honor";
  constraint.honorTaints = from.nodeTaintsPolicy.value_or("Ignore") == "Honor";
  constraint.countsNone = selector.empty();
  constraint.pods = {{pod.pod->metadata.namespace_}, {}, std::move(selector)};
  return constraint;
}

// The API server merges matchLabelKeys into the selector; this handles pods that were created
// before it did.
std::optional<api::LabelSelector> withMatchLabelKeys(
    const api::TopologySpreadConstraint& constraint, const api::Pod& pod) {
  auto selector = constraint.labelSelector;
  if (!selector) return selector;
  for (const auto& key : constraint.matchLabelKeys)
    if (const auto* value = api::findIn(pod.metadata.labels, key))
      selector->matchExpressions.push_back({key, "In", {*value}});
  return selector;
}

}  // namespace

SpreadConstraints::SpreadConstraints(Symbols& symbols, const PodSpreadDefaults& owners,
                                     const PodTopologySpreadArgs& args)
    : symbols_(symbols),
      owners_(owners),
      system_(args.defaulting == SpreadDefaulting::System),
      defaults_(args.constraints) {
  if (!system_) return;
  defaults_ = {systemConstraint("kubernetes.io/hostname", 3),
               systemConstraint("topology.kubernetes.io/zone", 5)};
}

bool SpreadConstraints::none(const PodInfo& pod, SpreadAction action) const {
  const auto& own = pod.pod->spec.topologySpreadConstraints;
  const auto has = [&](const api::List<api::TopologySpreadConstraint>& list) {
    return std::ranges::any_of(list, [&](const auto& constraint) {
      return constraint.whenUnsatisfiable == nameOf(action);
    });
  };
  if (!own.empty()) return !has(own);
  return !has(defaults_) || owners_.selectorFor(*pod.pod).empty();
}

Result<std::vector<SpreadConstraint>> SpreadConstraints::of(const PodInfo& pod,
                                                            SpreadAction action) const {
  std::vector<SpreadConstraint> result;
  const auto& own = pod.pod->spec.topologySpreadConstraints;
  for (const auto& constraint : own) {
    if (constraint.whenUnsatisfiable != nameOf(action)) continue;
    auto selector = api::Selector::compile(withMatchLabelKeys(constraint, *pod.pod));
    if (!selector) return fail(std::move(selector.error()));
    result.push_back(compile(symbols_, constraint, pod, *std::move(selector)));
  }
  if (!own.empty() || none(pod, action)) return result;
  const api::Selector selector = owners_.selectorFor(*pod.pod);
  for (const auto& constraint : defaults_)
    if (constraint.whenUnsatisfiable == nameOf(action))
      result.push_back(compile(symbols_, constraint, pod, selector));
  return result;
}

}  // namespace koord::scheduler
