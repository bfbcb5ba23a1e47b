#pragma once

// Upstream's rules of preemption on API objects, plainly: which pods would have to leave a node,
// and how much harm that does. What the scheduler decided is compared with it.

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

  // Less is better: whether somebody has to be told to leave a node that is not being vacated already,
  // broken budgets, highest priority, sum of priorities, number, and how long the most important of them have
  // run.
  using Harm =
      std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::size_t, std::int64_t>;
  Harm harm(WallTime now) const;
};

// Nothing when the pod would not fit on the node even if all pods of lower priority left, or when
// no pod has a lower priority.
std::optional<PlainPlan> planOn(const Model& model, const api::Pod& pod, const std::string& node,
                                const std::vector<BudgetObject>& budgets, WallTime now);

// The plans of all nodes on which removing pods can help, by node.
std::map<std::string, PlainPlan> plansFor(const Model& model, const api::Pod& pod,
                                          const std::vector<BudgetObject>& budgets, WallTime now);

}  // namespace koord::simulation
