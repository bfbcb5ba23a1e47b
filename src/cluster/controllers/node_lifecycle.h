#pragma once

// Handles nodes that are not ready, and their pods. Taints follow the conditions of a node:
// not-ready or unreachable (NoSchedule and NoExecute), pressure and unschedulable (NoSchedule). A
// node that stops renewing its Lease becomes unreachable and its pods not ready. Pods that do not
// tolerate a NoExecute taint are deleted, at once or after their tolerationSeconds.
//
// If no node of the cluster is ready, there is nowhere for the pods to go, and they stay. If most
// nodes of a zone fail, pods are evicted from one node after the other (DisruptionZones).
//
// A node without a Lease is judged by its conditions only, and a node without a Ready condition is
// ignored: users create such nodes by hand to test a scheduler.

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
// This controller's taints for the node's conditions.
api::List<api::Taint> conditionTaints(const api::Node& node);
// When the pod must be evicted from a node with these taints; nullopt if it may stay. `seen`: the
// start time for taints without timeAdded.
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
  // Counts a changed node. If the number of ready nodes becomes or stops being zero, updates all
  // other nodes.
  void nodeCounted(const api::Node* before, const api::Node* after);
  // The taints for the node's conditions, without those that the rate limit delays.
  api::List<api::Taint> taintsWithinRate(const api::Node& node);
  void onPod(const PodPtr& pod);
  Task<Result<>> syncNode(std::string name);
  Task<Result<>> setTaints(NodePtr node);
  Task<Result<>> setUnreachable(NodePtr node);
  Task<void> heartbeat();
  // Returns true if this program itself was suspended until now. All leases then count as renewed.
  bool wasPaused();
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
  SteadyTime lastHeartbeat_{};                 // when this program last ran
  // When a pod that must be evicted was first seen, by uid. Taints that users set have no start
  // time.
  std::map<std::string, WallTime> evictionSeen_;
  kube::WorkQueue nodeQueue_;
  kube::WorkQueue podQueue_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
