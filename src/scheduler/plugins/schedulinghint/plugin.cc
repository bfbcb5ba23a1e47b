#include "scheduler/plugins/schedulinghint/plugin.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "model/well_known.h"
#include "scheduler/framework/own_events.h"

namespace koord::scheduler {

namespace {

// The state from PreFilter to the plan.
constexpr std::string_view kHinted = "SchedulingHint/preferred";
using Preferred = std::vector<std::string>;

Result<std::vector<std::string>> readNames(const json::value& hint, std::string_view field) {
  std::vector<std::string> names;
  const json::value* list = at(hint, field);
  if (!list || list->is_null()) return names;
  const auto wrong = [&] {
    return fail(ErrorCode::Invalid, fmt::format("{}: expected a list of names of nodes", field));
  };
  if (!list->is_array()) return wrong();
  for (const json::value& name : list->get_array()) {
    if (!name.is_string()) return wrong();
    names.emplace_back(name.get_string());
  }
  return names;
}

}  // namespace

Result<std::optional<SchedulingHintText>> readSchedulingHint(const api::StringMap& annotations) {
  for (const std::string_view key :
       {model::kAnnotationSchedulingHint, model::kAnnotationSchedulingHintDeprecated}) {
    const auto* text = api::findIn(annotations, key);
    if (!text || text->empty()) continue;
    const auto within = [&](Error error) {
      return fail(std::move(error).within(fmt::format("metadata.annotations[{}]", key)));
    };
    const auto hint = parseJson(*text);
    if (!hint) return within(hint.error());
    if (hint->is_null()) return std::optional(SchedulingHintText{});
    if (!hint->is_object()) return within({ErrorCode::Invalid, "expected an object"});
    auto nodeNames = readNames(*hint, "nodeNames");
    if (!nodeNames) return within(nodeNames.error());
    auto preferred = readNames(*hint, "preferredNodeNames");
    if (!preferred) return within(preferred.error());
    return std::optional(SchedulingHintText{*std::move(nodeNames), *std::move(preferred)});
  }
  return std::nullopt;
}

PluginPoints SchedulingHint::skippedPoints(const PodInfo& pod) const {
  const auto hint = readSchedulingHint(pod.pod->metadata.annotations);
  return hint && !*hint ? when::kPreFilter | when::kPlan : 0;
}

PreFilterResult SchedulingHint::preFilter(CycleState& state, const PodInfo& pod) {
  auto hint = readSchedulingHint(pod.pod->metadata.annotations);
  if (!hint) return {Status::of(hint.error()), {}};
  if (!*hint) return {Status::skip(), {}};
  Preferred& preferred = state.put(kHinted, std::move((*hint)->preferredNodeNames));
  if (preferred.size() > static_cast<std::size_t>(args_.maxHintNodes))
    preferred.resize(static_cast<std::size_t>(args_.maxHintNodes));
  if ((*hint)->nodeNames.empty()) return {};
  return {{}, std::move((*hint)->nodeNames)};
}

PlanPlugin::Plan SchedulingHint::plan(CycleState& state, const PodPtr&) {
  const auto* preferred = state.get<Preferred>(kHinted);
  if (!preferred || preferred->empty()) return {Status::skip(), {}, {}};
  Plan plan;
  for (const std::string& name : *preferred)
    if (const auto node = cluster_.findNode(name)) plan.first.push_back(*node);
  return plan;
}

// A pod is kept off all nodes that it does not name: it waits for one of its nodes, or for a change
// of its hint.
std::vector<EventRegistration> SchedulingHint::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd, "",
           [](const PodInfo& pod, const ClusterEvent& event) {
             const auto hint = readSchedulingHint(pod.pod->metadata.annotations);
             if (!hint || !*hint || !event.newNode) return Hint::Skip;
             const auto& names = (*hint)->nodeNames;
             const bool named =
                 std::ranges::find(names, event.newNode->metadata.name) != names.end();
             return named ? Hint::Queue : Hint::Skip;
           }},
          onOwnMetadata()};
}

}  // namespace koord::scheduler
