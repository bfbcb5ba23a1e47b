#pragma once

// Kinds of pods: pods that request the same and may go to the same nodes. One relocation serves any
// pod of a kind, so it is searched once for all of them.

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "descheduler/framework/nodes.h"
#include "descheduler/plugins/gpudefragmentation/relocation.h"
#include "descheduler/rules/node_fit.h"

namespace koord::descheduler {

PodDemand demandOf(const Pod& pod);

struct PodKind {
  std::string key;
  std::vector<PodPtr> pods;
  WaitingPods waiting;
  NodeDemand where;
};

// Kinds by key, in the order in which they were added.
class PodKinds {
 public:
  void add(std::string key, const PodPtr& pod);
  std::vector<PodKind> take() { return std::move(list_); }

 private:
  std::vector<PodKind> list_;
  std::unordered_map<std::string, std::size_t> byKey_;
};

// Of pods that wait for GPUs. Pods of different workloads are of different kinds, since the
// scheduler decides by more than the model knows. By priority, then by age.
std::vector<PodKind> waitingKinds(std::vector<PodPtr> pods);
// The most frequent requests for GPUs of the pods on the nodes, with one pod each. Owners do not
// count.
std::vector<PodKind> typicalKinds(std::span<const NodeView* const> nodes, std::size_t most);

}  // namespace koord::descheduler
