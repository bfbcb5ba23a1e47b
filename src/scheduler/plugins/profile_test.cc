// How the plugins of a profile are combined, with the plugins of the registry.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/yaml.h"
#include "scheduler/config/plugin_args.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/plugins/deviceshare/args.h"
#include "scheduler/plugins/interpodaffinity/args.h"
#include "scheduler/plugins/loadawarescheduling/args.h"
#include "scheduler/plugins/nodenumaresource/args.h"
#include "scheduler/plugins/noderesources/args.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/schedulinghint/args.h"
#include "scheduler/plugins/volumebinding/args.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::World;

std::string configuration(const std::string& profile) {
  return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: "
         "[" +
         profile + "]\n";
}

// The line of one extension point.
std::string orderAt(const std::string& profile, const std::string& point) {
  World world;
  const auto problems = world.configure(makeRegistry(), configuration(profile));
  EXPECT_THAT(problems, ElementsAre());
  if (!problems.empty()) return "";
  const std::string text = "\n" + describePlugins(world.profile());
  const auto at = text.find("\n" + point + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + point.size() + 3;
  return text.substr(begin, text.find('\n', begin) - begin);
}

// Parses a plugin's arguments: none, and the explicit defaults of a written configuration.
template <class Args>
std::pair<Args, Args> absentAndWritten(const char* plugin) {
  std::vector<std::string> errors;
  Fields none(nullptr, "", errors);
  json::value document = argsInForce(plugin, nullptr);
  for (const char* head : {"apiVersion", "kind"}) document.as_object().erase(head);
  Fields written(&document, "", errors);
  std::pair<Args, Args> both{Args::read(none), Args::read(written)};
  EXPECT_THAT(errors, ElementsAre()) << plugin;
  return both;
}

TEST(Profile, written_defaults_of_arguments_are_those_in_force) {
  const auto volumes = absentAndWritten<VolumeBindingArgs>("VolumeBinding");
  EXPECT_EQ(volumes.first.bindTimeout, volumes.second.bindTimeout);
  const auto preemption = absentAndWritten<DefaultPreemptionArgs>("DefaultPreemption");
  EXPECT_EQ(preemption.first.minCandidateNodesPercentage,
            preemption.second.minCandidateNodesPercentage);
  EXPECT_EQ(preemption.first.minCandidateNodesAbsolute,
            preemption.second.minCandidateNodesAbsolute);
  const auto affinity = absentAndWritten<InterPodAffinityArgs>("InterPodAffinity");
  EXPECT_EQ(affinity.first.hardPodAffinityWeight, affinity.second.hardPodAffinityWeight);
  EXPECT_EQ(affinity.first.ignorePreferredTermsOfExistingPods,
            affinity.second.ignorePreferredTermsOfExistingPods);
  const auto spread = absentAndWritten<PodTopologySpreadArgs>("PodTopologySpread");
  EXPECT_EQ(spread.first.defaulting, spread.second.defaulting);
  EXPECT_EQ(spread.first.constraints.size(), spread.second.constraints.size());
  const auto fit = absentAndWritten<NodeResourcesFitArgs>("NodeResourcesFit");
  EXPECT_EQ(fit.first.type, fit.second.type);
  EXPECT_EQ(fit.first.resources, fit.second.resources);
  EXPECT_EQ(fit.first.ignoredResources, fit.second.ignoredResources);
  const auto balanced =
      absentAndWritten<NodeResourcesBalancedAllocationArgs>("NodeResourcesBalancedAllocation");
  EXPECT_EQ(balanced.first.resources, balanced.second.resources);
  EXPECT_EQ(balanced.first.mode, balanced.second.mode);
  const auto load = absentAndWritten<LoadAwareSchedulingArgs>("LoadAwareScheduling");
  EXPECT_EQ(load.first.filterExpiredNodeMetrics, load.second.filterExpiredNodeMetrics);
  EXPECT_EQ(load.first.nodeMetricExpirationSeconds, load.second.nodeMetricExpirationSeconds);
  EXPECT_EQ(load.first.resourceWeights, load.second.resourceWeights);
  EXPECT_EQ(load.first.usageThresholds, load.second.usageThresholds);
  EXPECT_EQ(load.first.estimatedScalingFactors, load.second.estimatedScalingFactors);
  const auto numa = absentAndWritten<NodeNUMAResourceArgs>("NodeNUMAResource");
  EXPECT_EQ(numa.first.defaultCPUBindPolicy, numa.second.defaultCPUBindPolicy);
  EXPECT_EQ(numa.first.scoringStrategy, numa.second.scoringStrategy);
  EXPECT_EQ(numa.first.numaScoringStrategy, numa.second.numaScoringStrategy);
  const auto devices = absentAndWritten<DeviceShareArgs>("DeviceShare");
  EXPECT_EQ(devices.first.scoringStrategy, devices.second.scoringStrategy);
  EXPECT_EQ(devices.first.templates.configMapNamespace,
            devices.second.templates.configMapNamespace);
  EXPECT_EQ(devices.first.templates.configMapName, devices.second.templates.configMapName);
  EXPECT_EQ(devices.first.templates.matchedResources, devices.second.templates.matchedResources);
  const auto hint = absentAndWritten<SchedulingHintArgs>("SchedulingHint");
  EXPECT_EQ(hint.first.maxHintNodes, hint.second.maxHintNodes);
}

TEST(Profile, arguments_in_force_are_filled_in_as_upstream_does) {
  const auto inForce = [](const char* plugin, const char* args) {
    json::value full = argsInForce(plugin, *parseJson(args));
    EXPECT_EQ(textAt(full, "kind"), std::string(plugin) + "Args");
    for (const char* head : {"apiVersion", "kind"}) full.as_object().erase(head);
    return full;
  };
  const auto load = inForce("LoadAwareScheduling",
                            R"({"usageThresholds": {}, "estimatedScalingFactors": {"gpu": 50}})");
  EXPECT_EQ(toJson(*at(load, "usageThresholds")), R"({"cpu":65,"memory":95})");
  EXPECT_EQ(toJson(*at(load, "estimatedScalingFactors")), R"({"gpu":50,"cpu":85,"memory":70})");
  EXPECT_EQ(toJson(*at(load, "resourceWeights")), R"({"cpu":1,"memory":1})");
  EXPECT_FALSE(
      at(inForce("LoadAwareScheduling", R"({"dominantResourceWeight": 5})"), "resourceWeights"));
  const auto reservation = inForce("Reservation", R"({"gcDurationSeconds": 0})");
  EXPECT_EQ(toJson(*at(reservation, "gcDurationSeconds")), "86400");
  const auto quota =
      inForce("ElasticQuota", R"({"quotaGroupNamespace": "", "monitorAllQuotas": true})");
  EXPECT_EQ(textAt(quota, "quotaGroupNamespace"), "koordinator-system");
  EXPECT_EQ(textAt(quota, "defaultQuotaGroupMax", "cpu"), "1844674407370955161");
  EXPECT_EQ(toJson(*at(quota, "monitorAllQuotas")), "true");
  EXPECT_EQ(textAt(inForce("Coscheduling", "{}"), "defaultTimeout"), "10m0s");
}

// The configuration for koord-scheduler in deploy/.
std::string deployedConfiguration() {
  const auto text = readFile(KOORD_DEPLOY "/manifests/scheduler-config.yaml");
  const auto documents = parseYamlDocuments(*text);
  return std::string(textAt(documents->front(), "data", "koord-scheduler-config"));
}

TEST(Profile, the_shipped_configuration_loads_as_it_is) {
  const auto deployed = parseConfiguration(deployedConfiguration());
  const auto shipped = parseConfiguration(shippedConfiguration({"koord-scheduler"}));
  ASSERT_TRUE(deployed) << deployed.error().message;
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_EQ(toJson(configurationDocument(*deployed, Secrets::Written)),
            toJson(configurationDocument(*shipped, Secrets::Written)));
  World world;
  EXPECT_THAT(world.configure(makeRegistry(), deployedConfiguration()), ElementsAre());
}

TEST(Profile, the_shipped_configuration_has_plugins_in_upstreams_order) {
  World world;
  ASSERT_THAT(world.configure(makeRegistry(), deployedConfiguration()), ElementsAre());
  const Profile& profile = world.profile();
  const auto names = [](const auto& list) {
    std::vector<std::string> result;
    for (const auto& extension : list) result.push_back(extension.name);
    return result;
  };
  // In this order; Kubernetes' own plugins come first.
  const auto expectLast = [&](const auto& list, const std::vector<std::string>& expected) {
    auto last = names(list);
    ASSERT_GE(last.size(), expected.size());
    last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(expected.size()));
    EXPECT_EQ(last, expected);
  };
  expectLast(profile.preFilter, {"SchedulingHint", "Reservation", "NodeNUMAResource", "DeviceShare",
                                 "Coscheduling", "ElasticQuota"});
  expectLast(profile.filter,
             {"LoadAwareScheduling", "NodeNUMAResource", "DeviceShare", "Reservation"});
  expectLast(profile.postFilter,
             {"Reservation", "Coscheduling", "ElasticQuota", "DefaultPreemption"});
  expectLast(profile.reserve, {"LoadAwareScheduling", "NodeNUMAResource", "DeviceShare",
                               "Reservation", "Coscheduling", "ElasticQuota"});
  expectLast(profile.preBind,
             {"NodeNUMAResource", "DeviceShare", "Reservation", "Coscheduling", "DefaultPreBind"});
  expectLast(profile.bind, {"Reservation", "DefaultBinder"});
  EXPECT_EQ(profile.queueSort.front().name, "PrioritySort");
}

TEST(Profile, every_profile_writes_what_prebind_plugins_want) {
  auto read = parseConfiguration(configuration(
      "{schedulerName: a}, {schedulerName: b, plugins: {preBind: {disabled: [{name: "
      "DefaultPreBind}]}}}, {schedulerName: c, plugins: {preBind: {disabled: [{name: '*'}]}}}, "
      "{schedulerName: d, plugins: {preBind: {enabled: [{name: DefaultPreBind}, {name: "
      "VolumeBinding}]}}}"));
  ASSERT_TRUE(read) << read.error().message;
  appendDefaultPreBind(*read);
  appendDefaultPreBind(*read);
  const auto enabled = [&](std::size_t i) {
    std::vector<std::string> names;
    for (const auto& plugin : read->profiles[i].plugins.at("preBind").enabled)
      names.push_back(plugin.name);
    return names;
  };
  EXPECT_THAT(enabled(0), ElementsAre("DefaultPreBind"));
  EXPECT_THAT(enabled(1), ElementsAre());
  EXPECT_THAT(enabled(2), ElementsAre());
  EXPECT_THAT(enabled(3), ElementsAre("DefaultPreBind", "VolumeBinding"));
}

TEST(Profile, plugins_are_in_the_order_that_upstream_has) {
  struct Row {
    const char* profile;
    const char* point;
    const char* order;
  };
  for (const Row& row : {
           Row{"{}", "filter",
               "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
               "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
               "InterPodAffinity DynamicResources NodeDeclaredFeatures"},
           Row{"{}", "score",
               "TaintToleration(3) NodeAffinity(2) NodeResourcesFit(1) "
               "PodTopologySpread(2) InterPodAffinity(2) DynamicResources(2) "
               "NodeResourcesBalancedAllocation(1) ImageLocality(1)"},
           Row{"{}", "preEnqueue", "SchedulingGates DynamicResources DefaultPreemption"},
           // A plugin that overrides a multiPoint plugin comes first.
           Row{"{plugins: {filter: {enabled: [{name: NodeAffinity}]}}}", "filter",
               "NodeAffinity NodeUnschedulable NodeName TaintToleration NodePorts NodeResourcesFit "
               "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
               "InterPodAffinity DynamicResources NodeDeclaredFeatures"},
           Row{"{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, "
               "weight: "
               "10}]}}}",
               "score", "NodeResourcesFit(10)"},
           Row{"{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
               "{name: "
               "NodeResourcesFit, weight: 4}, {name: NodeName}, {name: DefaultBinder}]}}}",
               "filter", "NodeResourcesFit NodeName DynamicResources"},
           Row{"{plugins: {multiPoint: {disabled: [{name: TaintToleration}], enabled: [{name: "
               "TaintToleration, weight: 7}]}, score: {disabled: [{name: NodeAffinity}]}}}",
               "score",
               "NodeResourcesFit(1) PodTopologySpread(2) InterPodAffinity(2) DynamicResources(2) "
               "NodeResourcesBalancedAllocation(1) ImageLocality(1) TaintToleration(7)"},
           // As upstream: an explicit list takes no weights from the defaults.
           Row{"{plugins: {score: {enabled: [{name: TaintToleration}, {name: NodeAffinity, weight: "
               "5}]}}}",
               "score",
               "TaintToleration(1) NodeAffinity(5) NodeResourcesFit(1) PodTopologySpread(2) "
               "InterPodAffinity(2) DynamicResources(2) NodeResourcesBalancedAllocation(1) "
               "ImageLocality(1)"},
           Row{"{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}}", "postFilter",
               "DynamicResources"},
       }) {
    EXPECT_EQ(orderAt(row.profile, row.point), row.order) << row.profile;
  }
}

struct Wrong {
  const char* profile;
  const char* problem;
};
constexpr Wrong kWrong[] = {
    {"{plugins: {filter: {enabled: [{name: Nothing}]}}}",
     "profiles[0].plugins.filter: filter \"Nothing\" does not exist"},
    {"{plugins: {multiPoint: {enabled: [{name: Nothing}]}}}",
     "profiles[0].plugins.multiPoint: multiPoint \"Nothing\" does not exist"},
    {"{plugins: {score: {enabled: [{name: NodeName}]}}}",
     "profiles[0].plugins.score: plugin \"NodeName\" does not extend score plugin"},
    {"{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}",
     "profiles[0].plugins.filter: plugin \"NodeName\" already registered as \"filter\""},
    {"{plugins: {queueSort: {disabled: [{name: '*'}]}}}",
     "profiles[0]: only one queue sort plugin required for profile with scheduler name "
     "\"default-scheduler\", but got 0"},
    {"{plugins: {bind: {disabled: [{name: '*'}]}}}",
     "profiles[0]: at least one bind plugin is needed for profile with scheduler name "
     "\"default-scheduler\""},
    {"{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}",
     "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in "
     "valid range [0-100]"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}",
     "args.scoringStrategy.type: Unsupported value: \"Best\""},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: "
     "[{name: cpu, "
     "weight: 101}]}}}]}",
     "args.scoringStrategy.resources[0].weight: Invalid value: 101"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
     "RequestedToCapacityRatio}}}]}",
     "args.scoringStrategy.requestedToCapacityRatio: Required value"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
     "RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, "
     "score: 1}, "
     "{utilization: 50, score: 2}]}}}}]}",
     "shape[1].utilization: Invalid value: utilization values must be sorted in "
     "increasing "
     "order"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: [a/b]}}]}",
     "args.ignoredResourceGroups[0]: Invalid value: resource group name can't contain "
     "'/'"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: ['a b']}}]}",
     "args.ignoredResources[0]: Invalid value: \"a b\": "},
    {"{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: "
     "cpu, "
     "weight: 2}, {name: cpu}]}}]}",
     "args.resources[0].weight: Invalid value: 2: resource weight must be 1"},
    {"{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, "
     "topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}",
     "args.defaultingType: Invalid value: \"System\": when .defaultConstraints are "
     "specified"},
    {"{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, "
     "minCandidateNodesAbsolute: 0}}]}",
     "cannot be zero at the same time as minCandidateNodesAbsolute"},
    {"{plugins: {permit: {enabled: [{name: LoadAwareScheduling}]}}}",
     "profiles[0].plugins.permit: plugin \"LoadAwareScheduling\" does not extend permit "
     "plugin"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {nodeMetricExpirationSeconds: "
     "0}}]}",
     "args.nodeMetricExpirationSeconds: Invalid value: 0: must be at least 1"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {usageThresholds: {cpu: 101}}}]}",
     "args.usageThresholds.cpu: Invalid value: 101: not in valid range [0-100]"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {usageThresholds: {cpu: 101}}}]}",
     "args.usageThresholds.cpu: Invalid value: 101: not in valid range [0-100]"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {resourceWeights: {cpu: 1, gpu: "
     "1}}}]}",
     "args.estimatedScalingFactors: Not found: \"gpu\", which resourceWeights names"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {estimatedScalingFactors: {cpu: "
     "0}}}]}",
     "args.estimatedScalingFactors.cpu: Invalid value: 0: not in valid range [1-100]"},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {estimator: best}}]}",
     "args.estimator: Unsupported value: \"best\""},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {aggregated: "
     "{usageAggregationType: p42, usageAggregatedDuration: -1s}}}]}",
     "args.aggregated.usageAggregationType: Unsupported value: \"p42\""},
    {"{pluginConfig: [{name: LoadAwareScheduling, args: {aggregated: "
     "{scoreAggregatedDuration: -1s}}}]}",
     "args.aggregated.scoreAggregatedDuration: Invalid value: must not be negative"},
    {"{pluginConfig: [{name: NodeNUMAResource, args: {defaultCPUBindPolicy: Best}}]}",
     "args.defaultCPUBindPolicy: Unsupported value: \"Best\""},
    {"{pluginConfig: [{name: NodeNUMAResource, args: {numaScoringStrategy: {}}}]}",
     "args.numaScoringStrategy.type: numa scoring strategy  is not supported"},
    {"{pluginConfig: [{name: NodeNUMAResource, args: {scoringStrategy: {type: Balanced}}}]}",
     "args.scoringStrategy.type: scoring strategy Balanced is not supported"},
    {"{pluginConfig: [{name: DeviceShare, args: {scoringStrategy: {type: MostAllocated, "
     "resources: [{name: gpu, weight: 101}]}}}]}",
     "args.scoringStrategy.resources[0].weight: Invalid value: 101"},
    {"{pluginConfig: [{name: DeviceShare, args: {gpuShareUnsupportedModels: [{maker: "
     "a}]}}]}",
     "args.gpuShareUnsupportedModels[0].maker: unknown field"},
    {"{pluginConfig: [{name: NodeResourcesFitPlus, args: {resources: {cpu: {weigth: "
     "1}}}}]}",
     "args.resources.cpu.weigth: unknown field"},
    {"{pluginConfig: [{name: ScarceResourceAvoidance, args: {resources: gpu}}]}",
     "args.resources: expected a list"},
    {"{pluginConfig: [{name: SchedulingHint, args: {maxHintNodes: 0}}]}",
     "args.maxHintNodes: Invalid value: 0"},
    {"{pluginConfig: [{name: Coscheduling, args: {kind: GangArgs}}]}",
     "args.kind: Invalid value: \"GangArgs\": must be CoschedulingArgs"},
    {"{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}",
     "args.bindTimeoutSeconds: Invalid value: -1"},
    {"{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: "
     "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
     "[{matchExpressions: [{key: a, operator: Near}]}]}}}}]}",
     "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: "},
    {"{pluginConfig: [{name: VolumeBinding, args: {x: 1}}]}",
     "profiles[0].pluginConfig[0].args.x: unknown field"},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}",
     "args.scoringStrategy.type: Unsupported value: \"\""},
    {"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: ['a b']}}]}",
     "args.ignoredResourceGroups[0]: Invalid value: \"a b\": "},
    {"{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
     "defaultConstraints: [{maxSkew: 1, topologyKey: a b, whenUnsatisfiable: "
     "DoNotSchedule}]}}]}",
     "args.defaultConstraints[0].topologyKey: Invalid value: \"a b\": "},
};

TEST(Profile, problems_are_told_by_their_field) {
  for (const Wrong& row : kWrong) {
    World world;
    std::string problems;
    for (const auto& problem : world.configure(makeRegistry(), configuration(row.profile)))
      problems += problem + "\n";
    EXPECT_THAT(problems, HasSubstr(row.problem)) << row.profile;
  }
}

}  // namespace
}  // namespace koord::scheduler
