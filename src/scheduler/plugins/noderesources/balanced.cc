#include "scheduler/plugins/noderesources/balanced.h"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace koord::scheduler {

NodeResourcesBalancedAllocation::NodeResourcesBalancedAllocation(
    Handle& handle, const NodeResourcesBalancedAllocationArgs& args)
    : cluster_(handle.cluster()), mode_(args.mode) {
  for (const auto& name : args.resources) resources_.push_back(cluster_.resources().intern(name));
}

void NodeResourcesBalancedAllocation::sign(const PodInfo& pod, Signature& signature) const {
  for (const ResourceId id : resources_) signature.add(pod.request.amount(id));
}

Status NodeResourcesBalancedAllocation::preScore(CycleState&, const PodInfo& pod,
                                                 std::span<const NodeId>) {
  const bool nothing =
      std::ranges::all_of(resources_, [&](ResourceId id) { return pod.request.amount(id) == 0; });
  return nothing ? Status::skip() : Status{};
}

Status NodeResourcesBalancedAllocation::score(const CycleState& state, const PodInfo& pod,
                                              std::span<const NodeId> nodes,
                                              std::span<std::int64_t> scores) {
  const NodeView* const view = state.view().empty() ? nullptr : &state.view();
  struct Column {
    ResourceId id;
    std::span<const std::int64_t> allocatable;
    std::span<const std::int64_t> requested;
    std::int64_t amount;
  };
  boost::container::small_vector<Column, 4> columns;
  for (const ResourceId id : resources_) {
    const std::int64_t amount = pod.request.amount(id);
    if (id >= kFirstScalar && amount == 0) continue;
    columns.push_back({id, cluster_.allocatable(id), cluster_.requested(id), amount});
  }
  const auto result = [this](std::int64_t after, auto&& before) {
    return mode_ == BalanceMode::AfterPod ? after : 50 + (50 + after - before()) / 2;
  };
  const auto share = [](std::int64_t requested, std::int64_t allocatable) {
    return std::min(1.0, static_cast<double>(requested) / static_cast<double>(allocatable));
  };
  const auto taken = [&](const Column& column, NodeId node) {
    const std::int64_t requested = Cluster::columnAt(column.requested, node);
    if (!view) return requested;
    const NodeCredit* const credit = view->on(node);
    if (!credit) return requested;
    return std::max<std::int64_t>(requested - credit->amount.amount(column.id), 0);
  };
  boost::container::small_vector<double, 4> with;
  boost::container::small_vector<double, 4> without;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (columns.size() == 2) {  // nearly always: cpu and memory
      const std::int64_t a = Cluster::columnAt(columns[0].allocatable, nodes[n]);
      const std::int64_t b = Cluster::columnAt(columns[1].allocatable, nodes[n]);
      if (a != 0 && b != 0) {
        const std::int64_t usedA = taken(columns[0], nodes[n]);
        const std::int64_t usedB = taken(columns[1], nodes[n]);
        scores[n] = result(balanceScore(share(addSaturating(usedA, columns[0].amount), a),
                                        share(addSaturating(usedB, columns[1].amount), b)),
                           [&] { return balanceScore(share(usedA, a), share(usedB, b)); });
        continue;
      }
    }
    with.clear();
    without.clear();
    for (const Column& column : columns) {
      const std::int64_t allocatable = Cluster::columnAt(column.allocatable, nodes[n]);
      if (allocatable == 0) continue;
      const std::int64_t requested = taken(column, nodes[n]);
      with.push_back(share(addSaturating(requested, column.amount), allocatable));
      without.push_back(share(requested, allocatable));
    }
    scores[n] = result(balanceScore(with), [&] { return balanceScore(without); });
  }
  return {};
}

}  // namespace koord::scheduler
