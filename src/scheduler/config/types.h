#pragma once

// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1; v1beta2 and v1beta3 are read as v1, with a
// warning), read and defaulted.

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

// The names of the extension points, as in the configuration, multiPoint not among them.
inline constexpr std::string_view kExtensionPoints[] = {
    "preEnqueue", "queueSort", "preFilter", "filter",  "postFilter", "preScore",
    "score",      "reserve",   "permit",    "preBind", "bind",       "postBind"};

struct PluginArgs {
  std::string name;
  json::value args;
  std::string path;  // where the args stand in the file
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

// An HTTP service that is asked about nodes beside the plugins (scheduler extender).
struct ExtenderConfig {
  std::string urlPrefix;
  std::string filterVerb;  // of each verb: "" = it is not asked for this
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
    std::string certData;  // base64 of PEM, as in the file; in front of the files
    std::string keyData;
    std::string caData;
    bool operator==(const Tls&) const = default;
  } tls;
  Duration httpTimeout = std::chrono::seconds(5);
  bool nodeCacheCapable = false;  // nodes are named to it, not shown
  struct ManagedResource {
    std::string name;
    bool ignoredByScheduler = false;
  };
  std::vector<ManagedResource> managedResources;  // empty = it is asked about every pod
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
  std::vector<std::string>
      warnings;  // what was read and should be written otherwise, by field path
};

// What runs without --config: one profile, default-scheduler.
SchedulerConfiguration defaultConfiguration();

// Reads YAML or JSON strictly. The error lists every problem, one per line, by field path.
Result<SchedulerConfiguration> parseConfiguration(std::string_view text);
// The same, for those who go on to look for more problems: what could be read, and the problems.
SchedulerConfiguration readConfiguration(std::string_view text, std::vector<std::string>& errors);
// The configuration in force as KubeSchedulerConfiguration v1, defaults of plugins included. Who is shown
// it need not be trusted with keys.
enum class Secrets { Written, LeftOut };
json::value configurationDocument(const SchedulerConfiguration& configuration, Secrets secrets);
// The same as YAML; read again, it gives the same configuration.
std::string writeConfiguration(const SchedulerConfiguration& configuration);
// Checks what can only be judged as a whole; for configurations changed by flags.
std::vector<std::string> validate(const SchedulerConfiguration& configuration);

// The plugins every profile has unless it says otherwise.
const std::vector<PluginRef>& defaultPlugins();
// A set of defaults with a user's changes: what is disabled goes, what is enabled again takes its
// default's place, everything else comes behind.
std::vector<PluginRef> mergePlugins(const std::vector<PluginRef>& defaults, const PluginSet& user);

// As upstream's program does with what it has read: every profile gets the plugin DefaultPreBind, unless it
// has it or disables it.
void appendDefaultPreBind(SchedulerConfiguration& configuration);

// The configuration that Koordinator ships (deploy/manifests/scheduler-config.yaml), with a profile for
// each of these schedulers: Kubernetes' plugins and Koordinator's, and nodes compared by batch resources
// as well, so that best-effort pods go where most of those is left.
std::string shippedConfiguration(const std::vector<std::string>& schedulerNames);

}  // namespace koord::scheduler
