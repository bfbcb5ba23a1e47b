#include "koordlet/topology/node_topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "koordlet/system/take_cpus.h"
#include "model/node_names.h"
#include "model/node_reservation.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

// The number of CPUs of an amount; a fraction of a CPU counts as one.
int wholeCpus(std::int64_t milli, const CpuTopology& cpus) {
  const auto all = static_cast<std::int64_t>(cpus.count());
  return static_cast<int>(std::clamp<std::int64_t>((milli + 999) / 1000, 0, all));
}

CpuSet listed(std::string_view text) {
  return CpuSet::parse(text).value_or(CpuSet{});
}

struct Status {
  CpuSet cpus;
  model::Qos qos = model::Qos::None;
};
std::optional<Status> pinnedBy(const PodView& view) {
  const auto* text = api::findIn(view.pod->metadata.annotations, model::kAnnotationResourceStatus);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  if (!document) return std::nullopt;
  CpuSet cpus = listed(textAt(*document, "cpuset"));
  if (cpus.empty()) return std::nullopt;
  return Status{std::move(cpus), view.qos};
}

json::value cpuDetail(const CpuTopology& topology) {
  std::vector<CpuPlace> places = topology.cpus;
  std::ranges::sort(places, {}, &CpuPlace::cpu);
  json::array detail;
  for (const auto& place : places)
    detail.push_back(json::object{
        {"id", place.cpu}, {"core", place.core}, {"socket", place.socket}, {"node", place.node}});
  return json::object{{"detail", std::move(detail)}};
}

json::value basicInfo(const CpuBasicInfo& basic) {
  json::object info;
  if (!basic.model.empty()) info["cpuModel"] = basic.model;
  if (basic.hyperThreading) info["hyperThreadEnabled"] = true;
  if (basic.turbo) info["turboEnabled"] = true;
  if (!basic.l3WaysMask.empty()) info["catL3CbmMask"] = basic.l3WaysMask;
  if (!basic.vendor.empty()) info["vendorID"] = basic.vendor;
  return info;
}

// Each NUMA node of each socket with its CPUs in the pool; nodes without any have an entry, too.
json::value poolsOf(const CpuTopology& topology, const CpuSet& pool) {
  std::map<std::pair<int, int>, CpuSet> places;
  for (const auto& place : topology.cpus) {
    CpuSet& cpus = places[{place.socket, place.node}];
    if (pool.contains(place.cpu)) cpus.add(place.cpu);
  }
  json::array pools;
  for (const auto& [place, cpus] : places) {
    json::object entry{{"socket", place.first}, {"node", place.second}};
    if (!cpus.empty()) entry["cpuset"] = cpus.toString();
    pools.push_back(std::move(entry));
  }
  return pools;
}

// The annotation about kubelet's CPU manager; with a static policy it includes the reserved CPUs.
json::value managerPolicy(const NodeTopologyInput& input) {
  json::object policy;
  if (!input.kubelet) return policy;
  const KubeletCpuConfig& kubelet = *input.kubelet;
  if (!kubelet.cpuManagerPolicy.empty()) policy["policy"] = kubelet.cpuManagerPolicy;
  json::object options;
  for (const auto& [name, value] : kubelet.cpuManagerOptions) options[name] = value;
  if (!options.empty()) policy["options"] = std::move(options);
  if (kubelet.cpuManagerPolicy != "static") return policy;
  CpuSet reserved = listed(kubelet.reservedCpus);
  if (reserved.empty())
    reserved =
        takeByTopology(input.cpus, input.cpus.all(), wholeCpus(kubelet.reservedMilli, input.cpus))
            .value_or(CpuSet{});
  if (!reserved.empty()) policy["reservedCPUs"] = reserved.toString();
  return policy;
}

// Calls fn(pod, cpus) for each pod to which kubelet assigned CPUs.
template <class Fn>
void forEachOwner(const CpuManagerState& state, const std::vector<PodView>& pods, Fn fn) {
  if (!state.isStatic()) return;
  for (const auto& [uid, cpus] : state.owned) {
    const auto view = std::ranges::find(pods, uid, [](const PodView& pod) { return pod.uid(); });
    if (cpus.empty() || view == pods.end()) continue;
    if (view->qos == model::Qos::LS || view->qos == model::Qos::BE || pinnedBy(*view)) continue;
    fn(*view, cpus);
  }
}

json::value kubeletAllocs(const NodeTopologyInput& input) {
  json::array allocs;
  forEachOwner(input.state, input.pods, [&](const PodView& view, const CpuSet& cpus) {
    allocs.push_back(json::object{{"namespace", view.pod->metadata.namespace_},
                                  {"name", view.pod->metadata.name},
                                  {"uid", view.uid()},
                                  {"cpuset", cpus.toString()},
                                  {"managedByKubelet", true}});
  });
  return allocs.empty() ? json::value() : json::value(std::move(allocs));
}

// CPUs reserved for processes outside of Kubernetes; fills in the annotation.
CpuSet reservation(const api::Node& node, const CpuTopology& topology, json::object& annotation) {
  const auto read = model::readNodeReservation(node.metadata.annotations);
  if (!read || !*read) return {};
  const model::NodeReservation& given = **read;
  if (!given.resources.empty()) {
    json::object resources;
    for (const auto& [name, amount] : given.resources)
      resources[std::string_view(name)] = amount.toString();
    annotation["resources"] = std::move(resources);
  }
  if (!given.applyPolicy.empty()) annotation["applyPolicy"] = given.applyPolicy;
  const std::int64_t milli = model::amountOf(given.resources, model::kCpu).milliValue();
  const CpuSet reserved =
      !given.reservedCPUs.empty()
          ? listed(given.reservedCPUs)
          : takeByTopology(topology, topology.all(), wholeCpus(milli, topology)).value_or(CpuSet{});
  if (!reserved.empty()) annotation["reservedCPUs"] = reserved.toString();
  return reserved;
}

struct SystemCpus {
  CpuSet all;
  bool exclusive = true;  // true if other pods may not use them
};
SystemCpus systemQos(const api::Node& node, json::value& annotation) {
  annotation = json::object();
  const auto* text = api::findIn(node.metadata.annotations, model::kAnnotationSystemQosResource);
  auto document = text ? parseJson(*text) : Result<json::value>(json::object());
  if (!document || !document->is_object()) return {};
  const auto* exclusive = find(*document, "cpusetExclusive");
  const bool shared = exclusive && exclusive->is_bool() && !exclusive->get_bool();
  SystemCpus cpus{listed(textAt(*document, "cpuset")), !shared};
  annotation = *std::move(document);
  return cpus;
}

std::string policyName(const KubeletCpuConfig& kubelet) {
  const std::string level = kubelet.topologyScope == "pod" ? "PodLevel" : "ContainerLevel";
  if (kubelet.topologyPolicy == "single-numa-node") return "SingleNUMANode" + level;
  if (kubelet.topologyPolicy == "restricted") return "Restricted" + level;
  if (kubelet.topologyPolicy == "best-effort") return "BestEffort" + level;
  return "None";
}

void addZones(const NodeTopologyInput& input, NodeTopology& result) {
  const bool reserves = result.numaReservation == "true";
  const auto count = static_cast<std::int64_t>(input.zoneMemory.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto cpus = std::ranges::count(input.cpus.cpus, static_cast<int>(i), &CpuPlace::node);
    NodeTopology::Zone zone;
    zone.name = fmt::format("node-{}", i);
    zone.capacity[model::kCpu] = Quantity::of(cpus);
    const auto bytes = [](std::int64_t amount) {
      return Quantity::of(amount, Quantity::Format::BinarySI);
    };
    const ZoneMemory& memory = input.zoneMemory[static_cast<std::size_t>(i)];
    zone.capacity[model::kMemory] = bytes(memory.total);
    zone.capacity[kHugePages2Mi] = bytes(input.hugePages ? memory.hugePages2Mi : 0);
    zone.capacity[kHugePages1Gi] = bytes(input.hugePages ? memory.hugePages1Gi : 0);
    zone.allocatable = zone.capacity;
    // The node's reserved resources are split over its zones.
    const auto& status = input.node.status;
    const auto kept = [&](std::string_view name) {
      const std::int64_t milli = model::amountOf(status.capacity, name).milliValue() -
                                 model::amountOf(status.allocatable, name).milliValue();
      return reserves && milli > 0 ? (milli + count - 1) / count : 0;
    };
    zone.allocatable[model::kCpu] =
        Quantity::ofMilli(std::max<std::int64_t>(cpus * 1000 - kept(model::kCpu), 0));
    zone.allocatable[model::kMemory] =
        bytes(std::max<std::int64_t>(memory.total - (kept(model::kMemory) + 999) / 1000, 0));
    result.zones.push_back(std::move(zone));
  }
}

}  // namespace

Result<KubeletCpuConfig> kubeletCpuConfigOf(const json::value& configz) {
  const auto* config = find(configz, "kubeletconfig");
  if (!config || !config->is_object())
    return fail(ErrorCode::Invalid, "kubelet's /configz has no kubeletconfig");
  KubeletCpuConfig result;
  result.cpuManagerPolicy = textAt(*config, "cpuManagerPolicy");
  result.reservedCpus = textAt(*config, "reservedSystemCPUs");
  result.topologyPolicy = textAt(*config, "topologyManagerPolicy");
  result.topologyScope = textAt(*config, "topologyManagerScope");
  if (const auto* options = find(*config, "cpuManagerPolicyOptions");
      options && options->is_object())
    for (const auto& [name, value] : options->get_object())
      if (value.is_string()) result.cpuManagerOptions[name] = std::string(value.get_string());
  for (const auto* section : {"systemReserved", "kubeReserved"})
    if (const auto amount = Quantity::parse(textAt(*config, section, "cpu")))
      result.reservedMilli += amount->milliValue();
  return result;
}

CpuSet CpuPools::onNodes(const CpuTopology& cpus, const CpuSet& pool,
                         const std::vector<int>& nodes) {
  CpuSet result;
  for (const auto& place : cpus.cpus)
    if (pool.contains(place.cpu) && std::ranges::find(nodes, place.node) != nodes.end())
      result.add(place.cpu);
  return result;
}

CpuPools cpuPools(const api::Node& node, const CpuTopology& cpus, const CpuManagerState& state,
                  const std::vector<PodView>& pods) {
  json::object reserved;
  json::value annotation;
  const SystemCpus system = systemQos(node, annotation);
  CpuPools pools;
  pools.kubeletIsStatic = state.isStatic();
  pools.systemQos = system.all;
  pools.shared = cpus.all().difference(reservation(node, cpus, reserved));
  if (system.exclusive) pools.shared = pools.shared.difference(system.all);
  forEachOwner(state, pods, [&](const PodView&, const CpuSet& owned) {
    pools.shared = pools.shared.difference(owned);
  });
  pools.bestEffort = pools.shared;
  for (const auto& view : pods) {
    const auto pinned = view.active() ? pinnedBy(view) : std::nullopt;
    if (!pinned) continue;
    pools.shared = pools.shared.difference(pinned->cpus);
    if (pinned->qos == model::Qos::LSE)
      pools.bestEffort = pools.bestEffort.difference(pinned->cpus);
  }
  return pools;
}

Result<NodeTopology> nodeTopology(const NodeTopologyInput& input) {
  int nodes = 0;
  for (const auto& place : input.cpus.cpus) nodes = std::max(nodes, place.node + 1);
  if (nodes != static_cast<int>(input.zoneMemory.size()))
    return fail(ErrorCode::Invalid, fmt::format("CPUs are on {} NUMA nodes, memory on {}", nodes,
                                                input.zoneMemory.size()));
  NodeTopology result;
  json::object reserved;
  json::value system;
  (void)reservation(input.node, input.cpus, reserved);
  (void)systemQos(input.node, system);
  const CpuPools pools = cpuPools(input.node, input.cpus, input.state, input.pods);
  result.annotations[std::string(model::kAnnotationPodCpuAllocs)] = kubeletAllocs(input);
  result.annotations[std::string(model::kAnnotationCpuBasicInfo)] = basicInfo(input.basic);
  result.annotations[std::string(model::kAnnotationCpuTopology)] = cpuDetail(input.cpus);
  result.annotations[std::string(model::kAnnotationCpuSharedPools)] =
      poolsOf(input.cpus, pools.shared);
  result.annotations[std::string(model::kAnnotationBeCpuSharedPools)] =
      poolsOf(input.cpus, pools.bestEffort);
  result.annotations[std::string(model::kAnnotationKubeletCpus)] = managerPolicy(input);
  result.annotations[std::string(model::kAnnotationNodeReservation)] = std::move(reserved);
  result.annotations[std::string(model::kAnnotationSystemQosResource)] = std::move(system);
  if (const auto* label = api::findIn(input.node.metadata.labels, model::kLabelNumaReservation);
      label && !label->empty())
    result.numaReservation = *label;
  result.policies = {input.kubelet ? policyName(*input.kubelet) : "None"};
  addZones(input, result);
  return result;
}

}  // namespace koord::koordlet
