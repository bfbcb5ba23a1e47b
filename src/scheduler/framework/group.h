#pragma once

// Groups: pods that are placed together or not at all, and the plugins that say where to look first.
//
// The queue hands out a pod together with all of its group that are ready. They are placed one after
// the other, each seeing those before it, counted and with everything reserved; then the plugin
// judges. If it is content all of them go on to be bound, each by itself; if not, everything is
// taken back as if nothing had happened, and the next domain of nodes is tried, or all of them wait.
// A pod without a group is a group of one, which is judged by having found a node.
//
// Of a group that was refused, the first member that found no node waits for what its rejectors
// say would help, and may preempt. The others wait for it, or for what the plugin registered for.
//
// Pods of a group do not stand in each other's way with nodes they were promised by preemption.

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

// How far a group has come in one domain of nodes.
struct GroupOutcome {
  struct Failed {
    PodPtr pod;
    std::string reason;  // in words, as its condition says it
  };
  std::span<const PodPtr> placed;  // counted on their nodes
  std::span<const Failed> failed;  // in the order in which they were tried
  std::span<const PodPtr> untried;
};

// A part of the cluster for a whole group.
struct GroupDomain {
  NodeSet nodes;  // only these
  // Likewise, for each member one of them; kNoNode: none, the member is left out. Empty: any of them.
  std::vector<NodeId> places;
};

struct GroupPlan {
  // In the order in which they are tried; empty: one of all nodes.
  std::vector<GroupDomain> domains;
  // Other than Success: there is no place for the group, as the diagnosis says. Nobody is searched a
  // node; the first member fails with it.
  Status status;
  Diagnosis diagnosis;
};

class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;
  // "" for a pod that stands alone. Must be fast, and follow from the pod's object alone: it is asked
  // whenever the pod is put into the queue or changes there.
  virtual std::string groupOf(const PodInfo& pod) const = 0;
  virtual bool sameGroup(const PodInfo& a, const PodInfo& b) const {
    const std::string group = groupOf(a);
    return !group.empty() && group == groupOf(b);
  }
  // As people know it.
  virtual std::string nameOf(const std::string& group) const { return group; }
  // Whether a pod of a group needs the others now; if not it is placed as if it stood alone.
  virtual bool together(const PodInfo& /*pod*/) const { return true; }
  // The groups that are placed in one cycle with this one, itself included.
  virtual std::vector<std::string> placedWith(const std::string& group) const { return {group}; }
  // Before a node is searched for anybody: other than Success ends the cycle, and all are told.
  virtual Status begin(const std::string& /*group*/, std::span<const PodPtr> /*members*/) {
    return {};
  }
  // The order in which they are tried, as positions; empty: as they are, by the queue's order.
  virtual std::vector<std::size_t> orderOf(const std::string& /*group*/,
                                           std::span<const PodPtr> /*members*/) const {
    return {};
  }
  // Where the whole group may be placed. Reports about failures come from the last domain that was
  // tried.
  virtual GroupPlan planOf(const std::string& /*group*/, std::span<const PodPtr> /*members*/) {
    return {};
  }
  // After a member that found no node: whether it makes sense to go on with those that are left. If
  // not, they are not tried, and judge() must refuse.
  virtual bool goesOn(const std::string& /*group*/, const GroupOutcome& /*soFar*/) { return true; }
  // Whether the members go on, now that these have a place and those have none. Success: those that
  // have one are bound. Wait: they keep it, and Permit plugins have told them what they wait for.
  // Anything else is what the ones that are taken back are told.
  virtual Status judge(const std::string& group, const GroupOutcome& outcome) = 0;
  // What a member that was refused with its group is promised, because preemption for the group has
  // just made room for all of them.
  virtual Nomination nominationOf(const PodInfo& /*pod*/) const { return {}; }
  // Groups that have all their members, but no place for them.
  virtual std::size_t waitingGroups() const { return 0; }
};

// Looks ahead for one pod, after its PreFilter. A profile's plugins are asked in the order of the
// configuration, until one has a plan.
class PlanPlugin {
 public:
  virtual ~PlanPlugin() = default;
  struct Plan {
    Status status;              // Skip: no plan; a rejection or an error ends the attempt
    std::vector<NodeId> only;   // with Success: only these nodes, e.g. the one that was planned
    std::vector<NodeId> first;  // tried first, in this order; a pod that fits none looks everywhere
  };
  virtual Plan plan(CycleState& state, const PodPtr& pod) = 0;
};

// Judges a pod by something that pods on nodes use up (a quota). PreFilter says it first; this is
// asked again wherever pods come and go in a what-if question, so that preemption knows whether its
// victims are enough.
class AdmitPlugin {
 public:
  virtual ~AdmitPlugin() = default;
  // As if the pod went to this node, where it is not counted.
  virtual Status admit(const CycleState& state, const PodPtr& pod, NodeId node) const = 0;
  // What its answers rest on besides the pod's class and the pods of the one node that a what-if
  // question is about, as bytes: equal bytes, equal answers. Dry runs are kept for as long as it is the
  // same, so it should say how much room there is rather than how it came about. nullopt: it cannot be
  // told, nothing is kept.
  virtual std::optional<std::string> admitKey(const PodInfo& /*pod*/) const { return std::nullopt; }
};

}  // namespace koord::scheduler
