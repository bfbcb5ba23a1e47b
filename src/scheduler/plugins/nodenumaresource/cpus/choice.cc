#include "scheduler/plugins/nodenumaresource/cpus/choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduler {

namespace {

using Shares = std::vector<std::pair<int, int>>;

CpuChoice failed(std::string reason) {
  return {{}, std::move(reason)};
}

// Takes this number of CPUs of each NUMA node, or as many as it has.
CpuSet takeShares(CpuAccumulator& accumulator, const CpuOffer& offer, const CpuSet& available,
                  const CpuDemand& demand, const Shares& shares) {
  CpuSet result;
  CpuRequest part = demand.request;
  for (const auto& [numa, cpus] : shares) {
    const CpuSet here = available.intersect(offer.topology.cpusOfNuma(numa));
    part.count = std::min(cpus, here.size());
    if (part.count <= 0) continue;
    const auto taken = accumulator.takePreferred(offer.topology, offer.use, offer.maxHolders, here,
                                                 demand.preferred, part);
    if (taken) result = result.unionWith(*taken);
  }
  return result;
}

}  // namespace

std::vector<std::pair<int, int>> evenShares(const CpuTopology& topology, const CpuSet& available,
                                            CpuBindPolicy bind, int count) {
  const bool whole = bind == CpuBindPolicy::FullPCPUs;
  const int unit = whole ? topology.cpusPerCore() : 1;
  const CpuSet usable = whole ? usableUnder(bind, topology, available) : available;
  Shares shares;
  for (const int numa : topology.numaIds())
    shares.emplace_back(numa, usable.intersect(topology.cpusOfNuma(numa)).size() / unit);
  if (shares.empty()) return shares;  // includes an unknown topology, without cores
  // The smallest come first, so that the others make up for what these lack.
  std::ranges::stable_sort(shares, std::ranges::less{}, &std::pair<int, int>::second);
  int left = count / unit;
  auto nodes = static_cast<int>(shares.size());
  for (auto& [numa, units] : shares) {
    units = std::min(units, left / nodes--);
    left -= units;
    units *= unit;
  }
  std::ranges::sort(shares);
  return shares;
}

CpuChoice chooseCpus(CpuAccumulator& accumulator, const CpuOffer& offer, const CpuDemand& demand) {
  const CpuTopology& topology = offer.topology;
  const CpuBindPolicy bind = demand.request.bind;
  const int count = demand.request.count;
  const CpuSet available =
      demand.required ? usableUnder(bind, topology, offer.available) : offer.available;
  if (available.size() < count) return failed(std::string(kNotEnoughCpus));

  CpuChoice choice;
  if (!demand.byNuma.empty()) {
    choice.cpus = takeShares(accumulator, offer, available, demand, demand.byNuma);
    if (choice.cpus.size() != count) return failed(std::string(kNotEnoughCpus));
  } else {
    if (demand.request.strategy == NumaStrategy::DistributeEvenly) {
      choice.cpus = takeShares(accumulator, offer, available, demand,
                               evenShares(topology, available, bind, count));
    }
    CpuRequest rest = demand.request;
    rest.count -= choice.cpus.size();
    const auto taken =
        accumulator.takePreferred(topology, offer.use, offer.maxHolders,
                                  available.difference(choice.cpus), demand.preferred, rest);
    if (!taken) return failed(std::string(kNotEnoughCpus));
    choice.cpus = choice.cpus.unionWith(*taken);
  }
  if (demand.required && !satisfies(bind, topology, choice.cpus)) {
    return failed(
        fmt::format("insufficient CPUs to satisfy required cpu bind policy {}", nameOf(bind)));
  }
  return choice;
}

}  // namespace koord::scheduler
