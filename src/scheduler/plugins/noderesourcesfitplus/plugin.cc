#include "scheduler/plugins/noderesourcesfitplus/plugin.h"

#include <algorithm>

#include "model/pod_requests.h"
#include "scheduler/plugins/noderesources/scores.h"

namespace koord::scheduler {

namespace {

std::int64_t freedIn(const NodeCredit* credit, ResourceId id) {
  if (!credit) return 0;
  return id == kCpu      ? credit->nonZeroCpu
         : id == kMemory ? credit->nonZeroMemory
                         : credit->amount.amount(id);
}

}  // namespace

NodeResourcesFitPlus::NodeResourcesFitPlus(Handle& handle, const NodeResourcesFitPlusArgs& args)
    : cluster_(handle.cluster()) {
  for (const auto& [name, given] : args.resources) {
    const Kind kind = given.type == "LeastAllocated"  ? Kind::Least
                      : given.type == "MostAllocated" ? Kind::Most
                                                      : Kind::Unknown;
    strategies_.push_back({cluster_.resources().intern(name), kind, given.weight});
  }
}

std::int64_t NodeResourcesFitPlus::amountOf(const PodInfo& pod, ResourceId id) const {
  if (!pod.pod->spec.resources) {
    return id == kCpu ? pod.nonZeroCpu : id == kMemory ? pod.nonZeroMemory : pod.request.amount(id);
  }
  // Of pod-level resources only the names count.
  const api::ResourceList sums =
      model::podRequests(*pod.pod, {.skipPodLevel = true, .missing = &model::nonZeroRequests()});
  const auto it = sums.find(cluster_.resources().name(id));
  if (it == sums.end()) return 0;
  return std::max<std::int64_t>(id == kCpu ? it->second.milliValue() : it->second.value(), 0);
}

void NodeResourcesFitPlus::sign(const PodInfo& pod, Signature& signature) const {
  for (const Strategy& strategy : strategies_) {
    const bool asked = pod.request.amount(strategy.id) > 0;
    signature.add(asked ? amountOf(pod, strategy.id) : std::int64_t{-1});
  }
}

NodeResourcesFitPlus::AskedList NodeResourcesFitPlus::askedBy(const PodInfo& pod) const {
  AskedList asked;
  for (const Strategy& strategy : strategies_) {
    const ResourceId id = strategy.id;
    if (pod.request.amount(id) <= 0) continue;
    const auto used = id == kCpu      ? cluster_.nonZeroCpu()
                      : id == kMemory ? cluster_.nonZeroMemory()
                                      : cluster_.requested(id);
    asked.push_back({strategy, amountOf(pod, id), cluster_.allocatable(id), used});
  }
  return asked;
}

std::int64_t NodeResourcesFitPlus::scoreOn(const AskedList& asked, NodeId node,
                                           const NodeCredit* credit) {
  __int128 sum = 0, weights = 0;
  for (const Asked& each : asked) {
    const Strategy& strategy = each.strategy;
    const std::int64_t all = Cluster::columnAt(each.allocatable, node);
    const std::int64_t others = std::max<std::int64_t>(
        Cluster::columnAt(each.used, node) - freedIn(credit, strategy.id), 0);
    const std::int64_t used = addSaturating(others, each.amount);
    std::int64_t score = 0;
    if (all > 0 && strategy.kind == Kind::Least) score = leastAllocatedScore(used, all);
    if (all > 0 && strategy.kind == Kind::Most) score = mostAllocatedScore(used, all);
    sum += static_cast<__int128>(score) * strategy.weight;
    weights += strategy.weight;
  }
  if (weights == 0) return 100;
  // Weights below 0, which are not rejected, could leave the range.
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(sum / weights), 0, 100);
}

Status NodeResourcesFitPlus::score(const CycleState& state, const PodInfo& pod,
                                   std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  const AskedList asked = askedBy(pod);
  for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = scoreOn(asked, nodes[n], nullptr);
  state.view().forEachOf(nodes, [&](std::size_t n, const NodeCredit& credit) {
    scores[n] = scoreOn(asked, nodes[n], &credit);
  });
  return {};
}

}  // namespace koord::scheduler
