#pragma once

// Groups: pods that are placed together or not at all, and the plugins that choose where to try
// first.
//
// The queue hands out a pod together with all ready members of its group. The members are placed
// one after the other. Each sees those before it, counted and with everything reserved. Then the
// plugin judges the outcome. If it accepts, each member is bound by itself. If not, everything is
// reverted and the next domain of nodes is tried, or all members wait. A pod without a group is a
// group of one, which is accepted if it found a node.
//
// In a rejected group, the first member that found no node waits for the events of its rejectors,
// and may preempt. The others wait for it, or for the events that the group plugin registered for.
//
// Nominations of members do not reserve resources against other members of the same group.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/nominator.h"
#include "scheduler/framework/queued_pod.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

// The state of a group in one domain of nodes.
struct GroupOutcome {
  struct Failed {
    PodPtr pod;
    std::string reason;  // as the pod's condition has it
  };
  std::span<const PodPtr> placed;  // counted on their nodes
  std::span<const Failed> failed;  // in the order in which they were tried
  std::span<const PodPtr> untried;
};

// A set of nodes for a whole group.
struct GroupDomain {
  NodeSet nodes;  // only these
  // A node of the set for each member; kNoNode: the member is left out. Empty: any of the nodes.
  std::vector<NodeId> places;
};

struct GroupPlan {
  // In the order in which they are tried; empty: one domain with all nodes.
  std::vector<GroupDomain> domains;
  // Not Success: there is no place for the group, as the diagnosis says. No node is searched; the
  // first member fails with this status.
  Status status;
  Diagnosis diagnosis;
};

class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;
  // "" for a pod without a group. Must be fast and depend on the pod's object only. Called whenever
  // the pod is added to the queue or changes there.
  virtual std::string groupOf(const PodInfo& pod) const = 0;
  virtual bool sameGroup(const PodInfo& a, const PodInfo& b) const {
    const std::string group = groupOf(a);
    return !group.empty() && group == groupOf(b);
  }
  // The group's name for users.
  virtual std::string nameOf(const std::string& group) const { return group; }
  // Returns true if the pod must currently be placed with its group; if false it is placed alone.
  virtual bool together(const PodInfo& /*pod*/) const { return true; }
  // The groups that are placed in one cycle with this group, including it.
  virtual std::vector<std::string> placedWith(const std::string& group) const { return {group}; }
  // Called before the search. Not Success: the cycle ends and all members fail with this status.
  virtual Status begin(const std::string& /*group*/, std::span<const PodPtr> /*members*/) {
    return {};
  }
  // The order in which the members are tried, as positions; empty: the queue's order.
  virtual std::vector<std::size_t> orderOf(const std::string& /*group*/,
                                           std::span<const PodPtr> /*members*/) const {
    return {};
  }
  // Where the whole group may be placed. Failures are reported from the last domain that was tried.
  virtual GroupPlan planOf(const std::string& /*group*/, std::span<const PodPtr> /*members*/) {
    return {};
  }
  // Called after a member that found no node. Returns true if the remaining members are to be
  // tried. If false, judge() must reject.
  virtual bool shouldContinue(const std::string& /*group*/, const GroupOutcome& /*soFar*/) {
    return true;
  }
  // Returns true if the group can start when exactly these members get a node in this cycle. Called
  // by the search for other placements of a refused group (core/group_search.h).
  virtual bool suffices(const std::string& /*group*/, std::span<const PodPtr> /*members*/) const {
    return true;
  }
  // Judges the outcome. Success: the placed members are bound. Wait: they keep their nodes, and
  // Permit plugins have set what they wait for. Any other status reverts the placed members and
  // becomes their status.
  virtual Status judge(const std::string& group, const GroupOutcome& outcome) = 0;
  // The nomination of a rejected member, if preemption for the group has just freed resources for
  // all members.
  virtual Nomination nominationOf(const PodInfo& /*pod*/) const { return {}; }
  // The number of groups that have all their members but no place.
  virtual std::size_t waitingGroups() const { return 0; }
};

// Plans ahead for one pod, after its PreFilter. The plugins of a profile are called in the order of
// the configuration until a plugin returns a plan.
class PlanPlugin {
 public:
  virtual ~PlanPlugin() = default;
  struct Plan {
    Status status;              // Skip: no plan; a rejection or an error ends the attempt
    std::vector<NodeId> only;   // with Success: only these nodes, e.g. the planned node
    std::vector<NodeId> first;  // tried first, in this order; a pod that fits none tries all nodes
  };
  virtual Plan plan(CycleState& state, const PodPtr& pod) = 0;
};

// Judges a pod by something that pods on nodes use up (a quota). PreFilter checks it first. admit()
// checks it again after a dry run adds or removes pods, so that preemption knows whether its
// victims are enough.
class AdmitPlugin {
 public:
  virtual ~AdmitPlugin() = default;
  // Judges the pod as if it were placed on this node. It is not counted there.
  virtual Status admit(const CycleState& state, const PodPtr& pod, NodeId node) const = 0;
  // What the answers depend on in addition to the pod's class and the pods of the dry run's node,
  // as bytes: equal bytes mean equal answers. Results of dry runs are kept while the key is the
  // same, so it should contain the free amount and not the usage behind it. nullopt: there is no
  // such key and nothing is kept.
  virtual std::optional<std::string> admitKey(const PodInfo& /*pod*/) const { return std::nullopt; }
};

}  // namespace koord::scheduler
