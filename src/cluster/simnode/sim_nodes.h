#pragma once

// Runs all simulated nodes of a cluster: every Node with KWOK's annotation or label. Such nodes are
// Ready and renew their lease. Pods on them become Running, succeed after their delay, and end when
// they are deleted; a NodeMetric reports their usage. An actor on the executor of its Api.

#include <map>
#include <set>
#include <string>

#include "api/slo.h"
#include "base/task.h"
#include "cluster/simnode/addresses.h"
#include "cluster/simnode/kwok.h"
#include "cluster/simnode/node_shape.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class SimNodes {
 public:
  // The informers are shared and cover all nodes and all pods.
  SimNodes(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
           kube::Informer<api::Pod>& pods, Random random);

  void start();
  // Creates the missing nodes of NAME-0 ... NAME-<count-1>, and for each the objects that koordlet
  // would write about its CPUs and devices. Existing objects do not change; missing ones are added.
  Task<Result<>> createNodes(int count, SimNodeShape shape);
  std::size_t size() const { return nodesByName_.size(); }

 private:
  struct SimNode {
    std::string ip;  // "" until its first sync
    std::set<api::ObjectKey> pods;
    SteadyTime reportAt{};
  };

  void nodeSeen(const api::Node& node);
  void onPod(const api::Pod& pod);
  void onPodDeleted(const api::Pod& pod);
  Task<Result<>> syncNode(std::string name);
  Task<Result<>> syncPod(std::string key);
  Task<Result<>> createNode(std::shared_ptr<const SimNodeShape> shape, int number);
  Task<Result<>> createParts(std::shared_ptr<const SimNodeShape> shape, std::string node,
                             std::string uid);
  Task<Result<>> setStatus(std::shared_ptr<const api::Pod> pod, std::string phase);
  Task<void> renewLeases();
  Task<void> renewLease(std::string name);
  Task<void> reportMetrics();
  Task<void> tryReportMetric(std::string name);
  Task<Result<>> reportMetric(std::string name);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::Informer<api::Pod>& pods_;
  kube::Informer<api::NodeMetric> metrics_;
  std::map<std::string, SimNode> nodesByName_;
  std::set<api::ObjectKey> restored_;  // pods whose node is back: check their status again
  Addresses podAddresses_{100};
  Addresses nodeAddresses_{200};
  kube::WorkQueue nodeQueue_;
  kube::WorkQueue podQueue_;
  TaskGroup tasks_;
};

}  // namespace koord::cluster
