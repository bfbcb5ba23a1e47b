#pragma once

// DefaultPreemption: when no node fits a pod, finds one that would if pods of lower priority left,
// sends those away, and nominates the node.

#include "base/random.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/defaultpreemption/args.h"
#include "scheduler/preemption/dry_run.h"
#include "scheduler/preemption/evictions.h"

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
        args_(args),
        random_(handle.random()),
        dryRun_(handle, rules_),
        evictions_(evictionsOf(handle)) {}
  std::string_view name() const override { return kName; }
  // Holds the pod back until its victims have been told to leave.
  Status preEnqueue(const PodInfo& pod) override;
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // The end of postFilter: sends the victims of the best candidate away.
  PostFilterResult preempt(const PodPtr& pod, std::span<const Candidate* const> candidates);
  Task<PostFilterResult> confirm(PodPtr pod, std::vector<DryRunOutcomePtr> outcomes);
  // "" when it may, else why not.
  std::string mayNotPreempt(const PodInfo& pod, const Diagnosis& diagnosis) const;

  Handle& handle_;
  Cluster& cluster_;
  DefaultPreemptionArgs args_;
  Random random_;
  const PreemptionRules rules_;
  DryRun dryRun_;
  Evictions& evictions_;
};

}  // namespace koord::scheduler
