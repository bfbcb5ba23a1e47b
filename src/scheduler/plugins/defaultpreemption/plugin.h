#pragma once

// DefaultPreemption: if no node fits a pod, finds a node that would fit without pods of lower
// priority, evicts those pods, and nominates the node.

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/preemption/pod_preemption.h"

namespace koord::scheduler {

class DefaultPreemption final : public Plugin,
                                public PreEnqueuePlugin,
                                public PostFilterPlugin,
                                public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "DefaultPreemption";
  DefaultPreemption(Handle& handle, const DefaultPreemptionArgs& args)
      : handle_(handle),
        cluster_(handle.cluster()),
        preemption_(handle, rules_, std::string(kName),
                    {args.minCandidateNodesPercentage, args.minCandidateNodesAbsolute}),
        evictions_(evictionsOf(handle)) {}
  std::string_view name() const override { return kName; }
  // Keeps the pod out of the active queue until its victims' evictions have been requested.
  Status preEnqueue(const PodInfo& pod) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // Asks extenders which of the candidates they accept.
  Task<PostFilterResult> confirm(PodPtr pod, std::vector<DryRunOutcomePtr> outcomes);

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules rules_;
  PodPreemption preemption_;
  Evictions& evictions_;
};

}  // namespace koord::scheduler
