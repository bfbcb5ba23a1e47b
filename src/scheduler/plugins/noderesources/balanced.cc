#include "scheduler/plugins/noderesources/balanced.h"

#include <boost/container/small_vector.hpp>

#include <algorithm>

namespace koord::scheduler {

NodeResourcesBalancedAllocation::NodeResourcesBalancedAllocation(
    Handle& handle, const NodeResourcesBalancedAllocationArgs& args)
    : cluster_(handle.cluster()), devices_(handle), mode_(args.mode) {
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

NodeResourcesBalancedAllocation::Columns NodeResourcesBalancedAllocation::columnsFor(
    const PodInfo& pod) const {
  Columns columns;
  for (const ResourceId id : resources_) {
    const std::int64_t amount = pod.request.amount(id);
    if (id >= kFirstScalar && amount == 0) continue;
    columns.list.push_back({id, cluster_.allocatable(id).data(), cluster_.requested(id).data(),
                            amount, devices_.isBacked(id)});
    columns.small &= cluster_.highest(id) < kSmallAmount && amount < kSmallAmount;
  }
  return columns;
}

Status NodeResourcesBalancedAllocation::score(const CycleState& state, const PodInfo& pod,
                                              std::span<const NodeId> nodes,
                                              std::span<std::int64_t> scores) {
  const Columns chosen = columnsFor(pod);
  const auto& columns = chosen.list;
  const auto share = [](std::int64_t requested, std::int64_t allocatable) {
    return std::min(1.0, static_cast<double>(requested) / static_cast<double>(allocatable));
  };
  const auto result = [this](std::int64_t after, auto&& before) {
    return mode_ == BalanceMode::AfterPod ? after : 50 + (50 + after - before()) / 2;
  };
  // For any node, as the pod sees it.
  boost::container::small_vector<double, 4> with;
  boost::container::small_vector<double, 4> without;
  const auto scoreOn = [&](NodeId node, const NodeCredit& credit) {
    with.clear();
    without.clear();
    for (const Column& column : columns) {
      BackingDevices::Devices amount{column.allocatable[node], column.requested[node]};
      if (amount.all == 0 && column.backed) amount = devices_.on(column.id, node);
      const std::int64_t allocatable = amount.all;
      if (allocatable == 0) continue;
      const std::int64_t requested =
          std::max<std::int64_t>(amount.used - credit.amount.amount(column.id), 0);
      with.push_back(share(addSaturating(requested, column.amount), allocatable));
      without.push_back(share(requested, allocatable));
    }
    return result(balanceScore(with), [&] { return balanceScore(without); });
  };
  const NodeCredit none;
  if (columns.size() == 2 && chosen.small) {  // nearly always: cpu and memory
    const Column one = columns[0];
    const Column two = columns[1];
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const NodeId node = nodes[n];
      const std::int64_t a = one.allocatable[node];
      const std::int64_t b = two.allocatable[node];
      if (a == 0 || b == 0) {
        scores[n] = scoreOn(node, none);
        continue;
      }
      const std::int64_t usedA = one.requested[node];
      const std::int64_t usedB = two.requested[node];
      scores[n] = result(balanceScore(share(usedA + one.amount, a), share(usedB + two.amount, b)),
                         [&] { return balanceScore(share(usedA, a), share(usedB, b)); });
    }
  } else {
    for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = scoreOn(nodes[n], none);
  }
  state.view().forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
    scores[n] = scoreOn(nodes[n], credit);
  });
  return {};
}

}  // namespace koord::scheduler
