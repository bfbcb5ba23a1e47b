#pragma once

// The next actions for a DaemonSet: pure functions from the set, its pods and the nodes to the pods
// to delete, the nodes that get a pod, and the status. daemon_set.cc carries them out.
//
// Every node that the template selects and tolerates must have one pod of the current template.
// Each node is examined separately. If it has no pod, one is created (after a terminating pod is
// gone). A pod of an older template counts as outdated. Of several pods the oldest stays. In the
// end the outdated pods to delete are chosen over all nodes: pods that are not ready at once, and
// as many others as the strategy allows. With maxSurge the new pod is created next to the old pod,
// which is deleted when the new pod is available.
//
// A NoSchedule taint keeps new pods off a node and does not affect its running pods.
//
// Cost: O(nodes + pods log pods of one node). Source: the rules of kube-controller-manager's daemon
// controller.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

using Nodes = kube::Informer<api::Node>::Objects;

// A pod's label with the hash of its template.
inline constexpr const char* kDaemonHashLabel = "controller-revision-hash";

struct DaemonPods {
  std::map<std::string, std::vector<PodPtr>> byNode;
  std::set<std::string> terminating;  // nodes with a terminating pod
  std::set<std::string> hashes;       // of the templates of the pods
};
// The pods of a set by their node, also before the scheduler has bound them.
DaemonPods sortByNode(std::vector<PodPtr> pods);

struct DaemonPlan {
  api::DaemonSetStatus status;
  std::vector<PodPtr> remove;
  // Failed or succeeded pods by their node. Each is deleted to be replaced; the caller applies the
  // back-off.
  std::vector<std::pair<std::string, PodPtr>> ended;
  std::vector<std::string> create;  // nodes
  // Time until the next pod becomes available by its age: plan again then.
  std::optional<Duration> again;
};
// hash: of the set's current template. Fails if the template is not a valid pod template.
Result<DaemonPlan> planDaemons(const api::DaemonSet& set, const std::string& hash, DaemonPods pods,
                               const Nodes& nodes, WallTime now);

// The pod of a DaemonSet for one node: bound to it by node affinity, and with tolerations for the
// taints of nodes that are not ready.
json::value daemonPod(const json::value& podTemplate, const std::string& node,
                      const std::string& hash);

}  // namespace koord::cluster
