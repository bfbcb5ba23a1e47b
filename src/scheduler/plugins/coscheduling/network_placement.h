#pragma once

// NetworkPlacement: which nodes the members of a gang go to, so that they are where in the network the
// gang wants them. How many members each node would take is tried out: the members are put onto it
// one after the other, with what plugins would give them, until one does not fit; all of that is
// taken back. The rest is arithmetic (network/planner.h).
//
// A node is tried without the members that other nodes would take: a plan may break rules of theirs
// that span nodes. So there are several plans, of which the group's cycle keeps the first that holds,
// and places that the members may be searched nodes in when none does.
//
// Cost: two filterings of the nodes that take the first member, and one for each further place on them.

#include <functional>

#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/group.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/coscheduling/gang_spec.h"
#include "scheduler/plugins/coscheduling/network_topology.h"

namespace koord::scheduler {

struct NetworkWish {
  const std::vector<NetworkGather>& rules;
  std::span<const PodPtr> members;            // in their order
  std::vector<bool> needed;                   // of them, those that the gang cannot do without
  std::optional<NodeId> with;                 // where a member is already
  std::function<std::int64_t(NodeId)> score;  // may be empty: all alike
};

class NetworkPlacement {
 public:
  NetworkPlacement(Handle& handle, NetworkTopology& network) : handle_(handle), network_(network) {}

  struct Answer {
    // Each with a node for every member; kNoNode: it is left out. All of them, or else the needed ones.
    std::vector<std::vector<NodeId>> plans;
    // Where members may be placed one by one if no plan holds; none where they come in multiples.
    std::vector<NodeSet> scopes;
    // Why there are none.
    Status status;
    Diagnosis diagnosis;
  };
  // During an attempt only.
  Answer plan(const NetworkWish& wish);

 private:
  class Trial;
  static Answer plansFor(const NetworkWish& wish, const NetworkTree& tree,
                         std::span<const NetworkOffer> offers, NetworkDemand& demand);
  Answer refused(Status status, Diagnosis diagnosis = {}) const;

  Handle& handle_;
  NetworkTopology& network_;
};

// By network-topology-index, those without one last, then by name.
bool networkOrder(const PodInfo& a, const PodInfo& b);

}  // namespace koord::scheduler
