#pragma once

// What a DaemonSet does next: pure functions from the set, its pods and the nodes to the pods that
// go, the nodes that get one, and the status. daemon_set.cc acts on them.
//
// Every node that the template selects and tolerates is to have one pod of the current template.
// Each node is looked at by itself: none there, one is made (once the one that leaves is gone); one
// of an older template there, it counts as outdated; several there, the oldest stays. Which of the
// outdated go now is decided over all nodes at the end: pods that do not work go at once, of the
// others as many as the strategy leaves room for. With maxSurge the new pod is made beside the old
// one, which goes when the new one is available.
//
// A taint of NoSchedule keeps new pods off a node and leaves those that run there alone.
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

// The label of a pod with the hash of the template that it was made from.
inline constexpr const char* kDaemonHashLabel = "controller-revision-hash";

struct DaemonPods {
  std::map<std::string, std::vector<PodPtr>> byNode;
  std::set<std::string> leaving;  // nodes whose pod has to go before there is another
  std::set<std::string> hashes;   // of the templates that they were made from
};
// The pods of a set by the node they are for, also before the scheduler has bound them.
DaemonPods sortByNode(std::vector<PodPtr> pods);

struct DaemonPlan {
  api::DaemonSetStatus status;
  std::vector<PodPtr> remove;
  // That have failed or succeeded, by the node they are for: each goes for another to come, which
  // the caller paces.
  std::vector<std::pair<std::string, PodPtr>> ended;
  std::vector<std::string> create;  // nodes
  // When the next pod becomes available by its age alone: time to plan again.
  std::optional<Duration> again;
};
// hash: of the set's template as it is now. Fails when the template is not one of a pod.
Result<DaemonPlan> planDaemons(const api::DaemonSet& set, const std::string& hash, DaemonPods pods,
                               const Nodes& nodes, WallTime now);

// The pod of a DaemonSet for one node: tied to it by node affinity, and tolerant of what a node
// that is not ready is tainted with.
json::value daemonPod(const json::value& podTemplate, const std::string& node,
                      const std::string& hash);

}  // namespace koord::cluster
