// The default plugins, and how a user's sets are merged with them.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/config/shipped.h"
#include "scheduler/config/types.h"

namespace koord::scheduler {

namespace {

// The profile of Koordinator's configuration.
constexpr std::string_view kShippedProfile = R"(  plugins:
    preEnqueue: {enabled: [{name: Coscheduling}]}
    queueSort: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}]}
    preFilter:
      enabled:
      - {name: SchedulingHint}
      - {name: Reservation}
      - {name: NodeNUMAResource}
      - {name: DeviceShare}
      - {name: Coscheduling}
      - {name: ElasticQuota}
    filter:
      enabled:
      - {name: LoadAwareScheduling}
      - {name: NodeNUMAResource}
      - {name: DeviceShare}
      - {name: Reservation}
    postFilter:
      disabled: [{name: "*"}]
      enabled: [{name: Reservation}, {name: Coscheduling}, {name: ElasticQuota}, {name: DefaultPreemption}]
    preScore: {enabled: [{name: Reservation}, {name: Coscheduling}]}
    score:
      enabled:
      - {name: LoadAwareScheduling, weight: 1}
      - {name: NodeNUMAResource, weight: 1}
      - {name: DeviceShare, weight: 1}
      - {name: Reservation, weight: 5000}
      - {name: Coscheduling, weight: 1}
    reserve:
      enabled:
      - {name: LoadAwareScheduling}
      - {name: NodeNUMAResource}
      - {name: DeviceShare}
      - {name: Reservation}
      - {name: Coscheduling}
      - {name: ElasticQuota}
    permit: {enabled: [{name: Coscheduling}]}
    preBind:
      enabled:
      - {name: NodeNUMAResource}
      - {name: DeviceShare}
      - {name: Reservation}
      - {name: Coscheduling}
      - {name: DefaultPreBind}
    bind: {disabled: [{name: "*"}], enabled: [{name: Reservation}, {name: DefaultBinder}]}
    postBind: {enabled: [{name: Coscheduling}]}
  pluginConfig:
  - name: NodeResourcesFit
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        type: LeastAllocated
        resources:
        - {name: cpu, weight: 1}
        - {name: memory, weight: 1}
        - {name: kubernetes.io/batch-cpu, weight: 1}
        - {name: kubernetes.io/batch-memory, weight: 1}
  - name: LoadAwareScheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: LoadAwareSchedulingArgs
      filterExpiredNodeMetrics: false
      nodeMetricExpirationSeconds: 300
      resourceWeights: {cpu: 1, memory: 1}
@thresholds@
      estimatedScalingFactors: {cpu: 85, memory: 70}
  - name: ElasticQuota
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: ElasticQuotaArgs
      quotaGroupNamespace: koordinator-system
)";

constexpr std::string_view kNoThresholds = "      usageThresholds: {cpu: 0, memory: 0}";
// BE pods avoid nodes with high total usage; prod pods avoid nodes with high prod usage, because
// koordlet can reduce the CPU of BE pods.
constexpr std::string_view kThresholds = R"(      usageThresholds: {cpu: 65, memory: 95}
      prodUsageThresholds: {cpu: 65, memory: 95})";
constexpr std::string_view kGangs = R"(  - name: Coscheduling
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: CoschedulingArgs
      enablePreemption: true
      awareNetworkTopology: true
)";

std::string shippedProfile(Shipped which) {
  std::string text(kShippedProfile);
  constexpr std::string_view kPlace = "@thresholds@";
  text.replace(text.find(kPlace), kPlace.size(),
               which == Shipped::Recommended ? kThresholds : kNoThresholds);
  if (which != Shipped::Upstream) text += kGangs;
  return text;
}

}  // namespace

const std::vector<PluginRef>& defaultPlugins() {
  static const std::vector<PluginRef> kDefaults{{"SchedulingGates", 0},
                                                {"PrioritySort", 0},
                                                {"NodeUnschedulable", 0},
                                                {"NodeName", 0},
                                                {"TaintToleration", 3},
                                                {"NodeAffinity", 2},
                                                {"NodePorts", 0},
                                                {"NodeResourcesFit", 1},
                                                {"VolumeRestrictions", 0},
                                                {"NodeVolumeLimits", 0},
                                                {"VolumeBinding", 0},
                                                {"VolumeZone", 0},
                                                {"PodTopologySpread", 2},
                                                {"InterPodAffinity", 2},
                                                {"DynamicResources", 2},
                                                {"DefaultPreemption", 0},
                                                {"NodeResourcesBalancedAllocation", 1},
                                                {"ImageLocality", 1},
                                                {"DefaultBinder", 0},
                                                {"NodeDeclaredFeatures", 0}};
  return kDefaults;
}

std::vector<PluginRef> mergePlugins(const std::vector<PluginRef>& defaults, const PluginSet& user) {
  const auto disabled = [&](const std::string& name) {
    return std::ranges::find(user.disabled, name) != user.disabled.end() ||
           std::ranges::find(user.disabled, "*") != user.disabled.end();
  };
  std::vector<PluginRef> merged;
  std::vector<bool> used(user.enabled.size(), false);
  for (const PluginRef& plugin : defaults) {
    if (disabled(plugin.name)) continue;
    PluginRef entry = plugin;
    for (std::size_t i = user.enabled.size(); i-- > 0;) {
      if (user.enabled[i].name != plugin.name) continue;
      entry = user.enabled[i];
      used[i] = true;
      break;
    }
    merged.push_back(std::move(entry));
  }
  for (std::size_t i = 0; i < user.enabled.size(); ++i)
    if (!used[i]) merged.push_back(user.enabled[i]);
  return merged;
}

void appendDefaultPreBind(SchedulerConfiguration& configuration) {
  const std::string name = "DefaultPreBind";
  for (ProfileConfig& profile : configuration.profiles) {
    PluginSet& set = profile.plugins["preBind"];
    const bool unwanted = std::ranges::any_of(set.disabled, [&](const std::string& disabled) {
      return disabled == "*" || disabled == name;
    });
    if (!unwanted && std::ranges::find(set.enabled, name, &PluginRef::name) == set.enabled.end())
      set.enabled.push_back({name, 0});
  }
}

std::string shippedConfiguration(const std::vector<std::string>& schedulerNames, Shipped which) {
  std::string text = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceLock: leases
  resourceName: koord-scheduler
  resourceNamespace: koordinator-system
profiles:
)";
  for (const auto& name : schedulerNames)
    text += fmt::format("- schedulerName: {}\n{}", name, shippedProfile(which));
  return text;
}

std::string shippedConfiguration(const std::vector<std::string>& schedulerNames) {
  return shippedConfiguration(schedulerNames, Shipped::Upstream);
}

}  // namespace koord::scheduler
