#pragma once

// What happens to nodes that do not work, and to the pods on them. Taints follow the conditions of
// a node: not-ready or unreachable (NoSchedule and NoExecute), pressure and unschedulable
// (NoSchedule). A node that stops renewing its Lease becomes unreachable and its pods not ready.
// Pods that do not tolerate a NoExecute taint are deleted, at once or after their
// tolerationSeconds.
//
// When no node of the cluster works, nobody knows where the pods should go: then they stay where
// they are. When most nodes of a zone fail they leave one node after the other (DisruptionZones).
//
// A node without a Lease is judged by its conditions only, and one without a Ready condition not at
// all: people make such nodes by hand to try a scheduler on them.

#include <map>
#include <set>

#include "api/core.h"
#include "cluster/controllers/disruption_zones.h"
#include "cluster/controllers/pod_index.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

bool sameTaints(const api::Node& a, const api::Node& b);
bool tolerates(const api::Toleration& toleration, const api::Taint& taint);
// The taints that belong to this controller, as the node's conditions want them.
api::List<api::Taint> conditionTaints(const api::Node& node);
// When the pod has to leave a node with these taints: nothing while it may stay. `seen` is for
// taints without timeAdded.
std::optional<WallTime> evictionTime(const api::Pod& pod, const api::List<api::Taint>& taints,
                                     WallTime seen);

class NodeLifecycleController {
 public:
  // The leases are those of kube-node-lease.
  NodeLifecycleController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                          kube::Informer<api::Lease>& leases, kube::Informer<api::Pod>& pods,
                          kube::EventRecorder& events);
  void start();

 private:
  using NodePtr = std::shared_ptr<const api::Node>;
  using PodPtr = std::shared_ptr<const api::Pod>;

  void nodeSeen(const NodePtr& node, bool taintsChanged);
  // Counts a node that changed; what this means for all others when it was the last that worked.
  void nodeCounted(const api::Node* before, const api::Node* after);
  // The taints that the node's conditions want, less those whose turn has not come.
  api::List<api::Taint> taintsInTurn(const api::Node& node);
  void podSeen(const PodPtr& pod);
  Task<Result<>> syncNode(std::string name);
  Task<Result<>> setTaints(NodePtr node);
  Task<Result<>> setUnreachable(NodePtr node);
  Task<void> beat();
  // Whether this program itself stood still until now. Then every lease is as good as renewed.
  bool wasAway();
  Task<Result<>> syncPod(std::string key);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<api::Lease>& leases_;
  kube::Informer<api::Pod>& pods_;
  PodIndex podsByNode_;
  DisruptionZones zones_;
  kube::EventRecorder& events_;
  std::map<std::string, SteadyTime> renewed_;  // by node: when its Lease was last seen to change
  SteadyTime beat_{};                          // when this program was last seen to run
  // By uid of a pod that has to leave some time: when that was first seen. Taints that people set
  // say not since when they are there.
  std::map<std::string, WallTime> leaving_;
  kube::WorkQueue nodeQueue_;
  kube::WorkQueue podQueue_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
