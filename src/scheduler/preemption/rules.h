#pragma once

// PreemptionRules: what one kind of preemption allows. Kubernetes' own takes any pod of lower
// priority; a quota takes pods of the same quota only, and needs to be satisfied afterwards.

#include <span>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"
#include "scheduler/framework/unit.h"

namespace koord::scheduler {

// Whether the pod leaves because a scheduler preempted it.
bool leavesByPreemption(const api::Pod& pod);

class PreemptionRules {
 public:
  static constexpr const char* kNever = "not eligible due to preemptionPolicy=Never.";

  virtual ~PreemptionRules() = default;
  // Why the unit may make nobody leave; "" when it may.
  virtual std::string mayNotPreempt(const PodInfo& preemptor) const;
  static bool neverPreempts(const PodInfo& preemptor);
  // Whether a preemptor that was promised the node of this lower pod waits for it, besides for those that
  // leave because of a preemption.
  virtual bool waitsFor(const PodInfo& /*other*/, const PodInfo& /*preemptor*/) const {
    return false;
  }
  // Whether what stands behind a unit can be sent away at all. For every rule.
  static bool canLeave(const PodInfo& victim) {
    return !victim.kind || victim.kind->mayBeEvicted(victim);
  }
  virtual bool mayLeave(const PodInfo& victim, const PodInfo& preemptor) const {
    return victim.priority < preemptor.priority && canLeave(victim);
  }
  // Asked besides filters and Admit plugins whenever pods come and go in a dry run: whether the
  // preemptor can have the node now.
  virtual Status admits(const PodInfo& /*preemptor*/, NodeId /*node*/) const { return {}; }
  // Whether answers depend on nothing but the victim, the preemptor's priority and class, and the
  // node: outcomes are kept for the next pod of the class then.
  virtual bool keepOutcomes() const { return true; }
  // Of a job's preemption: what the victims of a node are worth; the cheapest nodes are used.
  virtual std::int64_t cost(NodeId /*node*/, std::span<const PodPtr> victims) const {
    return static_cast<std::int64_t>(victims.size());
  }
  // What is said of a node that has nobody who may leave.
  virtual std::string noVictims(const PodInfo& /*preemptor*/, const std::string& /*node*/) const {
    return "No preemption victims found for incoming pod";
  }
};

}  // namespace koord::scheduler
