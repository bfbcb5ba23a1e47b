#pragma once

// Runs all simulated nodes of a cluster: every Node that carries KWOK's mark, whoever made it. Such
// nodes are Ready and renew their lease; pods on them go Running, succeed after their delay, go
// away when they are deleted; a NodeMetric reports what they use. An actor on the executor of its
// Api.

#include <map>
#include <set>
#include <string>

#include "api/slo.h"
#include "base/task.h"
#include "cluster/simnode/kwok.h"
#include "cluster/simnode/node_shape.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class SimNodes {
 public:
  // The informers are shared with others and cover all nodes and all pods.
  SimNodes(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
           kube::Informer<api::Pod>& pods, Random random);

  void start();
  // Makes the nodes NAME-0 ... NAME-<count-1> where they are missing, and of each what koordlet would
  // say of its CPUs and devices. What was made before stays as it is; what is missing of it is added.
  Task<Result<>> createNodes(int count, SimNodeShape shape);
  std::size_t size() const { return nodesByName_.size(); }

 private:
  struct SimNode {
    std::string ip;
    std::set<api::ObjectKey> pods;
    SteadyTime reportAt{};
  };

  void nodeSeen(const api::Node& node);
  void podSeen(const api::Pod& pod);
  void podGone(const api::Pod& pod);
  Task<Result<>> syncNode(std::string name);
  Task<Result<>> syncPod(std::string key);
  Task<Result<>> createParts(std::shared_ptr<const SimNodeShape> shape, std::string node,
                             std::string uid);
  Task<Result<>> setStatus(std::shared_ptr<const api::Pod> pod, std::string phase);
  Task<void> renewLeases();
  Task<void> reportMetrics();
  Task<Result<>> reportMetric(std::string name);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::NodeMetric> metrics_;
  std::map<std::string, SimNode> nodesByName_;
  std::set<api::ObjectKey>
      restored_;  // pods whose node is back: their status is looked at once more
  std::uint32_t nextPodIp_ = 1;
  kube::WorkQueue nodeQueue_;
  kube::WorkQueue podQueue_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
