#pragma once

// What 'koordctl preflight' and 'koordctl doctor' look at, and what they say of it. Both are functions of what
// was read of a cluster: nothing is changed, nothing is waited for.

#include <optional>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/config.h"
#include "api/core.h"
#include "api/pod.h"
#include "api/slo.h"
#include "base/json.h"

namespace koord::koordctl {

struct Finding {
  enum class Level { Fine, Off, Warning, Problem };  // Off: a feature that is not switched on
  Level level = Level::Fine;
  std::string what;
  std::string advice;  // what to do; "" for what is fine
};

// What a kubelet said of the cgroups of its node.
struct NodeCgroups {
  std::string node;
  std::optional<int> version;  // older kubelets do not say
  std::string driver;          // cgroupfs or systemd
  std::string problem;         // why it could not be asked; "" = it was
};

// What was read. Of kinds that could not be read there is nothing, and `unread` says why.
struct ClusterPicture {
  WallTime now{};
  std::string version;  // of the API server: v1.30.2
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;
  std::vector<api::Namespace> namespaces;
  std::vector<api::PriorityClass> priorityClasses;
  std::vector<api::MutatingWebhookConfiguration> mutating;
  std::vector<api::ValidatingWebhookConfiguration> validating;
  std::vector<api::Lease> leases;  // of the system namespace
  std::vector<api::NodeMetric> nodeMetrics;
  std::vector<api::ClusterColocationProfile> profiles;
  std::vector<json::value> crds;
  std::vector<NodeCgroups> cgroups;  // of some nodes
  std::optional<api::ConfigMap> sloConfig;
  std::optional<api::ConfigMap> schedulerConfig;    // koord-scheduler-config
  std::optional<api::ConfigMap> deschedulerConfig;  // koord-descheduler-config
  std::optional<json::value> manager;               // the Deployment
  std::optional<json::value> scheduler;             // the Deployment
  std::optional<json::value> koordlet;              // the DaemonSet
  std::vector<std::string>
      unread;  // "nodemetrics: the server could not find the requested resource"
};

// Whether Koordinator can be installed here, and what it will meet.
std::vector<Finding> preflight(const ClusterPicture& picture);
// Whether all of it works, and which features are off.
std::vector<Finding> diagnose(const ClusterPicture& picture);
// Features of docs/features that are off as this cluster is configured, and how each is turned on. Of what was not
// read nothing is said.
std::vector<Finding> featuresOff(const ClusterPicture& picture);

// One line per finding, with its advice below it.
std::string findingsText(const std::vector<Finding>& findings);
bool hasProblem(const std::vector<Finding>& findings);

}  // namespace koord::koordctl
