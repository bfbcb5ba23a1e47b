#pragma once

// ClaimUsers: which nodes' pods use each PersistentVolumeClaim, and how many claims each node's
// pods use. Updated with every change, including those of a simulation.

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/node_amounts.h"
#include "scheduler/engine/pod_claims.h"

namespace koord::scheduler {

class ClaimUsers final : public ClusterListener {
 public:
  explicit ClaimUsers(Cluster& cluster) : cluster_(cluster) {
    for (const auto& record : cluster.pods()) change(record.node, *record.info, 1);
    cluster.addListener(*this);
  }

  // Returns true if a pod on an existing node uses the claim. Pods of a deleted node do not count.
  bool inUse(const std::string& namespace_, const std::string& claim) const {
    const auto it = users_.find(namespace_ + "/" + claim);
    return it != users_.end() && std::ranges::any_of(it->second, [&](NodeId node) {
             return cluster_.live().contains(node);
           });
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
      auto& nodes = users_[key];
      if (by > 0) {
        nodes.push_back(node);
      } else if (const auto it = std::ranges::find(nodes, node); it != nodes.end()) {
        nodes.erase(it);
      }
      if (nodes.empty()) users_.erase(key);
      uses_.add(node, by);
    }
  }

  Cluster& cluster_;
  std::unordered_map<std::string, std::vector<NodeId>> users_;  // the node of each
  NodeAmounts uses_;
};

}  // namespace koord::scheduler
