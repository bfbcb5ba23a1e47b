#include "descheduler/plugins/gpudefragmentation/relocation.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

namespace koord::descheduler {

namespace {

// True if `a` costs less: the moves for each GPU that is gained, compared without division.
bool cheaper(const Relocation& a, const Relocation& b) {
  const auto costOf = [](const Relocation& one, const Relocation& other) {
    return static_cast<std::int64_t>(one.pods.size()) * other.gained;
  };
  return std::tuple(costOf(a, b), a.moved, a.node) < std::tuple(costOf(b, a), b.moved, b.node);
}

// The tenants that must leave so that the demand fits, if the others are put back in this order.
std::vector<std::size_t> mustLeave(NodeGaps emptied, const NodeGaps& node, const PodDemand& demand,
                                   const std::vector<std::size_t>& order) {
  std::vector<std::size_t> left;
  for (const std::size_t tenant : order) {
    emptied.release(node.tenants[tenant], -1);
    if (emptied.fits(demand)) continue;
    emptied.release(node.tenants[tenant]);
    left.push_back(tenant);
  }
  return left;
}

// --- In which order tenants are put back.

using Order = std::vector<std::size_t>;

void smallestFirst(const NodeGaps& node, Order& order) {
  std::ranges::stable_sort(order, {}, [&](std::size_t tenant) {
    return std::pair(node.tenants[tenant].percent(), node.tenants[tenant].demand.milliCpu);
  });
}

void largestFirst(const NodeGaps& node, Order& order) {
  smallestFirst(node, order);
  std::ranges::reverse(order);
}

// First those that share a GPU with the most others, so that GPUs with few pods are freed.
void crowdedFirst(const NodeGaps& node, Order& order) {
  std::vector<std::int64_t> pods(node.free.size());
  for (const NodeGaps::Tenant& tenant : node.tenants)
    for (const GpuShare& gpu : tenant.gpus) ++pods[static_cast<std::size_t>(gpu.minor)];
  largestFirst(node, order);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t tenant) {
    std::int64_t most = 0;
    for (const GpuShare& gpu : node.tenants[tenant].gpus)
      most = std::max(most, pods[static_cast<std::size_t>(gpu.minor)]);
    return most;
  });
}

}  // namespace

std::int64_t NodeGaps::Tenant::percent() const {
  return std::accumulate(gpus.begin(), gpus.end(), std::int64_t{0},
                         [](std::int64_t sum, const GpuShare& gpu) { return sum + gpu.percent; });
}

bool NodeGaps::fits(const PodDemand& demand) const {
  if (milliCpu < demand.milliCpu || memory < demand.memory || slots < 1) return false;
  const std::int64_t percent = demand.gpu.percentOn(bytesOfGpu);
  return std::ranges::count_if(free, [&](std::int64_t gpu) { return gpu >= percent && gpu > 0; }) >=
         demand.gpu.count;
}

void NodeGaps::take(const PodDemand& demand) {
  milliCpu -= demand.milliCpu;
  memory -= demand.memory;
  --slots;
  const std::int64_t percent = demand.gpu.percentOn(bytesOfGpu);
  std::vector<std::int64_t*> enough;
  for (std::int64_t& gpu : free)
    if (gpu >= percent) enough.push_back(&gpu);
  std::ranges::stable_sort(enough, {}, [](const std::int64_t* gpu) { return *gpu; });
  for (std::size_t i = 0; i < enough.size() && i < static_cast<std::size_t>(demand.gpu.count); ++i)
    *enough[i] -= percent;
}

void NodeGaps::release(const Tenant& tenant, std::int64_t sign) {
  milliCpu += sign * tenant.demand.milliCpu;
  memory += sign * tenant.demand.memory;
  slots += sign;
  for (const GpuShare& gpu : tenant.gpus)
    free[static_cast<std::size_t>(gpu.minor)] += sign * gpu.percent;
}

NodeGaps NodeGaps::withoutTenants() const {
  return {milliCpu, memory, slots, bytesOfGpu, free, {}, {}};
}

bool Relocations::needsNoMoves(std::size_t waiting, const Admits& admits) const {
  const WaitingPods& pods = waiting_[waiting];
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    const NodeGaps& node = nodes_[at];
    const bool fits = node.fits(pods.demand);
    if (fits ? !pods.typical : node.leaving.empty()) continue;
    NodeGaps later = node.withoutTenants();
    for (const NodeGaps::Tenant& tenant : node.leaving) later.release(tenant);
    if ((fits || later.fits(pods.demand)) && admits(waiting, at)) return true;
  }
  return false;
}

void Relocations::keep(std::size_t node, std::size_t pod) {
  std::erase_if(nodes_[node].tenants, [&](const auto& tenant) { return tenant.pod == pod; });
}

std::optional<Relocation> Relocations::cheapestOn(std::size_t at, std::size_t waiting,
                                                  std::size_t maxMoves) const {
  const NodeGaps& node = nodes_[at];
  const PodDemand& demand = waiting_[waiting].demand;
  if (node.fits(demand)) return std::nullopt;
  NodeGaps emptied = node.withoutTenants();
  std::vector<std::size_t> order;
  for (std::size_t tenant = 0; tenant < node.tenants.size(); ++tenant) {
    if (node.tenants[tenant].priority > waiting_[waiting].priority) continue;
    emptied.release(node.tenants[tenant]);
    order.push_back(tenant);
  }
  if (!emptied.fits(demand)) return std::nullopt;
  std::optional<Relocation> best;
  for (const auto& put : {smallestFirst, largestFirst, crowdedFirst}) {
    put(node, order);
    Relocation one{.waiting = waiting, .node = at, .pods = {}, .demands = {}};
    one.gained = demand.gpu.count * demand.gpu.percentOn(node.bytesOfGpu);
    for (const std::size_t tenant : mustLeave(emptied, node, demand, order)) {
      one.pods.push_back(node.tenants[tenant].pod);
      one.demands.push_back(node.tenants[tenant].demand);
      one.moved += node.tenants[tenant].percent();
    }
    if (!one.pods.empty() && one.pods.size() <= maxMoves && (!best || cheaper(one, *best)))
      best = std::move(one);
  }
  return best;
}

std::vector<Relocation> Relocations::find(std::size_t maxMoves, const Admits& admits) const {
  std::vector<Relocation> all;
  for (std::size_t waiting = 0; waiting < waiting_.size(); ++waiting)
    std::ranges::move(findFor(waiting, maxMoves, admits), std::back_inserter(all));
  sort(all);
  return all;
}

std::vector<Relocation> Relocations::findFor(std::size_t waiting, std::size_t maxMoves,
                                             const Admits& admits) const {
  std::vector<Relocation> all;
  if (needsNoMoves(waiting, admits)) return all;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].tenants.empty() || !admits(waiting, node)) continue;
    if (auto one = cheapestOn(node, waiting, maxMoves)) all.push_back(*std::move(one));
  }
  return all;
}

void Relocations::sort(std::vector<Relocation>& relocations) const {
  std::ranges::stable_sort(relocations, [&](const Relocation& a, const Relocation& b) {
    const std::int32_t first = waiting_[a.waiting].priority, second = waiting_[b.waiting].priority;
    return first != second ? first > second : cheaper(a, b);
  });
}

std::optional<std::vector<std::size_t>> Relocations::placesOf(const Relocation& relocation,
                                                              const MayMoveTo& mayMoveTo) const {
  std::vector<std::size_t> places;
  std::map<std::size_t, NodeGaps> then;  // nodes that have got a pod
  for (std::size_t n = 0; n < relocation.pods.size(); ++n) {
    const PodDemand& demand = relocation.demands[n];
    std::optional<std::size_t> place;
    std::int64_t least = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      const auto changed = then.find(node);
      const NodeGaps& gaps = changed == then.end() ? nodes_[node] : changed->second;
      if (node == relocation.node || !gaps.fits(demand)) continue;
      // The fullest. A pod without GPUs goes to a node without free GPUs, if there is one.
      const std::int64_t free =
          std::accumulate(gaps.free.begin(), gaps.free.end(), std::int64_t{0});
      if ((place && free >= least) || !mayMoveTo(relocation.pods[n], node)) continue;
      place = node;
      least = free;
    }
    if (!place) return std::nullopt;
    then.try_emplace(*place, nodes_[*place].withoutTenants()).first->second.take(demand);
    places.push_back(*place);
  }
  return places;
}

void Relocations::apply(const Relocation& relocation, std::span<const std::size_t> places) {
  NodeGaps& node = nodes_[relocation.node];
  for (std::size_t n = 0; n < relocation.pods.size(); ++n) {
    nodes_[places[n]].take(relocation.demands[n]);
    const auto tenant = std::ranges::find(node.tenants, relocation.pods[n], &NodeGaps::Tenant::pod);
    node.release(*tenant);
    node.tenants.erase(tenant);
  }
  node.take(waiting_[relocation.waiting].demand);
}

}  // namespace koord::descheduler
