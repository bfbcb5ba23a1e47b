#pragma once

// PodPreemption: how a plugin preempts for one pod. The plugin's rules say which pods may be
// victims. The common part is here, so that every plugin ensures:
//
//   - No pod is evicted for a unit that may not preempt, or for a unit of equal or lower priority.
//   - A pod whose victims still terminate takes no others, whichever plugin chose the victims, as
//     long as the pod can still get that node.
//   - No pod is evicted for a pod that starts only with others that would find no node
//     (PreemptionJudge).
//   - A node whose victims already terminate for a preemption, and that is not nominated for a pod,
//     comes first: a pod or a reservation finds its node again after a restart.
//
// Cost: one dry run for each node that is tried (dry_run.h).

#include "base/random.h"
#include "scheduler/preemption/dry_run.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

// A plugin that knows whether resources for one pod alone help. A pod that starts only together
// with others needs resources for them, too.
class PreemptionJudge {
 public:
  virtual ~PreemptionJudge() = default;
  // Success, or why evicting the candidate's victims for the pod would not help.
  virtual Status checkHelpfulness(const PodPtr& pod, const Candidate& candidate) = 0;
};

class PodPreemption {
 public:
  // How many candidates are enough: the larger of both numbers.
  struct Enough {
    std::int64_t percentage = 100;  // of the nodes in question
    std::int64_t absolute = 0;
  };
  // The rules must outlive it. plugin: the name used in messages to victims.
  PodPreemption(Handle& handle, const PreemptionRules& rules, std::string plugin, Enough enough);

  // Why the pod may not preempt now; "" if it may. If victims terminate on its nominated node, the
  // pod is requeued when they are gone (Evictions::awaitVictims).
  std::string ineligibleReason(const PodInfo& pod, const Diagnosis& diagnosis) const;
  std::vector<PodPtr> victimsOfSuccessor(const PodInfo& pod, NodeId nominated,
                                         const Diagnosis& diagnosis) const;

  struct Found {
    std::vector<DryRunOutcomePtr> outcomes;  // owns the candidates
    std::vector<const Candidate*> candidates;
    PostFilterResult none;  // the result if there are no candidates
  };
  Found find(CycleState& state, const PodPtr& pod, const Diagnosis& diagnosis);
  // Evicts the victims of the best candidate that no judge rejects. Requires at least one
  // candidate.
  PostFilterResult execute(const PodPtr& pod, std::span<const Candidate* const> candidates);

  static constexpr const char* kVictimsTerminate =
      "not eligible due to a terminating pod on the nominated node.";
  // Adds the prefix that messages of plugins have.
  static Status prefixed(Status status);
  static PostFilterResult refusal(std::string why);

  DryRun& dryRun() { return dryRun_; }

 private:
  std::vector<NodeId> inOrder(std::vector<NodeId> nodes);
  Status checkHelpfulness(const PodPtr& pod, const Candidate& candidate) const;

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules& rules_;
  const std::string plugin_;
  const Enough enough_;
  Random random_;
  DryRun dryRun_;
  Evictions& evictions_;
};

}  // namespace koord::scheduler
