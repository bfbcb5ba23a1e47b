#pragma once

// What every node of a one-machine cluster tells the API about itself, host node and simulated ones
// alike: the Ready condition and its pressure siblings, and the lease in kube-node-lease.

#include <string>
#include <vector>

#include "api/core.h"
#include "base/task.h"
#include "kube/api.h"

namespace koord::cluster {

inline constexpr Duration kNodeLeaseDuration = std::chrono::seconds(40);
inline constexpr Duration kNodeLeaseRenewal = std::chrono::seconds(10);
// How often conditions get a new lastHeartbeatTime when nothing changed.
inline constexpr Duration kNodeStatusPeriod = std::chrono::minutes(5);

// What the node runs short of.
struct NodePressures {
  bool memory = false;
  bool disk = false;
  bool pid = false;
  bool operator==(const NodePressures&) const = default;
};

// Ready (or not, with a reason), and what is short. Transition times of unchanged conditions stay.
api::List<api::NodeCondition> nodeConditions(const api::List<api::NodeCondition>& before,
                                             WallTime now, bool ready, std::string reason,
                                             std::string message, NodePressures pressures = {});

// Renews the node's lease, or makes it.
Task<Result<>> renewNodeLease(kube::Api& api, std::string nodeName, WallTime now);

}  // namespace koord::cluster
