#include "scheduler/config/plugin_args.h"

#include <algorithm>
#include <map>

#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

// Each of weight 1.
json::array weighed(std::initializer_list<std::string_view> resources) {
  json::array list;
  for (const std::string_view name : resources)
    list.push_back(json::object{{"name", std::string(name)}, {"weight", 1}});
  return list;
}

json::array cpuAndMemory() {
  return weighed({"cpu", "memory"});
}

json::object leastAllocated(json::array resources) {
  return {{"type", "LeastAllocated"}, {"resources", std::move(resources)}};
}

// No limit: a value that can still be added without overflow.
json::object boundless() {
  return {{"cpu", "1844674407370955161"}, {"memory", "1844674407370955161"}};
}

using Defaults = std::map<std::string, json::object, std::less<>>;

Defaults koordinatorDefaults() {
  return {
      {"Coscheduling",
       {{"defaultTimeout", "10m0s"},
        {"controllerWorkers", 1},
        {"enablePreemption", false},
        {"awareNetworkTopology", false},
        {"defaultMatchPolicy", "once-satisfied"}}},
      {"DeviceShare",
       {{"scoringStrategy", leastAllocated(weighed({model::kGpuMemoryRatio, model::kGpuMemory,
                                                    model::kRdma, model::kFpga}))},
        {"gpuSharedResourceTemplatesConfig",
         json::object{{"configMapNamespace", "koordinator-system"},
                      {"configMapName", "gpu-shared-resource-templates"},
                      {"matchedResources", json::array{std::string(model::kNpuCore)}}}}}},
      {"ElasticQuota",
       {{"delayEvictTime", "2m0s"},
        {"revokePodInterval", "1s"},
        {"defaultQuotaGroupMax", boundless()},
        {"systemQuotaGroupMax", boundless()},
        {"quotaGroupNamespace", "koordinator-system"},
        {"monitorAllQuotas", false},
        {"enableCheckParentQuota", false},
        {"enableRuntimeQuota", true},
        {"enableMinQuotaScale", true},
        {"disableDefaultQuotaPreemption", true},
        {"enableQueueHint", false},
        {"quotaSnapshotUpdateInterval", "2m0s"}}},
      {"FragmentationAware", {{"futures", 16}, {"pressurePercent", 25}}},
      {"LoadAwareScheduling",
       {{"filterExpiredNodeMetrics", true},
        {"enableScheduleWhenNodeMetricsExpired", false},
        {"nodeMetricExpirationSeconds", 180},
        {"resourceWeights", json::object{{"cpu", 1}, {"memory", 1}}},
        {"usageThresholds", json::object{{"cpu", 65}, {"memory", 95}}},
        {"estimatedScalingFactors", json::object{{"cpu", 85}, {"memory", 70}}}}},
      {"NodeNUMAResource",
       {{"defaultCPUBindPolicy", "FullPCPUs"},
        {"scoringStrategy", leastAllocated(cpuAndMemory())},
        {"numaScoringStrategy", leastAllocated(cpuAndMemory())}}},
      {"NodeResourcesFitPlus", {}},
      {"Reservation",
       {{"enablePreemption", false},
        {"minCandidateNodesPercentage", 10},
        {"minCandidateNodesAbsolute", 100},
        {"controllerWorkers", 1},
        {"gcDurationSeconds", 86400},
        {"gcIntervalSeconds", 60},
        {"resyncIntervalSeconds", 60}}},
      {"ScarceResourceAvoidance", {}},
      {"SchedulingHint", {{"maxHintNodes", 100}}},
  };
}

Defaults kubernetesDefaults() {
  return {{"DefaultPreemption",
           {{"minCandidateNodesPercentage", 10}, {"minCandidateNodesAbsolute", 100}}},
          {"InterPodAffinity",
           {{"hardPodAffinityWeight", 1}, {"ignorePreferredTermsOfExistingPods", false}}},
          {"NodeAffinity", {}},
          {"NodeResourcesBalancedAllocation", {{"resources", cpuAndMemory()}}},
          {"NodeResourcesFit", {{"scoringStrategy", leastAllocated(cpuAndMemory())}}},
          {"PodTopologySpread", {{"defaultingType", "System"}}},
          {"VolumeBinding", {{"bindTimeoutSeconds", 600}}}};
}

const Defaults& defaults() {
  static const Defaults kDefaults = [] {
    Defaults all = kubernetesDefaults();
    all.merge(koordinatorDefaults());
    return all;
  }();
  return kDefaults;
}

// Null, or a list or map of empty values.
bool isAbsent(const json::value* value) {
  if (!value || value->is_null()) return true;
  if (const auto* list = value->if_array()) return list->empty();
  const auto* map = value->if_object();
  return map && map->empty();
}

// For these fields, zero and absent are the same upstream.
bool isZero(std::string_view field, const json::value* value) {
  static constexpr std::string_view kFields[] = {"gcDurationSeconds", "gcIntervalSeconds",
                                                 "resyncIntervalSeconds", "quotaGroupNamespace"};
  if (!value || std::ranges::find(kFields, field) == std::end(kFields)) return false;
  return *value == 0 || *value == "";
}

// Each absent factor gets its default. With the dominant resource only, there are no weights.
void completeLoadAware(json::object& args, const json::object& given) {
  const auto& usual = defaults().find("LoadAwareScheduling")->second;
  if (auto* factors = args["estimatedScalingFactors"].if_object())
    for (const auto& factor : membersOf(memberOf(usual, "estimatedScalingFactors")))
      factors->emplace(factor.key(), factor.value());
  const auto* dominant = given.if_contains("dominantResourceWeight");
  if (dominant && *dominant != 0 && isAbsent(given.if_contains("resourceWeights")))
    args.erase("resourceWeights");
}

// An absent list of resources means cpu and memory; an absent weight is 1.
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
  for (const auto& member : known->second) {
    const auto* value = full.if_contains(member.key());
    if (isAbsent(value) || isZero(member.key(), value)) full[member.key()] = member.value();
  }
  if (plugin == "NodeResourcesBalancedAllocation") completeResources(full);
  if (plugin == "LoadAwareScheduling")
    completeLoadAware(full, args.is_object() ? args.get_object() : json::object());
  if (plugin == "NodeResourcesFit")
    if (auto* strategy = full["scoringStrategy"].if_object()) completeResources(*strategy);
  return full;
}

}  // namespace koord::scheduler
