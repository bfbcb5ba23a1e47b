// The plugin's HTTP endpoints, facts of a pod for explain, and remedies.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "scheduler/plugins/nodenumaresource/plugin.h"

namespace koord::scheduler {

namespace {

json::object amountsJson(const ResourceNames& names, const Resources& amounts) {
  std::map<std::string, std::string> sorted;
  amounts.forEach([&](ResourceId id, std::int64_t amount) {
    if (amount != 0) sorted[names.name(id)] = amountText(id, amount);
  });
  json::object shown;
  for (const auto& [name, amount] : sorted) shown.emplace(name, amount);
  return shown;
}

json::value partsJson(const ResourceNames& names, const std::vector<NumaAmounts>& parts) {
  if (parts.empty()) return nullptr;
  json::array list;
  for (const NumaAmounts& part : parts)
    list.push_back(
        json::object{{"node", part.numa}, {"resources", amountsJson(names, part.amounts)}});
  return list;
}

json::object cpuJson(const CpuTopology& topology, const CpuUse* use, int index) {
  const auto at = static_cast<CpuTopology::Index>(index);
  const int id = topology.id(at);
  json::object cpu{{"cpuID", id},
                   {"coreID", topology.coreId(topology.coreOf(at))},
                   {"nodeID", topology.numaIds()[topology.numaOf(at)]},
                   {"socketID", topology.socketId(topology.socketOf(at))}};
  cpu["refCount"] = use ? use->holders(id) : 0;
  cpu["exclusivePolicy"] = "";
  if (!use) return cpu;
  for (const auto policy : {CpuExclusivePolicy::PCPULevel, CpuExclusivePolicy::NUMANodeLevel})
    if (use->exclusive(id, policy)) cpu["exclusivePolicy"] = json::string(nameOf(policy));
  return cpu;
}

json::object topologyJson(const CpuTopology& topology) {
  json::object details;
  for (int i = 0; i < topology.cpuCount(); ++i)
    details[std::to_string(topology.id(static_cast<CpuTopology::Index>(i)))] =
        cpuJson(topology, nullptr, i);
  return {{"numCPUs", topology.cpuCount()},
          {"numCores", topology.coreCount()},
          {"numNodes", topology.numaCount()},
          {"numSockets", topology.socketCount()},
          {"cpuDetails", std::move(details)}};
}

// What the first has more than the second.
std::vector<NumaAmounts> without(const std::vector<NumaAmounts>& all,
                                 const std::vector<NumaAmounts>& taken) {
  std::vector<NumaAmounts> left = all;
  for (NumaAmounts& part : left) {
    const auto known = std::ranges::find(taken, part.numa, &NumaAmounts::numa);
    if (known == taken.end()) continue;
    const Resources total = part.amounts;
    total.forEach([&](ResourceId id, std::int64_t amount) {
      part.amounts.set(id, std::max<std::int64_t>(amount - known->amounts.amount(id), 0));
    });
  }
  return left;
}

}  // namespace

std::vector<ServicePlugin::Route> NodeNumaResource::routes() {
  return {{.path = "nodes/",
           .shown = "nodes/:nodeName",
           .answer = [this](const std::string& name) { return describe(name); },
           .formerPath = "NodeNUMAResources/cpuTopologyOptions/",
           .open = true}};
}

Result<json::value> NodeNumaResource::describe(const std::string& name) const {
  const auto node = cluster_.findNode(name);
  if (!node || !cluster_.node(*node).object)
    return fail(ErrorCode::Internal, fmt::format("node \"{}\" not found", name));
  const NumaNode& about = table_.at(*node);
  if (!about.valid())
    return fail(ErrorCode::Internal,
                "invalid topology, please check the NodeResourceTopology object");
  const ResourceNames& names = cluster_.resources();
  const CpuUse& use = table_.use(*node);
  std::vector<NumaAmounts> totals;
  for (const NumaZone& zone : about.zones) totals.push_back({zone.id, zone.total});
  json::object allocated;
  for (int i = 0; i < about.cpus().cpuCount(); ++i) {
    const int id = about.cpus().id(static_cast<CpuTopology::Index>(i));
    if (use.holders(id) > 0) allocated[std::to_string(id)] = cpuJson(about.cpus(), &use, i);
  }
  json::array pods;
  table_.forEachPod(*node, [&](const PodInfo& pod, const NumaGrant& grant) {
    json::object shown{{"uid", pod.uid()},
                       {"namespace", pod.pod->metadata.namespace_},
                       {"name", pod.pod->metadata.name},
                       {"cpuset", grant.cpus.toString()}};
    if (grant.exclusive != CpuExclusivePolicy::None)
      shown["cpuExclusivePolicy"] = json::string(nameOf(grant.exclusive));
    if (!grant.numa.empty()) shown["numaNodeResources"] = partsJson(names, grant.numa);
    pods.push_back(std::move(shown));
  });
  json::object out{
      {"name", name},
      {"cpuTopology", topologyJson(about.cpus())},
      {"reservedCPUs", about.reserved.toString()},
      {"availableCPUs", availableCpus(about.cpus(), use, 1, about.reserved).toString()},
      {"maxRefCount", 1},
      {"numaTopologyPolicy", json::string(nameOf(about.policy))},
      {"numaNodeResources", partsJson(names, totals)},
      {"remainingNUMANodeResources", partsJson(names, without(totals, table_.held(*node)))},
      {"allocatedNUMANodeResources", partsJson(names, table_.held(*node))},
      {"allocatedCPUs", std::move(allocated)},
      {"allocatedPods", pods.empty() ? json::value(nullptr) : json::value(std::move(pods))}};
  if (!about.kubelet.is_null()) out["policy"] = about.kubelet;
  json::object ratios;
  for (const auto& [resource, ratio] : about.ratios) ratios[resource] = ratio;
  if (!ratios.empty()) out["amplificationRatios"] = std::move(ratios);
  return json::value(std::move(out));
}

// Only of nodes on which pods have exclusive CPUs; on others all are free.
std::string NodeNumaResource::metrics() const {
  std::string text =
      "# HELP scheduler_numa_cpus CPUs by NUMA node and state, for nodes with CPUs that are bound "
      "to pods\n"
      "# TYPE scheduler_numa_cpus gauge\n";
  cluster_.live().forEach([&](NodeId node) {
    const NumaNode& about = table_.at(node);
    if (!about.valid()) return;
    const CpuTopology& cpus = about.cpus();
    const CpuUse& use = table_.use(node);
    struct Count {
      int bound = 0, reserved = 0, free = 0;
    };
    std::map<int, Count> byNuma;
    bool any = false;
    for (int i = 0; i < cpus.cpuCount(); ++i) {
      const auto at = static_cast<CpuTopology::Index>(i);
      Count& count = byNuma[cpus.numaIds()[cpus.numaOf(at)]];
      const bool held = use.holders(cpus.id(at)) > 0;
      any |= held;
      ++(held ? count.bound : about.reserved.contains(cpus.id(at)) ? count.reserved : count.free);
    }
    if (!any) return;
    for (const auto& [numa, count] : byNuma)
      for (const auto& [state, amount] :
           {std::pair{"bound", count.bound}, {"free", count.free}, {"reserved", count.reserved}})
        text += fmt::format("scheduler_numa_cpus{{node_name=\"{}\",numa=\"{}\",state=\"{}\"}} {}\n",
                            cluster_.node(node).name, numa, state, amount);
  });
  return text;
}

// The nodes where most is free for the pod.
json::array NodeNumaResource::freest(const PodInfo& pod, const NumaDemand& demand) const {
  constexpr std::size_t kShown = 5;
  std::vector<std::pair<int, NodeId>> nodes;  // by what the pod could get, most first
  cluster_.live().forEach([&](NodeId node) {
    const NodeBind bind = bindOn(demand, table_.at(node));
    if (!bind.binds() || !table_.at(node).valid()) return;
    nodes.emplace_back(-table_.free(node).node.usable(bind.policy, bind.required), node);
  });
  const std::size_t shown = std::min(kShown, nodes.size());
  std::ranges::partial_sort(nodes, nodes.begin() + static_cast<std::ptrdiff_t>(shown));
  json::array list;
  for (const auto& [usable, node] : std::span(nodes).first(shown)) {
    const NumaNode& about = table_.at(node);
    const NodeFreeCpus& free = table_.free(node);
    json::array zones;
    for (std::size_t i = 0; i < free.byNuma.size(); ++i)
      zones.push_back(json::object{{"node", about.cpus().numaIds()[i]},
                                   {"free", free.byNuma[i].all},
                                   {"inWholeCores", free.byNuma[i].whole}});
    json::object shown{{"name", cluster_.node(node).name},
                       {"usable", -usable},
                       {"cpus", about.cpus().cpuCount()},
                       {"numa", std::move(zones)}};
    if (const std::string cpus = wouldGet(pod, demand, node); !cpus.empty())
      shown["wouldGet"] = cpus;
    list.push_back(std::move(shown));
  }
  return list;
}

json::value NodeNumaResource::factsOf(const PodInfo& pod) const {
  const NumaDemand& demand = demandOf(pod);
  json::object facts;
  if (demand.binds) {
    facts["cpus"] = demand.cpus;
    facts["cpuBindPolicy"] = json::string(nameOf(demand.bind));
    facts["required"] = demand.required != CpuBindPolicy::None;
  }
  if (demand.policy != NumaPolicy::None)
    facts["numaTopologyPolicy"] = json::string(nameOf(demand.policy));
  if (!demand.ignored.empty()) {
    json::array ignored;
    for (const std::string& each : demand.ignored) ignored.push_back(json::string(each));
    facts["ignored"] = std::move(ignored);
  }
  if (const NumaGrant* grant = table_.grantOf(pod.uid())) {
    if (!grant->cpus.empty()) facts["cpuset"] = grant->cpus.toString();
    const NodeId node = cluster_.findPod(pod.uid())->node;
    if (const std::string reason = reasonFor(demand, node, *grant); !reason.empty())
      facts["because"] = reason;
    if (!grant->numa.empty())
      facts["numaNodeResources"] = partsJson(cluster_.resources(), grant->numa);
  } else if (auto nodes = freest(pod, demand); !nodes.empty()) {
    facts["nodes"] = std::move(nodes);
  }
  return facts.empty() ? json::value(nullptr) : json::value(std::move(facts));
}

std::string NodeNumaResource::remedyFor(const PodInfo& pod, NodeId node) const {
  const NumaDemand& demand = demandOf(pod);
  const NumaNode& about = table_.at(node);
  const NodeBind bind = bindOn(demand, about);
  if (!bind.binds()) {
    const auto policy = policyOf(demand, about);
    if (!policy)
      return fmt::format("request the node's NUMA policy {} or none", nameOf(about.policy));
    return "";
  }
  if (demand.milliCpu % 1000 != 0) return "request whole CPUs";
  if (!about.valid()) return "make koordlet report the CPU topology";
  const FreeCpus& free = table_.free(node).node;
  const int usable = free.usable(bind.policy, bind.required);
  if (usable >= demand.cpus) return "";
  if (bind.required && free.all >= demand.cpus)
    return fmt::format(
        "prefer {} instead of requiring it: {} CPUs are free, {} of them with this policy",
        nameOf(bind.policy), free.all, usable);
  return fmt::format("free {} more CPUs: {} of {} are neither held nor reserved",
                     demand.cpus - usable, usable, about.cpus().cpuCount());
}

}  // namespace koord::scheduler
