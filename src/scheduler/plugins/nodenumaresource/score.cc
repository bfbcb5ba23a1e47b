// How well nodes suit a pod. Without a NUMA policy it is the share of the whole node that stays free
// (or is used); with one, that of the NUMA nodes that the pod would get.

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

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
  // Some nodes are not like all the others to the pod.
  const NodeSet& particular = table_.particular();
  for (std::size_t n = 0; !particular.empty() && n < nodes.size(); ++n)
    if (particular.contains(nodes[n]))
      scores[n] = scoreOf(pod, demand, nodes[n], view.on(nodes[n]));
  view.forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
    scores[n] = scoreOf(pod, demand, nodes[n], &credit);
  });
  return {};
}

// What scoreWhole says of nodes that are not particular, read from the columns of the cluster.
void NodeNumaResource::scorePlain(const NumaDemand& demand, std::span<const NodeId> nodes,
                                  std::span<std::int64_t> scores) const {
  struct Column {
    const std::int64_t* allocatable;
    const std::int64_t* requested;
    std::int64_t amount;
    std::int64_t weight;
  };
  boost::container::small_vector<Column, 4> columns;
  for (const auto& [id, weight] : nodeScorer_.resources()) {
    const auto wanted = std::ranges::find(demand.wants, id, &NumaDemand::Wanted::id);
    const std::int64_t amount = wanted == demand.wants.end() ? 0 : wanted->amount;
    if (amount == 0 && id >= kFirstScalar) continue;
    columns.push_back(
        {cluster_.allocatable(id).data(), cluster_.requested(id).data(), amount, weight});
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    ZoneScorer::Mean mean = nodeScorer_.mean();
    for (const Column& column : columns)
      mean.add(addSaturating(column.requested[nodes[n]], column.amount),
               column.allocatable[nodes[n]], column.weight);
    scores[n] = mean.score();
  }
}

std::int64_t NodeNumaResource::scoreOf(const PodInfo& pod, const NumaDemand& demand, NodeId node,
                                       const NodeCredit* credit) {
  const NumaNode& about = table_.at(node);
  const NodeBind bind = bindOn(demand, about);
  if (bind.binds() && !about.valid()) return 0;
  const NumaPolicy policy = policyOf(demand, about).value_or(NumaPolicy::None);
  if (policy == NumaPolicy::None) return scoreWhole(demand, node, credit, {});
  // BestEffort decides in Reserve, so nothing is known of zones here.
  NumaMask affinity = kAnyNuma;
  if (policy != NumaPolicy::BestEffort) {
    const auto chosen = affinityOf(pod, node);
    if (!chosen) return 0;
    affinity = *chosen;
  }
  std::optional<std::int64_t> boundCpu;
  if (bind.binds())
    boundCpu = amplify(std::int64_t{1000} * table_.use(node).held().size(), about.cpuRatio);
  for (Source& source : sourcesOf(pod, demand, node)) {
    const NumaRoom room(table_, node, demand, nodeScorer_, std::move(source.terms));
    if (!room.fits(affinity)) continue;
    return affinity == kAnyNuma ? scoreWhole(demand, node, credit, boundCpu)
                                : room.score(affinity, boundCpu);
  }
  return 0;
}

std::int64_t NodeNumaResource::scoreWhole(const NumaDemand& demand, NodeId node,
                                          const NodeCredit* credit,
                                          std::optional<std::int64_t> boundCpu) const {
  const NumaNode& about = table_.at(node);
  const bool binds = bindOn(demand, about).binds();
  ZoneScorer::Mean mean = nodeScorer_.mean();
  for (const ZoneScorer::Weighed& weighed : nodeScorer_.resources()) {
    const auto wanted = std::ranges::find(demand.wants, weighed.id, &NumaDemand::Wanted::id);
    std::int64_t amount = wanted == demand.wants.end() ? 0 : wanted->amount;
    if (amount == 0 && weighed.id >= kFirstScalar) continue;
    std::int64_t used = Cluster::columnAt(cluster_.requested(weighed.id), node);
    if (credit) used = std::max<std::int64_t>(used - credit->amount.amount(weighed.id), 0);
    if (weighed.id == kCpu && amount > 0) {
      const std::int64_t bound = std::int64_t{1000} * table_.use(node).held().size();
      if (boundCpu) {
        used = *boundCpu;
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
