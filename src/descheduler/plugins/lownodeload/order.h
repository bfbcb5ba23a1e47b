#pragma once

// The eviction order of an overloaded node's pods. The less important pods are first
// (rules/pod_order.h); among equally important ones the pod whose usage just covers the node's
// excess:
//
//   excess E = usage - high threshold, of resources that are over
//   score    = weighted mean of f(usage of the pod / E), f(x) = x below 1 and 1 + 1/x from 1 on
//
// so a pod of exactly the excess scores 2, larger ones approach 1, and smaller ones stay below 1.
// Then younger pods first. The mean is over the resources of the pod's metric; resources that are
// not over have weight 0. Pods without a metric come last.

#include <vector>

#include "descheduler/plugins/lownodeload/load.h"

namespace koord::descheduler {

struct Candidate {
  const NodePods::Entry* entry = nullptr;
  const LoadReport::Usage* usage = nullptr;  // nullptr: unknown
  double score = 0;
};

// The excess by resource; 0 if the node is not over.
Amounts excessOf(const NodeLoad& load, Scope scope);
double scoreOf(const PoolLoad& pool, const LoadReport::Usage& usage, const Amounts& excess);
// Scores the candidates and sorts them in eviction order.
void sortCandidates(const PoolLoad& pool, const NodeLoad& load, Scope scope,
                    std::vector<Candidate>& candidates);

}  // namespace koord::descheduler
