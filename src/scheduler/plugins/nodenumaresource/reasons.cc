// Explains why a pod has its CPUs: their location, and the rule that put them first.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

namespace {

struct CpuPlaces {
  std::set<int> cores, wholeCores, numas;
};

CpuPlaces placesOf(const CpuTopology& topology, const CpuSet& cpus) {
  CpuPlaces places;
  for (int i = 0; i < topology.cpuCount(); ++i) {
    const auto cpu = static_cast<CpuTopology::Index>(i);
    if (!cpus.contains(topology.id(cpu))) continue;
    const auto core = topology.coreOf(cpu);
    places.cores.insert(core);
    places.numas.insert(topology.numaIds()[topology.numaOf(cpu)]);
    bool whole = true;
    for (const auto other : topology.cpusOfCore(core)) whole &= cpus.contains(topology.id(other));
    if (whole) places.wholeCores.insert(core);
  }
  return places;
}

std::string_view ruleOf(CpuBindPolicy policy) {
  return policy == CpuBindPolicy::SpreadByPCPUs
             ? "order: one CPU of each core, within one NUMA node, else within one socket"
             : "order: whole cores, of one NUMA node, else of one socket";
}

std::string_view orderOf(NumaStrategy strategy) {
  switch (strategy) {
    case NumaStrategy::MostAllocated:
      return "NUMA nodes with the least free resources first (MostAllocated)";
    case NumaStrategy::DistributeEvenly:
      return "an equal share of each NUMA node (DistributeEvenly)";
    case NumaStrategy::LeastAllocated:
      break;
  }
  return "NUMA nodes with the most free resources first (LeastAllocated)";
}

}  // namespace

std::string NodeNumaResource::reasonFor(const NumaDemand& demand, NodeId node,
                                        const NumaGrant& grant) const {
  const NumaNode& about = table_.at(node);
  if (grant.cpus.empty() || !about.valid()) return "";
  const CpuPlaces places = placesOf(about.cpus(), grant.cpus);
  std::string text = fmt::format(
      "{} cores, {} of them whole, of NUMA node{} {}", places.cores.size(),
      places.wholeCores.size(), places.numas.size() == 1 ? "" : "s", fmt::join(places.numas, ", "));
  const NodeBind bind = bindOn(demand, about);
  if (!bind.binds()) return text;
  return fmt::format("{}; {}; {}", text, ruleOf(bind.policy), orderOf(strategyOf(about)));
}

// What it would get there now; nothing if it does not fit.
std::string NodeNumaResource::wouldGet(const PodInfo& pod, const NumaDemand& demand,
                                       NodeId node) const {
  if (!demand.status.ok() || !judge(pod, demand, node, nullptr).ok()) return "";
  const auto policy = policyOf(demand, table_.at(node));
  NumaMask affinity = kAnyNuma;
  if (policy && *policy != NumaPolicy::None) affinity = decide(pod, demand, node).mask;
  const NumaCapacityTaken taken = allocate(pod, demand, node, affinity, nullptr);
  return taken.status.ok() ? taken.grant.cpus.toString() : "";
}

}  // namespace koord::scheduler
