#pragma once

// JobPlan: who would have to leave for all pods of a group to find a node at once.
//
// 1. Everybody who may leave for the group leaves, on all of the nodes in question.
// 2. The members are placed one after the other, each on the cheapest node that takes it (or where a placer
//    puts them), with what plugins would give it there (framework/tentative.h); the cost of a node is what
//    the rules say its victims are worth. If one finds no node that the job cannot do without, preemption
//    cannot help: nothing that a smaller set of victims frees is more than this.
// 3. Victims come back, the most important first, as long as the members on their node still fit
//    there; those whose disruption budget forbids an eviction come back before all others. Nodes
//    that no member uses get all of theirs back.
// 4. If some member may not be placed then (AdmitPlugin: its quota is used up by those who are back), they
//    come back once more, one by one through the whole cluster, as long as all members may be. Some who
//    have to leave may then be where no member goes.
//
// Everything happens inside a transaction of the Cluster, which is rolled back at the end. The cost
// is one search per member and one check per victim on the nodes that are used; where a quota is short,
// besides that a question to it for each pod that may leave.

#include <functional>
#include <map>

#include "scheduler/framework/handle.h"
#include "scheduler/preemption/budgets.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

struct JobPlan {
  Status status;   // Success, or why nobody's leaving would help
  PodPtr stopped;  // of a failure: the member that found no node, if one did
  struct Place {
    PodPtr member;
    NodeId node = kNoNode;
  };
  std::vector<Place> places;  // in the order of the members; not of those left out
  std::map<NodeId, std::vector<PodPtr>> victims;  // most important first; by their node
};

using JobCost = std::function<std::int64_t(NodeId)>;
// Chooses nodes for all members at once, in their order, when those who may leave are gone; kNoNode for one
// that is left out.
using JobPlacer = std::function<Result<std::vector<NodeId>>(std::span<const PodPtr> members,
                                                            const JobCost& cost)>;

// Whether the job can do without this member, which found no node, and all for which it said so before.
using JobSpare = std::function<bool(const PodInfo& member)>;

// `members` are pods of one profile, the handle's, which are on no node. During an attempt only.
JobPlan planJob(Handle& handle, const PreemptionRules& rules, std::span<const PodPtr> members,
                const NodeSet& nodes, const JobPlacer& placer = {}, const JobSpare& spare = {});

}  // namespace koord::scheduler
