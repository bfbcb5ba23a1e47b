#include "manager/controllers.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/cpu_ratios.h"
#include "manager/noderesource/device_resources.h"
#include "manager/noderesource/mid_resource.h"

namespace koord::manager {

std::vector<std::string> missingParts(const ManagerOptions& options) {
  std::vector<std::string> lines;
  const auto missing = [&](std::string_view what, const std::vector<std::string>& asked,
                           std::span<const std::string_view> present) {
    std::vector<std::string> names;
    for (const auto& name : asked) {
      const bool plain = name != "*" && !name.empty() && !name.starts_with('-');
      if (plain && std::ranges::find(present, name) == present.end()) names.push_back(name);
    }
    if (!names.empty())
      lines.push_back(fmt::format("unsupported {}: {}", what, fmt::join(names, ", ")));
  };
  missing("controllers", options.controllers, kControllers);
  missing("plugins of noderesource", options.nodeResourcePlugins, kNodeResourcePlugins);
  if (const auto gates = options.gates.missingRequested(); !gates.empty())
    lines.push_back(
        fmt::format("enabled feature gates of features that this version does not have: {}",
                    fmt::join(gates, ", ")));
  return lines;
}

std::vector<std::unique_ptr<Plugin>> makePlugins(const std::vector<std::string>& selection,
                                                 const FeatureGates& gates) {
  std::vector<std::unique_ptr<Plugin>> plugins;
  const auto on = [&](std::string_view name) { return isSelected(selection, name); };
  if (on("CPUNormalization")) plugins.push_back(std::make_unique<CpuNormalizationPlugin>());
  if (on("ResourceAmplification")) plugins.push_back(std::make_unique<ResourceAmplification>());
  if (on("MidResource")) plugins.push_back(std::make_unique<MidResource>());
  if (on("BatchResource")) plugins.push_back(std::make_unique<BatchResource>());
  if (on("GPUDeviceResource"))
    plugins.push_back(
        std::make_unique<GpuDeviceResource>(gates.enabled("EnableSyncGPUSharedResource")));
  if (on("RDMADeviceResource")) plugins.push_back(std::make_unique<RdmaDeviceResource>());
  return plugins;
}

Controllers::Controllers(kube::Api& api, Executor& executor, Random& random,
                         const ManagerOptions& options, Metrics& metrics)
    : events_(api, executor, "koord-manager", random.fork()),
      config_(api, executor, events_, options.configNamespace, options.sloConfigName,
              random.fork()),
      nodes_(api, executor, {}, random.fork()),
      nodeMetrics_(api, executor, {}, random.fork()),
      nodeSlos_(api, executor, {}, random.fork()),
      pods_(api, executor, {options.watchNamespace, "", ""}, random.fork()) {
  const auto on = [&](std::string_view name) { return isSelected(options.controllers, name); };
  if (on("nodemetric")) nodeMetric_.emplace(api, executor, nodes_, nodeMetrics_, config_, metrics);
  if (on("nodeslo")) nodeSlo_.emplace(api, executor, nodes_, nodeSlos_, config_, events_, metrics);
  if (on("noderesource"))
    nodeResource_.emplace(api, executor, nodes_, nodeMetrics_, pods_, config_, metrics,
                          random.fork(), makePlugins(options.nodeResourcePlugins, options.gates),
                          options.nodeResource);
  if (on("quotaprofile"))
    quotaProfile_.emplace(api, executor, nodes_, events_, metrics, random.fork(),
                          options.profilesOwnQuotas);
  if (on("colocationprofile") && options.gates.enabled("ColocationProfileController"))
    colocationProfile_.emplace(api, executor, pods_, metrics, random.fork(),
                               options.colocationProfile);
  if (on("profileaudit"))
    profileAudit_.emplace(api, executor, pods_, events_, metrics, random.fork());
  if (on("recommender") && options.gates.enabled("Recommender"))
    recommender_.emplace(api, executor, pods_, nodeMetrics_, metrics, random.fork());
}

void Controllers::start() {
  config_.start();
  nodes_.start();
  if (nodeMetric_ || nodeResource_ || recommender_) nodeMetrics_.start();
  if (nodeSlo_) nodeSlos_.start();
  if (nodeResource_ || colocationProfile_ || profileAudit_ || recommender_) pods_.start();
  if (nodeResource_) nodeResource_->start();
  if (quotaProfile_) quotaProfile_->start();
  if (colocationProfile_) colocationProfile_->start();
  if (profileAudit_) profileAudit_->start();
  if (recommender_) recommender_->start();
}

}  // namespace koord::manager
