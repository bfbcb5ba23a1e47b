#pragma once

// Groups: pods that are placed together or not at all, and the plugins that say where to look first.
//
// The queue hands out a pod together with all of its group that are ready. They are placed one after
// the other, each seeing those before it, counted and with everything reserved; then the plugin
// judges. If it is content all of them go on to be bound, each by itself; if not, everything is
// taken back as if nothing had happened, and the next domain of nodes is tried, or all of them wait.
// A pod without a group is a group of one, which is judged by having found a node.
//
// Pods of a group do not stand in each other's way with nodes they were promised by preemption.

#include <span>
#include <string>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/framework/cycle_state.h"
#include "scheduler/framework/queued_pod.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class GroupPlugin {
 public:
  virtual ~GroupPlugin() = default;
  // "" for a pod that stands alone. Must be fast: it is asked whenever the pod is put into the queue
  // or changes there.
  virtual std::string groupOf(const PodInfo& pod) const = 0;
  // Sets of nodes that the whole group may be placed in, in the order in which they are tried; empty
  // = one set of all nodes. Reports about failures come from the last one that was tried.
  virtual std::vector<NodeSet> domainsOf(const std::string& /*group*/,
                                         std::span<const PodPtr> /*members*/) {
    return {};
  }
  // Whether the members go on, now that these have a place and those have none. Other than Success
  // is what the ones that are taken back are told.
  virtual Status judge(const std::string& group, std::span<const PodPtr> placed,
                       std::span<const PodPtr> failed) = 0;
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

// Judges a pod as a whole by something that pods on nodes use up (a quota). PreFilter says it first;
// this is asked again wherever pods come and go in a what-if question, so that preemption knows
// whether its victims are enough.
class AdmitPlugin {
 public:
  virtual ~AdmitPlugin() = default;
  virtual Status admit(const CycleState& state, const PodInfo& pod) const = 0;
};

}  // namespace koord::scheduler
