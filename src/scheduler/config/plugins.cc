// The default plugins, and how a user's sets are merged with them.

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/config/types.h"

namespace koord::scheduler {

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
                                                {"DynamicResources", 0},
                                                {"DefaultPreemption", 0},
                                                {"NodeResourcesBalancedAllocation", 1},
                                                {"ImageLocality", 1},
                                                {"DefaultBinder", 0}};
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

std::string shippedConfiguration(const std::vector<std::string>& schedulerNames) {
  std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "leaderElection:\n"
      "  leaderElect: true\n"
      "  resourceLock: leases\n"
      "  resourceName: koord-scheduler\n"
      "  resourceNamespace: koordinator-system\n"
      "profiles:\n";
  for (const auto& name : schedulerNames) {
    text += fmt::format(
        "  - schedulerName: {}\n"
        "    plugins: {{multiPoint: {{enabled: [{{name: Coscheduling}}]}}}}\n"
        "    pluginConfig:\n"
        "      - name: NodeResourcesFit\n"
        "        args:\n"
        "          apiVersion: kubescheduler.config.k8s.io/v1\n"
        "          kind: NodeResourcesFitArgs\n"
        "          scoringStrategy:\n"
        "            type: LeastAllocated\n"
        "            resources:\n"
        "              - name: cpu\n"
        "                weight: 1\n"
        "              - name: memory\n"
        "                weight: 1\n"
        "              - name: kubernetes.io/batch-cpu\n"
        "                weight: 1\n"
        "              - name: kubernetes.io/batch-memory\n"
        "                weight: 1\n",
        name);
  }
  return text;
}

}  // namespace koord::scheduler
