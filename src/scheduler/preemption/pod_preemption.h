#pragma once

// PodPreemption: how a plugin makes room for one pod. Which pods may leave for which the plugin's rules
// say; what is the same for all plugins is here, so that each keeps these promises:
//
//   - Nobody leaves for a unit that may not preempt, or for one of equal or lower priority.
//   - A pod that waits for victims to leave its node takes no others, whichever plugin sent those away,
//     as long as the node can still become its own.
//   - Nobody leaves for a pod that starts only together with others who would find no room
//     (PreemptionJudge).
//   - A node that others leave already for a preemption, and that is promised to nobody, comes before
//     any other: a pod or a reservation finds its node again after a restart.
//
// Cost: one dry run for each node that is looked at (dry_run.h).

#include "base/random.h"
#include "scheduler/preemption/dry_run.h"
#include "scheduler/preemption/evictions.h"

namespace koord::scheduler {

// A plugin that knows what room for one pod is worth. Who starts only together with others needs theirs, too.
class PreemptionJudge {
 public:
  virtual ~PreemptionJudge() = default;
  // Success, or why it would be in vain that those leave the node for the pod.
  virtual Status worth(const PodPtr& pod, const Candidate& candidate) = 0;
};

class PodPreemption {
 public:
  // How many candidates are enough: the larger of both counts.
  struct Enough {
    std::int64_t percentage = 100;  // of the nodes in question
    std::int64_t absolute = 0;
  };
  // The rules must outlive it. plugin: in whose name victims leave.
  PodPreemption(Handle& handle, const PreemptionRules& rules, std::string plugin, Enough enough);

  // Why the pod may make nobody leave now; "" when it may.
  std::string mayNot(const PodInfo& pod, const Diagnosis& diagnosis) const;

  struct Found {
    std::vector<DryRunOutcomePtr> outcomes;  // keeps alive what candidates point to
    std::vector<const Candidate*> candidates;
    PostFilterResult none;  // the answer when there are no candidates
  };
  Found find(CycleState& state, const PodPtr& pod, const Diagnosis& diagnosis);
  // Sends the victims of the best candidate away that no judge calls in vain; there is a candidate.
  PostFilterResult carryOut(const PodPtr& pod, std::span<const Candidate* const> candidates);

  static constexpr const char* kVictimsLeave =
      "not eligible due to a terminating pod on the nominated node.";
  // What plugins say begins so.
  static Status prefixed(Status status);
  static PostFilterResult refusal(std::string why);

  DryRun& dryRun() { return dryRun_; }

 private:
  std::vector<NodeId> inOrder(std::vector<NodeId> nodes);
  Status worth(const PodPtr& pod, const Candidate& candidate) const;

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
