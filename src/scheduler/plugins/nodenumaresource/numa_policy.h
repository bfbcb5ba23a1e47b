#pragma once

// chooseNuma: merges the hints of all providers into one set of NUMA nodes, by the rules of the
// kubelet's topology manager as koord-scheduler has them.
//
// What it computes. Every resource of every provider has a list of hints. Take one hint of each list:
// what all of them have in common is a candidate. It is preferred if all of them are, and name the same
// set. Of preferred candidates, or else of all, the one with fewest NUMA nodes wins; of two that are
// equal in that the smaller as a number, unless the other one's hints have a higher sum of scores.
//
// How. Upstream goes through all products: with eight NUMA nodes and four resources 255^4. But a
// preferred candidate is a set that stands, preferred, in every list; there are no more of them than
// the first list has hints, and lists that are in the same order, as they are, are walked side by side. Only the policy BestEffort
// makes use of a candidate that is not preferred, and only of one that every list names: any other is
// "unsatisfied" and stands for all NUMA nodes. Whether a narrower one exists is then found out from the
// sets that can be reached, list by list.
//
// Cost: the sum of the lengths of the lists; of lists in other orders, the product of two.

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
  std::vector<std::string> reasons;  // when it is not admitted
};

// all: the NUMA nodes of the node, at least one. shuns: whether the pod must not be on these because
// of others that are there; empty: never.
NumaChoice chooseNuma(NumaPolicy policy, NumaMask all, std::span<const NumaHints> providers,
                      const std::function<bool(NumaMask)>& shuns = {});

// As people read it: binary, NUMA node 0 last, "01".
std::string textOf(NumaMask mask);

}  // namespace koord::scheduler
