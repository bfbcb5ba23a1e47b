#pragma once

// chooseNuma: merges the hints of all providers into one set of NUMA nodes, by the rules of the
// kubelet's topology manager as koord-scheduler has them.
//
// What it computes. Every resource of every provider has a list of hints. For each choice of one
// hint per list, the intersection is a candidate. It is preferred if all of its hints are preferred
// and name the same set. Of the preferred candidates, or else of all, the one with the fewest NUMA
// nodes wins; among equals the smaller one as a number, unless the hints of the other have a higher
// sum of scores.
//
// How. Upstream enumerates all products: with eight NUMA nodes and four resources 255^4. But a
// preferred candidate is a set that is, preferred, in every list. There are at most as many of them
// as the first list has hints, and lists in the same order, as they usually are, are walked side by
// side. Only the policy BestEffort uses a candidate that is not preferred, and only a set that is
// in every list: any other is "unsatisfied" and stands for all NUMA nodes. Whether a
// narrower one exists is computed from the set of reachable intersections, list by list.
//
// Cost: the sum of the lengths of the lists; for lists in other orders, the product of two.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/framework/numa_hints.h"
#include "scheduler/plugins/nodenumaresource/numa_node.h"

namespace koord::scheduler {

struct NumaChoice {
  bool admitted = false;
  NumaMask mask = kAnyNuma;
  std::vector<std::string> reasons;  // if it is not admitted
};

// all: the NUMA nodes of the node, at least one. avoids: returns true if the pod must not be on
// these because of other pods there; empty: never.
NumaChoice chooseNuma(NumaPolicy policy, NumaMask all, std::span<const NumaHints> providers,
                      const std::function<bool(NumaMask)>& avoids = {});

// For display: binary, NUMA node 0 last, "01".
std::string textOf(NumaMask mask);

}  // namespace koord::scheduler
