#pragma once

// Upstream's rules of preemption on API objects, in simple code: the victims on a node, and the
// cost of evicting them. The simulation compares the scheduler's decision with it.

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/plugins/reference_evaluator.h"

namespace koord::simulation {

using scheduler::testing::Model;
using PodObject = std::shared_ptr<const api::Pod>;
using BudgetObject = std::shared_ptr<const api::PodDisruptionBudget>;

struct PlainPlan {
  std::vector<PodObject> victims;
  std::int64_t budgetsBroken = 0;
  bool promised = false;  // the node, to others

  // The cost; less is better: whether an eviction is needed on a node that is not being vacated
  // already, violated budgets, highest priority, sum of priorities, number, and how long the most
  // important victims have run.
  using PreemptionCost =
      std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::size_t, std::int64_t>;
  PreemptionCost cost(WallTime now) const;
};

// nullopt if the pod would not fit on the node even without all pods of lower priority, or if no
// pod has a lower priority.
std::optional<PlainPlan> planOn(const Model& model, const api::Pod& pod, const std::string& node,
                                const std::vector<BudgetObject>& budgets, WallTime now);

// The plans of all nodes where removing pods can help, by node.
std::map<std::string, PlainPlan> plansFor(const Model& model, const api::Pod& pod,
                                          const std::vector<BudgetObject>& budgets, WallTime now);

}  // namespace koord::simulation
