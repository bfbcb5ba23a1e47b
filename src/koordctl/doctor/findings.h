#pragma once

// The checks of 'koordctl preflight' and 'koordctl doctor'. Both are functions of the state read
// from a cluster: they change nothing and do not wait.

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
  std::string advice;  // what to do; "" if fine
};

// A kubelet's report about the cgroups of its node.
struct NodeCgroups {
  std::string node;
  std::optional<int> version;  // older kubelets do not say
  std::string driver;          // cgroupfs or systemd
  std::string problem;         // why the kubelet could not be read; "" = it could
};

// The state read from the cluster. Kinds that could not be read are empty, and `unread` says why.
struct ClusterState {
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

// Checks whether Koordinator can be installed here, and what may conflict with it.
std::vector<Finding> preflight(const ClusterState& state);
// Checks that all components work, and lists the features that are off.
std::vector<Finding> diagnose(const ClusterState& state);
// Features of docs/features that are off in this cluster's configuration, and how to turn each on.
// Skips configuration that could not be read.
std::vector<Finding> featuresOff(const ClusterState& state);

// One line per finding, with its advice below it.
std::string findingsText(const std::vector<Finding>& findings);
bool hasProblem(const std::vector<Finding>& findings);

}  // namespace koord::koordctl
