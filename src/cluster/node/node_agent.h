#pragma once

// What every node of a one-machine cluster, host or simulated, reports to the API server: the Ready
// condition, the pressure conditions, and the lease in kube-node-lease.

#include <string>
#include <vector>

#include "api/core.h"
#include "base/task.h"
#include "kube/api.h"

namespace koord::cluster {

inline constexpr Duration kNodeLeaseDuration = std::chrono::seconds(40);
inline constexpr Duration kNodeLeaseRenewal = std::chrono::seconds(10);
// How often unchanged conditions get a new lastHeartbeatTime.
inline constexpr Duration kNodeStatusPeriod = std::chrono::minutes(5);

// The resources under pressure.
struct NodePressures {
  bool memory = false;
  bool disk = false;
  bool pid = false;
  bool operator==(const NodePressures&) const = default;
};

// The Ready condition (or not, with a reason) and the pressure conditions. Transition times of
// unchanged conditions stay.
api::List<api::NodeCondition> nodeConditions(const api::List<api::NodeCondition>& before,
                                             WallTime now, bool ready, std::string reason,
                                             std::string message, NodePressures pressures = {});

// Renews the node's lease, or creates it.
Task<Result<>> renewNodeLease(kube::Api& api, std::string nodeName, WallTime now);

}  // namespace koord::cluster
