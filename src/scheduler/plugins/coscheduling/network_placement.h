#pragma once

// NetworkPlacement: plans the nodes of a gang's members by the gang's requirements on the network.
// It finds out by trial how many members each node can take: it adds members to the node one after
// the other, with what plugins would allocate to them, until one does not fit, and reverts
// everything. The rest is arithmetic (network/planner.h).
//
// Each node is tried alone, without the members that other nodes would take, so a plan may break
// rules that span nodes. Therefore the answer has several plans, of which the group's cycle uses
// the first that works, and the nodes to search member by member if no plan works.
//
// Cost: two filter runs over the nodes that take the first member, and one for each further member
// on them.

#include <functional>

#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/group.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/coscheduling/gang_spec.h"
#include "scheduler/plugins/coscheduling/network_topology.h"

namespace koord::scheduler {

struct NetworkRequest {
  const std::vector<NetworkGather>& rules;
  std::span<const PodPtr> members;            // in their order
  std::vector<bool> needed;                   // of them, the members that the gang requires
  std::optional<NodeId> with;                 // the node of a member that is already placed
  std::function<std::int64_t(NodeId)> score;  // may be empty: all nodes are equal
};

class NetworkPlacement {
 public:
  NetworkPlacement(Handle& handle, NetworkTopology& network) : handle_(handle), network_(network) {}

  struct Answer {
    // Each has a node for every member; kNoNode: the member is left out. Plans have all members, or
    // else the needed ones.
    std::vector<std::vector<NodeId>> plans;
    // The nodes to search member by member if no plan works; empty if members come in multiples.
    std::vector<NodeSet> scopes;
    // Why there are no plans.
    Status status;
    Diagnosis diagnosis;
  };
  // Call during an attempt only.
  Answer plan(const NetworkRequest& request);

 private:
  class Trial;
  static Answer plansFor(const NetworkRequest& request, const NetworkTree& tree,
                         std::span<const NetworkOffer> offers, NetworkDemand& demand);
  Answer refused(Status status, Diagnosis diagnosis = {}) const;

  Handle& handle_;
  NetworkTopology& network_;
};

// By network-topology-index, pods without an index last, then by name.
bool networkOrder(const PodInfo& a, const PodInfo& b);

}  // namespace koord::scheduler
