#pragma once

// DeschedulerConfiguration (descheduler/v1alpha2), read and defaulted.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/election_config.h"

namespace koord::descheduler {

inline constexpr std::string_view kConfigApiVersion = "descheduler/v1alpha2";
inline constexpr std::string_view kExtensionPoints[] = {"deschedule", "balance", "evict", "filter"};

struct PluginRef {
  std::string name;
  std::string path;  // "profiles[0].plugins.evict.enabled[1]"; "" = by default
};

struct PluginArgs {
  std::string name;
  json::value args;  // without apiVersion and kind; null if absent
  std::string path;  // "profiles[0].pluginConfig[1].args"
};

struct ProfileConfig {
  std::string name;
  json::value nodeSelector;  // meta/v1 LabelSelector; null = all nodes
  // Merged with the defaults, in execution order.
  std::vector<PluginRef> deschedule;
  std::vector<PluginRef> balance;
  std::vector<PluginRef> evict;
  std::vector<PluginRef> filter;
  std::vector<PluginArgs> pluginConfig;
  std::string path;  // "profiles[0]"

  const std::vector<PluginRef>& at(std::string_view point) const;
  std::vector<PluginRef>& at(std::string_view point);
};

// Koordinator's own lease, the default of the configuration.
inline kube::ElectionConfig defaultElection() {
  return {.resourceName = "koord-descheduler", .resourceNamespace = "koordinator-system"};
}

struct DeschedulerConfiguration {
  kube::ElectionConfig leaderElection = defaultElection();
  std::string kubeconfig;
  std::string acceptContentTypes;
  std::string contentType = "application/vnd.kubernetes.protobuf";
  double qps = 50;
  std::int32_t burst = 100;
  bool enableProfiling = true;
  bool enableContentionProfiling = true;
  std::string healthzBindAddress = "0.0.0.0:10251";  // port 0: not served
  std::string metricsBindAddress = "0.0.0.0:10251";
  Duration interval{};  // deschedulingInterval; 0 = one cycle
  bool dryRun = false;
  json::value nodeSelector;
  std::optional<std::uint32_t> maxPerNode;
  std::optional<std::uint32_t> maxPerNamespace;
  std::optional<std::uint32_t> maxTotal;
  std::vector<ProfileConfig> profiles;
};

// The configuration without --config: one profile, with MigrationController as evict and filter
// plugin.
DeschedulerConfiguration defaultConfiguration();
// Reads YAML or JSON strictly and fills in the defaults. Returns the readable parts and every
// problem by field path. Does not check plugins and their arguments: framework/prepare.h does.
DeschedulerConfiguration readConfiguration(std::string_view text, std::vector<std::string>& errors);
// Checks that need the whole configuration; also for configurations changed by flags.
std::vector<std::string> validate(const DeschedulerConfiguration& configuration);
// The configuration as a descheduler/v1alpha2 document. Arguments are as in pluginConfig.
json::value configurationDocument(const DeschedulerConfiguration& configuration);
std::string writeConfiguration(const DeschedulerConfiguration& configuration);

}  // namespace koord::descheduler
