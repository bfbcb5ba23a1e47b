// How a profile's plugins come together, with the plugins that there are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/config/plugin_args.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/plugins/interpodaffinity/args.h"
#include "scheduler/plugins/noderesources/args.h"
#include "scheduler/plugins/podtopologyspread/args.h"
#include "scheduler/plugins/registry.h"
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

// Reads a plugin's arguments: none, and those that a written configuration has for none.
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
               "InterPodAffinity"},
           Row{"{}", "score",
               "TaintToleration(3) NodeAffinity(2) NodeResourcesFit(1) "
               "PodTopologySpread(2) InterPodAffinity(2) NodeResourcesBalancedAllocation(1) "
               "ImageLocality(1)"},
           Row{"{}", "preEnqueue", "SchedulingGates DefaultPreemption"},
           // What overrides a multiPoint plugin comes first.
           Row{"{plugins: {filter: {enabled: [{name: NodeAffinity}]}}}", "filter",
               "NodeAffinity NodeUnschedulable NodeName TaintToleration NodePorts NodeResourcesFit "
               "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread "
               "InterPodAffinity"},
           Row{"{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, "
               "weight: "
               "10}]}}}",
               "score", "NodeResourcesFit(10)"},
           Row{"{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
               "{name: "
               "NodeResourcesFit, weight: 4}, {name: NodeName}, {name: DefaultBinder}]}}}",
               "filter", "NodeResourcesFit NodeName"},
           Row{"{plugins: {multiPoint: {disabled: [{name: TaintToleration}], enabled: [{name: "
               "TaintToleration, weight: 7}]}, score: {disabled: [{name: NodeAffinity}]}}}",
               "score",
               "NodeResourcesFit(1) PodTopologySpread(2) InterPodAffinity(2) "
               "NodeResourcesBalancedAllocation(1) ImageLocality(1) TaintToleration(7)"},
           Row{"{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}}", "postFilter",
               ""},
       }) {
    EXPECT_EQ(orderAt(row.profile, row.point), row.order) << row.profile;
  }
}

TEST(Profile, problems_are_told_by_their_field) {
  struct Row {
    const char* profile;
    const char* problem;
  };
  for (const Row& row : {
           Row{"{plugins: {filter: {enabled: [{name: Nothing}]}}}",
               "profiles[0].plugins.filter: filter \"Nothing\" does not exist"},
           Row{"{plugins: {multiPoint: {enabled: [{name: Nothing}]}}}",
               "profiles[0].plugins.multiPoint: multiPoint \"Nothing\" does not exist"},
           Row{"{plugins: {score: {enabled: [{name: NodeName}]}}}",
               "profiles[0].plugins.score: plugin \"NodeName\" does not extend score plugin"},
           Row{"{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}",
               "profiles[0].plugins.filter: plugin \"NodeName\" already registered as \"filter\""},
           Row{"{plugins: {queueSort: {disabled: [{name: '*'}]}}}",
               "profiles[0]: only one queue sort plugin required for profile with scheduler name "
               "\"default-scheduler\", but got 0"},
           Row{"{plugins: {bind: {disabled: [{name: '*'}]}}}",
               "profiles[0]: at least one bind plugin is needed for profile with scheduler name "
               "\"default-scheduler\""},
           Row{"{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}",
               "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in "
               "valid range [0-100]"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}",
               "args.scoringStrategy.type: Unsupported value: \"Best\""},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: "
               "[{name: cpu, "
               "weight: 101}]}}}]}",
               "args.scoringStrategy.resources[0].weight: Invalid value: 101"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
               "RequestedToCapacityRatio}}}]}",
               "args.scoringStrategy.requestedToCapacityRatio: Required value"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
               "RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, "
               "score: 1}, "
               "{utilization: 50, score: 2}]}}}}]}",
               "shape[1].utilization: Invalid value: utilization values must be sorted in "
               "increasing "
               "order"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: [a/b]}}]}",
               "args.ignoredResourceGroups[0]: Invalid value: resource group name can't contain "
               "'/'"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: ['a b']}}]}",
               "args.ignoredResources[0]: Invalid value: \"a b\": "},
           Row{"{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: "
               "cpu, "
               "weight: 2}, {name: cpu}]}}]}",
               "args.resources[0].weight: Invalid value: 2: resource weight must be 1"},
           Row{"{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, "
               "topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}",
               "args.defaultingType: Invalid value: \"System\": when .defaultConstraints are "
               "specified"},
           Row{"{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, "
               "minCandidateNodesAbsolute: 0}}]}",
               "cannot be zero at the same time as minCandidateNodesAbsolute"},
           Row{"{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}",
               "args.bindTimeoutSeconds: Invalid value: -1"},
           Row{"{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: "
               "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
               "[{matchExpressions: [{key: a, operator: Near}]}]}}}}]}",
               "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: "},
           Row{"{pluginConfig: [{name: VolumeBinding, args: {x: 1}}]}",
               "profiles[0].pluginConfig[0].args.x: unknown field"},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]}",
               "args.scoringStrategy.type: Unsupported value: \"\""},
           Row{"{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: ['a b']}}]}",
               "args.ignoredResourceGroups[0]: Invalid value: \"a b\": "},
           Row{"{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
               "defaultConstraints: [{maxSkew: 1, topologyKey: a b, whenUnsatisfiable: "
               "DoNotSchedule}]}}]}",
               "args.defaultConstraints[0].topologyKey: Invalid value: \"a b\": "},
       }) {
    World world;
    std::string problems;
    for (const auto& problem : world.configure(makeRegistry(), configuration(row.profile)))
      problems += problem + "\n";
    EXPECT_THAT(problems, HasSubstr(row.problem)) << row.profile;
  }
}

}  // namespace
}  // namespace koord::scheduler
