#pragma once

// PreemptionRules: what one kind of preemption allows. Kubernetes' own may evict any pod of lower
// priority. A quota's may evict pods of the same quota only, and must be satisfied afterwards.

#include <span>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/status.h"
#include "scheduler/framework/unit.h"

namespace koord::scheduler {

// Returns true if the pod terminates because a scheduler preempted it.
bool terminatesByPreemption(const api::Pod& pod);

class PreemptionRules {
 public:
  static constexpr const char* kNever = "not eligible due to preemptionPolicy=Never.";

  virtual ~PreemptionRules() = default;
  // Why the unit may not preempt; "" if it may.
  virtual std::string preemptionBlockedReason(const PodInfo& preemptor) const;
  static bool neverPreempts(const PodInfo& preemptor);
  // Returns true if a preemptor that is nominated for the node waits for this pod of lower priority
  // there. It always waits for pods that terminate because of a preemption.
  virtual bool waitsFor(const PodInfo& /*other*/, const PodInfo& /*preemptor*/) const {
    return false;
  }
  // Returns true if the object behind the unit can be evicted at all, under any rules.
  static bool isEvictable(const PodInfo& victim) {
    return !victim.kind || victim.kind->mayBeEvicted(victim);
  }
  virtual bool mayBePreempted(const PodInfo& victim, const PodInfo& preemptor) const {
    return victim.priority < preemptor.priority && isEvictable(victim);
  }
  // Checks whether the preemptor can have the node in the current state. Called in addition to
  // filters and Admit plugins after each change of a dry run.
  virtual Status admits(const PodInfo& /*preemptor*/, NodeId /*node*/) const { return {}; }
  // Returns true if answers depend only on the victim, the preemptor's priority and class, and the
  // node: outcomes are then kept for the next pod of the class.
  virtual bool outcomesAreReusable() const { return true; }
  // The cost of a node's victims in a job's preemption; the cheapest nodes are used.
  virtual std::int64_t cost(NodeId /*node*/, std::span<const PodPtr> victims) const {
    return static_cast<std::int64_t>(victims.size());
  }
  // The message for a node without possible victims.
  virtual std::string noVictims(const PodInfo& /*preemptor*/, const std::string& /*node*/) const {
    return "No preemption victims found for incoming pod";
  }
};

}  // namespace koord::scheduler
