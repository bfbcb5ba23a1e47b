#include "manager/noderesource/batch_zones.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "api/quantity_json.h"
#include "manager/noderesource/batch_resource.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

// An even part, rounded up to thousandths.
Quantity part(const Quantity& whole, std::int64_t parts) {
  const std::int64_t milli = whole.milliValue();
  return Quantity::ofMilli(milli / parts + (milli % parts > 0 ? 1 : 0), whole.format());
}
CpuMemory part(const CpuMemory& whole, std::int64_t parts) {
  return {part(whole.cpu, parts), part(whole.memory, parts)};
}

// "node-1" is NUMA node 1, wherever it stands in the list.
std::int64_t numaIdOf(const api::TopologyZone& zone, std::size_t position) {
  constexpr std::string_view kPrefix = "node-";
  if (!zone.name.starts_with(kPrefix)) return static_cast<std::int64_t>(position);
  std::int64_t id = 0;
  const char* end = zone.name.data() + zone.name.size();
  const auto [stop, error] = std::from_chars(zone.name.data() + kPrefix.size(), end, id);
  return error == std::errc{} && stop == end ? id : static_cast<std::int64_t>(position);
}

CpuMemory capacityOf(const api::TopologyZone& zone) {
  CpuMemory capacity;
  for (const auto& resource : zone.resources) {
    if (resource.name == model::kCpu) capacity.cpu = resource.allocatable;
    if (resource.name == model::kMemory) capacity.memory = resource.allocatable;
  }
  return capacity;
}

bool hasNativeResources(const api::NodeResourceTopology& topology) {
  return std::ranges::any_of(topology.zones, [](const api::TopologyZone& zone) {
    return std::ranges::any_of(zone.resources, [](const api::ZoneResource& resource) {
      return resource.name == model::kCpu || resource.name == model::kMemory;
    });
  });
}

// The NUMA nodes on which the scheduler allocated resources to the pod.
std::set<std::int64_t> numaNodesOf(const api::Pod& pod) {
  std::set<std::int64_t> ids;
  const auto* text = api::findIn(pod.metadata.annotations, model::kAnnotationResourceStatus);
  if (!text) return ids;
  const auto status = parseJson(*text);
  if (!status) return ids;
  const auto* resources = find(*status, "numaNodeResources");
  if (!resources || !resources->is_array()) return ids;
  for (const auto& entry : resources->get_array()) {
    const auto* node = find(entry, "node");
    if (!node) {
      ids.insert(0);
    } else if (node->is_int64()) {
      ids.insert(node->get_int64());
    }
  }
  return ids;
}

void addTo(HighPriorityUsage& sum, const HighPriorityUsage& share, std::int64_t parts) {
  sum.request += part(share.request, parts);
  sum.used += part(share.used, parts);
  sum.maxUsageRequest += part(share.maxUsageRequest, parts);
}

// The sums of each zone.
std::vector<HighPriorityUsage> usageOfZones(const NodeView& view,
                                            const std::vector<std::int64_t>& ids) {
  std::vector<HighPriorityUsage> zones(ids.size());
  visitHighPriority(view, [&](const api::Pod* pod, const HighPriorityUsage& given) {
    HighPriorityUsage share = given;
    // A pod without measurements may use its whole request.
    if (pod) share.maxUsageRequest = max(share.maxUsageRequest, share.request);
    std::vector<std::size_t> places;
    if (pod) {
      const auto nodes = numaNodesOf(*pod);
      for (std::size_t i = 0; i < ids.size(); ++i)
        if (nodes.contains(ids[i])) places.push_back(i);
    }
    if (places.empty()) {
      for (auto& zone : zones) addTo(zone, share, static_cast<std::int64_t>(zones.size()));
    } else {
      for (const auto place : places)
        addTo(zones[place], share, static_cast<std::int64_t>(places.size()));
    }
  });
  return zones;
}

// Writes one value of a resource in a zone. Returns true if it changed enough to write.
bool writeValue(json::object& resource, const char* field, const Quantity& amount,
                double threshold) {
  const json::value* old = resource.if_contains(field);
  const auto before =
      old ? api::readQuantity(*old) : Result<Quantity>(fail(ErrorCode::NotFound, ""));
  if (before) {
    const auto oldMilli = static_cast<double>(before->milliValue());
    const auto newMilli = static_cast<double>(amount.milliValue());
    if (std::abs(newMilli - oldMilli) <= oldMilli * threshold) return false;
  }
  resource[field] = amount.toString();
  return true;
}

bool writeResource(json::array& resources, std::string_view name,
                   const std::optional<Quantity>& amount, double threshold) {
  const auto place = std::ranges::find_if(
      resources, [&](const json::value& entry) { return textAt(entry, "name") == name; });
  if (!amount) {
    if (place == resources.end()) return false;
    resources.erase(place);
    return true;
  }
  if (place != resources.end() && place->is_object()) {
    bool changed = false;
    for (const char* field : {"capacity", "allocatable", "available"})
      changed |= writeValue(place->get_object(), field, *amount, threshold);
    return changed;
  }
  const std::string text = amount->toString();
  resources.push_back(json::object{{"name", json::string_view(name.data(), name.size())},
                                   {"capacity", text},
                                   {"allocatable", text},
                                   {"available", text}});
  std::ranges::sort(resources, {},
                    [](const json::value& entry) { return std::string(textAt(entry, "name")); });
  return true;
}

}  // namespace

ZoneAmounts batchZones(const NodeView& view, bool offered) {
  if (!view.topology || !hasNativeResources(*view.topology)) return {};
  const auto& zones = view.topology->zones;
  ZoneAmounts amounts(zones.size());
  if (!offered) return amounts;
  const auto count = static_cast<std::int64_t>(zones.size());
  const CpuMemory reserved = part(nodeReserved(view.node), count);
  const CpuMemory system = part(systemUsage(view), count);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < zones.size(); ++i) ids.push_back(numaIdOf(zones[i], i));
  const auto usage = usageOfZones(view, ids);
  for (std::size_t i = 0; i < zones.size(); ++i)
    amounts[i] = batchOf(view.strategy, {capacityOf(zones[i]), reserved, system, usage[i]});
  return amounts;
}

bool writeZones(json::value& zones, const ZoneAmounts& amounts, double ratio, double threshold) {
  auto* list = zones.if_array();
  if (!list) return false;
  bool changed = false;
  for (std::size_t i = 0; i < list->size() && i < amounts.size(); ++i) {
    json::object* zone = (*list)[i].if_object();
    if (!zone) continue;
    json::value& resources = (*zone)["resources"];
    if (!resources.is_array()) resources.emplace_array();
    std::optional<Quantity> cpu, memory;
    if (amounts[i]) {
      cpu = Quantity::of(amounts[i]->cpu.milliValue());
      if (ratio > 1) cpu = milliShare(*cpu, ratio);
      memory = amounts[i]->memory;
    }
    changed |= writeResource(resources.get_array(), model::kBatchCpu, cpu, threshold);
    changed |= writeResource(resources.get_array(), model::kBatchMemory, memory, threshold);
  }
  return changed;
}

}  // namespace koord::manager
