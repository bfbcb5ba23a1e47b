#pragma once

// JobPlan: the victims whose eviction lets all pods of a group find a node at once.
//
// 1. All pods that may be victims of the group are removed from all of the nodes in question.
// 2. The members are placed one after the other, each on the cheapest node that accepts it (or
//    where a placer puts them), with tentative grants of the plugins (framework/tentative.h). The
//    rules compute the cost of a node from its victims. If a required member finds no node,
//    preemption cannot help: fewer victims free nothing more.
// 3. Victims are restored, the most important first, as long as the members on their node still fit
//    there. Those whose eviction would violate a disruption budget are restored before all others.
//    Nodes without members get all their victims back.
// 4. If a member is not admitted then (AdmitPlugin: the restored pods use up its quota), the
//    victims are removed again and restored one by one through the whole cluster, as long as all
//    members are admitted. Some victims may then be on nodes without members.
//
// All of this runs inside a transaction of the Cluster, which is rolled back. The cost is one
// search per member and one check per victim on the nodes that are used. With a short quota, there
// is also one call of admit() for each possible victim.

#include <functional>
#include <map>

#include "scheduler/framework/handle.h"
#include "scheduler/preemption/budgets.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

struct JobPlan {
  Status status;   // Success, or why evictions would not help
  PodPtr stopped;  // on failure: the member that found no node, if any
  struct Place {
    PodPtr member;
    NodeId node = kNoNode;
  };
  std::vector<Place> places;  // in the order of the members, without those left out
  std::map<NodeId, std::vector<PodPtr>> victims;  // by node; most important first
};

using JobCost = std::function<std::int64_t(NodeId)>;
// Chooses nodes for all members at once, in their order, with all possible victims removed. kNoNode
// for a member that is left out.
using JobPlacer = std::function<Result<std::vector<NodeId>>(std::span<const PodPtr> members,
                                                            const JobCost& cost)>;

// Returns true if the job can start without this member, which found no node, and without all
// earlier ones for which it returned true.
using JobSpare = std::function<bool(const PodInfo& member)>;

// `members` are pods without a node, of the handle's profile. Call only during an attempt.
JobPlan planJob(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members,
                const NodeSet& nodes, const JobPlacer& placer = {}, const JobSpare& spare = {});

}  // namespace koord::scheduler
