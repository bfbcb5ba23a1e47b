#include "scheduler/config/plugin_args.h"

#include <map>

namespace koord::scheduler {

namespace {

json::array cpuAndMemory() {
  return {json::object{{"name", "cpu"}, {"weight", 1}},
          json::object{{"name", "memory"}, {"weight", 1}}};
}

const std::map<std::string, json::object, std::less<>>& defaults() {
  static const std::map<std::string, json::object, std::less<>> kDefaults{
      {"DefaultPreemption",
       {{"minCandidateNodesPercentage", 10}, {"minCandidateNodesAbsolute", 100}}},
      {"InterPodAffinity",
       {{"hardPodAffinityWeight", 1}, {"ignorePreferredTermsOfExistingPods", false}}},
      {"NodeAffinity", {}},
      {"NodeResourcesBalancedAllocation", {{"resources", cpuAndMemory()}}},
      {"NodeResourcesFit",
       {{"scoringStrategy",
         json::object{{"type", "LeastAllocated"}, {"resources", cpuAndMemory()}}}}},
      {"PodTopologySpread", {{"defaultingType", "System"}}},
      {"VolumeBinding", {{"bindTimeoutSeconds", 600}}}};
  return kDefaults;
}

// Nothing, or a list of nothing.
bool isAbsent(const json::value* value) {
  return !value || value->is_null() || (value->is_array() && value->get_array().empty());
}

// No list of resources is that of cpu and memory, and no weight is 1.
void completeResources(json::object& owner) {
  if (isAbsent(owner.if_contains("resources"))) owner["resources"] = cpuAndMemory();
  auto* resources = owner["resources"].if_array();
  if (!resources) return;
  for (json::value& resource : *resources) {
    auto* entry = resource.if_object();
    const auto* weight = entry ? entry->if_contains("weight") : nullptr;
    if (entry && (!weight || *weight == 0)) (*entry)["weight"] = 1;
  }
}

}  // namespace

bool hasArgsKind(std::string_view plugin) {
  return defaults().contains(plugin);
}

json::value argsInForce(std::string_view plugin, const json::value& args) {
  const auto known = defaults().find(plugin);
  if (known == defaults().end()) return args;
  json::object full{{"apiVersion", "kubescheduler.config.k8s.io/v1"},
                    {"kind", known->first + "Args"}};
  if (const auto* given = args.if_object())
    for (const auto& member : *given) full[member.key()] = member.value();
  for (const auto& member : known->second)
    if (isAbsent(full.if_contains(member.key()))) full[member.key()] = member.value();
  if (plugin == "NodeResourcesBalancedAllocation") completeResources(full);
  if (plugin == "NodeResourcesFit")
    if (auto* strategy = full["scoringStrategy"].if_object()) completeResources(*strategy);
  return full;
}

}  // namespace koord::scheduler
