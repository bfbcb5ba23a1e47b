#pragma once

// ClaimUsers: how many pods use each PersistentVolumeClaim, and how many claims each node's pods
// use. Kept current with every change, what-if changes included.

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/node_amounts.h"
#include "scheduler/engine/pod_claims.h"

namespace koord::scheduler {

class ClaimUsers final : public ClusterListener {
 public:
  explicit ClaimUsers(Cluster& cluster) {
    for (const auto& record : cluster.pods()) change(record.node, *record.info, 1);
    cluster.addListener(*this);
  }

  // Pods anywhere that use the claim.
  std::int64_t usersOf(const std::string& namespace_, const std::string& claim) const {
    const auto it = users_.find(namespace_ + "/" + claim);
    return it == users_.end() ? 0 : it->second;
  }
  // Uses of claims by pods on the node, every pod and claim counted.
  std::int64_t usesOn(NodeId node) const { return uses_.at(node); }

  void podAdded(NodeId node, const PodPtr& pod) override { change(node, *pod, 1); }
  void podRemoved(NodeId node, const PodPtr& pod) override { change(node, *pod, -1); }
  void nodeChanging(NodeId) override {}
  void nodeChanged(NodeId) override {}

 private:
  void change(NodeId node, const PodInfo& pod, std::int64_t by) {
    if (pod.pod->spec.volumes.empty()) return;
    for (const PodClaim& claim : claimsOf(*pod.pod)) {
      const std::string key = pod.pod->metadata.namespace_ + "/" + claim.name;
      if ((users_[key] += by) == 0) users_.erase(key);
      uses_.add(node, by);
    }
  }

  std::unordered_map<std::string, std::int64_t> users_;
  NodeAmounts uses_;
};

}  // namespace koord::scheduler
