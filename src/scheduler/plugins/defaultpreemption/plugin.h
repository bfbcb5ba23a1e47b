#pragma once

// DefaultPreemption: when no node fits a pod, finds one that would if pods of lower priority left,
// sends those away, and nominates the node.

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
  // Holds the pod back until its victims have been told to leave.
  Status preEnqueue(const PodInfo& pod) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // Asks extenders which of the candidates they agree to.
  Task<PostFilterResult> confirm(PodPtr pod, std::vector<DryRunOutcomePtr> outcomes);

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules rules_;
  PodPreemption preemption_;
  Evictions& evictions_;
};

}  // namespace koord::scheduler
