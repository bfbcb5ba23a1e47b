#pragma once

// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1; v1beta2 and v1beta3 are read as v1,
// with a warning), read and defaulted.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/election_config.h"

namespace koord::scheduler {

struct PluginRef {
  std::string name;
  std::int64_t weight = 0;  // 0 = not given
  bool operator==(const PluginRef&) const = default;
};
struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<std::string> disabled;  // "*" = all
};

// The names of the extension points, as in the configuration, without multiPoint.
inline constexpr std::string_view kExtensionPoints[] = {
    "preEnqueue", "queueSort", "preFilter", "filter",  "postFilter", "preScore",
    "score",      "reserve",   "permit",    "preBind", "bind",       "postBind"};

struct PluginArgs {
  std::string name;
  json::value args;
  std::string path;  // the field path of the args in the file
};

struct ProfileConfig {
  std::string schedulerName;
  std::optional<std::int32_t> percentageOfNodesToScore;
  std::map<std::string, PluginSet, std::less<>> plugins;  // by extension point, and multiPoint
  std::vector<PluginArgs> pluginConfig;
  std::string path;  // "profiles[0]"
};

// The lease of kube-scheduler, unless the configuration says otherwise.
inline kube::ElectionConfig defaultElection() {
  return {.resourceName = "kube-scheduler", .resourceNamespace = "kube-system"};
}

// An HTTP service that judges nodes in addition to the plugins (scheduler extender).
struct ExtenderConfig {
  std::string urlPrefix;
  std::string filterVerb;  // for each verb: "" = not called
  std::string preemptVerb;
  std::string prioritizeVerb;
  std::string bindVerb;
  std::int64_t weight = 0;  // of its scores
  bool enableHttps = false;
  struct Tls {
    bool insecure = false;
    std::string serverName;
    std::string certFile;
    std::string keyFile;
    std::string caFile;
    std::string certData;  // base64 of PEM, as in the file; overrides the files
    std::string keyData;
    std::string caData;
    bool operator==(const Tls&) const = default;
  } tls;
  Duration httpTimeout = std::chrono::seconds(5);
  bool nodeCacheCapable = false;  // it gets the names of nodes only
  struct ManagedResource {
    std::string name;
    bool ignoredByScheduler = false;
  };
  std::vector<ManagedResource> managedResources;  // empty = it is called for every pod
  bool ignorable = false;                         // its failures do not fail the pod
  std::string path;                               // "extenders[0]"
};

struct SchedulerConfiguration {
  std::int32_t parallelism = 16;  // accepted; the engine needs no worker threads
  kube::ElectionConfig leaderElection = defaultElection();
  std::string kubeconfig;
  std::string acceptContentTypes;
  std::string contentType = "application/vnd.kubernetes.protobuf";
  double qps = 50;
  std::int32_t burst = 100;
  bool enableProfiling = true;
  bool enableContentionProfiling = true;
  std::int32_t percentageOfNodesToScore = 0;  // 0 = all nodes
  std::int64_t podInitialBackoffSeconds = 1;
  std::int64_t podMaxBackoffSeconds = 10;
  std::vector<ProfileConfig> profiles;
  std::vector<ExtenderConfig> extenders;
  bool delayCacheUntilActive = false;
  std::vector<std::string> warnings;  // accepted input that should be changed, by field path
};

// The configuration without --config: one profile, default-scheduler.
SchedulerConfiguration defaultConfiguration();

// Reads YAML or JSON strictly. The error lists every problem, one per line, by field path.
Result<SchedulerConfiguration> parseConfiguration(std::string_view text);
// The same, for callers that continue to validate: the parts that could be read, and the errors.
SchedulerConfiguration readConfiguration(std::string_view text, std::vector<std::string>& errors);
// The effective configuration as KubeSchedulerConfiguration v1, with the defaults of plugins. Leave
// out secrets for readers that must not see keys.
enum class Secrets { Written, LeftOut };
json::value configurationDocument(const SchedulerConfiguration& configuration, Secrets secrets);
// The same as YAML; read again, it gives the same configuration.
std::string writeConfiguration(const SchedulerConfiguration& configuration);
// Validates the configuration as a whole, e.g. after flags changed it.
std::vector<std::string> validate(const SchedulerConfiguration& configuration);

// The plugins that every profile has by default.
const std::vector<PluginRef>& defaultPlugins();
// Merges a user's changes into a set of defaults: disabled plugins are removed, plugins that are
// enabled again replace the default in its position, others are appended.
std::vector<PluginRef> mergePlugins(const std::vector<PluginRef>& defaults, const PluginSet& user);

// Like upstream's program: every profile gets the plugin DefaultPreBind, unless it has it or
// disables it.
void appendDefaultPreBind(SchedulerConfiguration& configuration);

// The configuration that Koordinator ships (deploy/manifests/scheduler-config.yaml), with a profile
// for each of these schedulers: plugins of Kubernetes and Koordinator. Nodes are also scored by
// batch resources, so that BE pods go where most of those are free.
std::string shippedConfiguration(const std::vector<std::string>& schedulerNames);

}  // namespace koord::scheduler
