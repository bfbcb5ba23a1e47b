// Scores nodes for a pod. Without a NUMA policy the score is the share of the whole node that stays
// free (or is used); with one, that of the NUMA nodes that the pod would get.

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"
#include "scheduler/plugins/noderesources/allocation_rule.h"
#include "scheduler/plugins/noderesources/scores.h"

namespace koord::scheduler {

namespace {

// One resource, by node.
struct ScoredColumn {
  const std::int64_t* allocatable;
  const std::int64_t* requested;
  std::int64_t amount;  // the pod's request
  std::int64_t weight;
};
using ScoredColumns = boost::container::small_vector<ScoredColumn, 4>;

// The weighted mean over the resources that the node has. The kind of score is a template argument,
// so that the loop over nodes has no branches on it.
template <bool most, class Percent>
std::int64_t meanOf(const ScoredColumns& columns, NodeId node) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ScoredColumn& column : columns) {
    const std::int64_t allocatable = column.allocatable[node];
    if (allocatable == 0) continue;
    const std::int64_t requested = addSaturating(column.requested[node], column.amount);
    sum += column.weight * (most ? mostAllocatedScore<Percent>(requested, allocatable)
                                 : leastAllocatedScore<Percent>(requested, allocatable));
    weights += column.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// The same for cpu and memory, or any two resources with small amounts and the same weight, which
// is nearly always the case: the loop has no branches on what is known before. Up to 100 times a
// small amount is exact as a double.
template <bool most>
void meansOfTwo(const ScoredColumns& columns, std::span<const NodeId> nodes,
                std::span<std::int64_t> scores) {
  const ScoredColumn one = columns[0];
  const ScoredColumn two = columns[1];
  const auto score = [](std::int64_t requested, std::int64_t allocatable) {
    const auto all = static_cast<double>(allocatable);
    const double part = most ? std::min(static_cast<double>(requested), all)
                             : std::max(static_cast<double>(allocatable - requested), 0.0);
    return static_cast<std::int64_t>(part * 100.0 / all);
  };
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const NodeId node = nodes[n];
    const std::int64_t a = one.allocatable[node];
    const std::int64_t b = two.allocatable[node];
    if (a == 0 || b == 0) {
      scores[n] = meanOf<most, SmallPercent>(columns, node);
      continue;
    }
    scores[n] =
        (score(one.requested[node] + one.amount, a) + score(two.requested[node] + two.amount, b)) /
        2;
  }
}

}  // namespace

Status NodeNumaResource::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId>) {
  return demandOf(pod).nothing() ? Status::skip() : Status{};
}

Status NodeNumaResource::score(const CycleState& state, const PodInfo& pod,
                               std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const NumaDemand& demand = demandOf(pod);
  const NodeView& view = state.view();
  if (demand.nothing()) {
    std::ranges::fill(scores, 0);
    return {};
  }
  if (!demand.plain()) {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      scores[n] = scoreOf(pod, demand, nodes[n], view.on(nodes[n]));
    return {};
  }
  scorePlain(demand, nodes, scores);
  // Nodes that are not like all others for the pod.
  const NodeSet& nodesAffectingPlainPods = table_.nodesAffectingPlainPods();
  for (std::size_t n = 0; !nodesAffectingPlainPods.empty() && n < nodes.size(); ++n)
    if (nodesAffectingPlainPods.contains(nodes[n]))
      scores[n] = scoreOf(pod, demand, nodes[n], view.on(nodes[n]));
  view.forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
    scores[n] = scoreOf(pod, demand, nodes[n], &credit);
  });
  return {};
}

const ScorePlugin* NodeNumaResource::scoreAlias(const PodInfo& pod) const {
  const NumaDemand& demand = demandOf(pod);
  if (demand.nothing() || !demand.plain()) return nullptr;
  AllocationRule rule{.prefersUsed = nodeScorer_.prefersUsed(), .parts = {}};
  for (const auto& [id, weight] : nodeScorer_.resources()) {
    const std::int64_t amount = demand.amountOf(id);
    if (id < kFirstScalar || amount != 0) rule.parts.push_back({id, amount, weight});
  }
  for (const AllocationScorer* other : handle_.profile().offers<AllocationScorer>())
    if (const ScorePlugin* scorer = other->scorerBy(rule, pod)) return scorer;
  return nullptr;
}

// They differ on particular nodes, on nodes that the pod sees in another way than other pods, and
// for default amounts of pods without requests.
bool NodeNumaResource::scoresEqualAlias(const CycleState& state,
                                        std::span<const NodeId> nodes) const {
  if (!state.view().empty()) return false;
  const std::int64_t* const cpu = cluster_.requested(kCpu).data();
  const std::int64_t* const memory = cluster_.requested(kMemory).data();
  const std::int64_t* const cpuWithGuesses = cluster_.nonZeroCpu().data();
  const std::int64_t* const memoryWithGuesses = cluster_.nonZeroMemory().data();
  for (const NodeId node : nodes)
    if (cpu[node] != cpuWithGuesses[node] || memory[node] != memoryWithGuesses[node]) return false;
  const NodeSet& nodesAffectingPlainPods = table_.nodesAffectingPlainPods();
  return nodesAffectingPlainPods.empty() || std::ranges::none_of(nodes, [&](NodeId node) {
           return nodesAffectingPlainPods.contains(node);
         });
}

// The scores of scoreWhole for nodes that are not particular, from the columns of the cluster.
void NodeNumaResource::scorePlain(const NumaDemand& demand, std::span<const NodeId> nodes,
                                  std::span<std::int64_t> scores) const {
  ScoredColumns columns;
  bool small = true;
  for (const auto& [id, weight] : nodeScorer_.resources()) {
    const std::int64_t amount = demand.amountOf(id);
    if (amount == 0 && id >= kFirstScalar) continue;
    columns.push_back(
        {cluster_.allocatable(id).data(), cluster_.requested(id).data(), amount, weight});
    small &= cluster_.highest(id) < kSmallAmount && amount < kSmallAmount;
  }
  if (small && columns.size() == 2 && columns[0].weight == columns[1].weight &&
      columns[0].weight > 0) {
    return nodeScorer_.prefersUsed() ? meansOfTwo<true>(columns, nodes, scores)
                                     : meansOfTwo<false>(columns, nodes, scores);
  }
  const auto with = [&]<bool most, class Percent>() {
    for (std::size_t n = 0; n < nodes.size(); ++n)
      scores[n] = meanOf<most, Percent>(columns, nodes[n]);
  };
  if (nodeScorer_.prefersUsed()) {
    small ? with.template operator()<true, SmallPercent>()
          : with.template operator()<true, AnyPercent>();
  } else {
    small ? with.template operator()<false, SmallPercent>()
          : with.template operator()<false, AnyPercent>();
  }
}

std::int64_t NodeNumaResource::scoreOf(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                                       const NodeCredit* credit) {
  const NumaNode& about = table_.at(node);
  const NodeBind bind = bindOn(demand, about);
  if (bind.binds() && !about.valid()) return 0;
  const NumaPolicy policy = policyOf(demand, about).value_or(NumaPolicy::None);
  if (policy == NumaPolicy::None) return scoreWhole(demand, node, credit, {});
  const auto affinity = knownAffinity(pod, node);
  if (!affinity) return 0;
  for (Source& source : sourcesOf(pod, demand, node)) {
    const NumaCapacity room(table_, node, demand, nodeScorer_, source.terms);
    if (!room.fits(*affinity)) continue;
    std::optional<std::int64_t> boundCpu;
    if (bind.binds()) {
      // What is reserved for the pod beyond its request is not held by others.
      const int spared = std::max(source.terms.preferred.size() - demand.cpus, 0);
      const int held = std::max(table_.use(node).held().size() - spared, 0);
      boundCpu = amplify(std::int64_t{1000} * held, about.cpuRatio);
    }
    // Without zones only a pod that binds CPUs is scored with the amplified amount, as upstream
    // does.
    if (*affinity == kAnyNuma)
      return scoreWhole(demand, node, credit, boundCpu.value_or(usedOf(kCpu, node, credit)));
    if (source.terms.limited.empty()) return room.score(*affinity, boundCpu);
    // The limit of the pod to what is reserved does not matter for the use of the zones.
    source.terms.limited.clear();
    return NumaCapacity(table_, node, demand, nodeScorer_, std::move(source.terms))
        .score(*affinity, boundCpu);
  }
  return 0;
}

std::int64_t NodeNumaResource::usedOf(ResourceId id, NodeId node, const NodeCredit* credit) const {
  const std::int64_t used = Cluster::columnAt(cluster_.requested(id), node);
  return credit ? std::max<std::int64_t>(used - credit->amount.amount(id), 0) : used;
}

std::int64_t NodeNumaResource::scoreWhole(const NumaDemand& demand, NodeId node,
                                          const NodeCredit* credit,
                                          std::optional<std::int64_t> usedCpu) const {
  const NumaNode& about = table_.at(node);
  const bool binds = bindOn(demand, about).binds();
  ZoneScorer::Mean mean = nodeScorer_.mean();
  for (const ZoneScorer::Weighed& weighed : nodeScorer_.resources()) {
    std::int64_t amount = demand.amountOf(weighed.id);
    if (amount == 0 && weighed.id >= kFirstScalar) continue;
    std::int64_t used = usedOf(weighed.id, node, credit);
    if (weighed.id == kCpu && amount > 0) {
      const std::int64_t bound = std::int64_t{1000} * table_.use(node).held().size();
      if (usedCpu) {
        used = *usedCpu;
      } else if (about.cpuRatio > 1) {
        used += amplify(bound, about.cpuRatio) - bound;
      }
      if (binds) amount = amplify(amount, about.cpuRatio);
    }
    mean.add(addSaturating(used, amount), Cluster::columnAt(cluster_.allocatable(weighed.id), node),
             weighed.weight);
  }
  return mean.score();
}

}  // namespace koord::scheduler
