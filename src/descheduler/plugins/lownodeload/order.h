#pragma once

// Which pods of an overloaded node go first. The less important ones (rules/pod_order.h); of equally important ones
// that whose usage just covers what the node has too much:
//
//   excess E = usage - high threshold, of resources that are over
//   score    = weighted mean of f(usage of the pod / E), f(x) = x below 1 and 1 + 1/x from 1 on
//
// so a pod that is exactly enough scores 2, larger ones fall towards 1, and smaller ones stay below it. Then
// younger pods first. The mean is over the resources that the pod's metric has; those that are not over weigh
// nothing. Pods without a metric come last.

#include <vector>

#include "descheduler/plugins/lownodeload/load.h"

namespace koord::descheduler {

struct Candidate {
  const NodePods::Entry* entry = nullptr;
  const LoadReport::Usage* usage = nullptr;  // null: not known
  double score = 0;
};

// By resource; 0 where the node is not over.
Amounts excessOf(const NodeLoad& load, Scope scope);
double scoreOf(const PoolLoad& pool, const LoadReport::Usage& usage, const Amounts& excess);
// Scores the candidates and sorts them, first to go first.
void sortCandidates(const PoolLoad& pool, const NodeLoad& load, Scope scope,
                    std::vector<Candidate>& candidates);

}  // namespace koord::descheduler
