#pragma once

// DryRun: finds the pods that must be evicted from a node for a pod to fit there. It removes them
// from the cluster's state inside a transaction, which is rolled back.
//
// If only Signed plugins judge the pod, the outcome depends only on the pod's class and priority,
// the budgets and the node. It is cached until the node changes, so that a burst of equal pods
// tries each node once and not once per pod.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/framework/handle.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/preemption/budgets.h"
#include "scheduler/preemption/candidate.h"
#include "scheduler/preemption/rules.h"

namespace koord::scheduler {

struct DryRunOutcome {
  Status status;  // Success, or why removing all pods of lower priority does not help
  Candidate candidate;
  std::uint32_t podDetails = 0;  // of the node (Cluster::podDetails)
};
using DryRunOutcomePtr = std::shared_ptr<const DryRunOutcome>;

// Why nodes are no candidates: each reason with its number of nodes.
std::vector<std::pair<std::string, std::size_t>> reasonsOf(
    std::span<const DryRunOutcomePtr> refused);

class DryRun {
 public:
  // The rules must outlive it.
  DryRun(Handle& handle, const PreemptionRules& rules)
      : handle_(handle),
        cluster_(handle.cluster()),
        rules_(rules),
        budgets_(disruptionBudgetsOf(handle)) {}

  // Call before on(), once per attempt.
  void begin(const CycleState& state, const PodInfo& pod);
  DryRunOutcomePtr on(CycleState& state, const PodPtr& pod, NodeId node);

 private:
  struct Kept {
    std::weak_ptr<const PodClass> podClass;
    std::int32_t priority = 0;
    std::string admitKey;
    std::uint64_t budgets = 0;
    std::vector<std::uint64_t> epochs;       // of Changing plugins
    std::uint64_t position = 0;              // in the cluster's change log
    std::vector<DryRunOutcomePtr> outcomes;  // by node; grown as needed
    std::uint64_t lastUse = 0;
  };
  static constexpr std::size_t kMaxKept = 8;

  DryRunOutcome dryRunOn(CycleState& state, const PodPtr& pod, NodeId node);
  // Returns Success if the pod fits on the node in the current state of the cluster.
  Status judge(CycleState& state, const PodPtr& pod, NodeId node);

  Handle& handle_;
  Cluster& cluster_;
  const PreemptionRules& rules_;
  const DisruptionBudgets& budgets_;
  std::vector<Kept> kept_;
  Kept* current_ = nullptr;  // for this attempt's kind of pod; nullptr if outcomes cannot be kept
  std::optional<NodeId> nominatedNode_;  // the node this attempt's pod is nominated for
  std::uint64_t uses_ = 0;
};

}  // namespace koord::scheduler
