// HTTP endpoints about devices, facts for explain, and metrics.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "model/node_names.h"
#include "model/well_known.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::size_t kNodesShown = 10;

json::object amountsJson(const DeviceAmounts& amounts) {
  json::object out;
  for (const auto& [name, amount] : amounts.toList()) out[name] = amount.toString();
  return out;
}

// Calls fn(minor, total, used) for every device that is listed or in use. `use` is what pods have,
// or that and what resource claims have (DeviceTable::useOn).
template <class F>
void forEachDevice(const NodeDevices& node, const DeviceUse& use, DeviceType type, F&& fn) {
  std::map<int, std::pair<DeviceAmounts, DeviceAmounts>> devices;
  for (const KnownDevice& known : node.inventory.of(type)) devices[known.minor].first = known.total;
  for (const auto& [minor, used] : use.of(type)) devices[minor].second = used;
  for (const auto& [minor, amounts] : devices) fn(minor, amounts.first, amounts.second);
}

// The use of the GPUs of a cluster.
struct GpuCount {
  int idle = 0;
  int shared = 0;
  int full = 0;
  int unhealthy = 0;
  std::int64_t free = 0;       // percent of GPUs
  std::int64_t freeParts = 0;  // of shared GPUs

  void add(const DeviceAmounts& total, const DeviceAmounts& used) {
    const std::int64_t all = total[DeviceResource::GpuCore];
    const std::int64_t left = std::min(total.minus(used)[DeviceResource::GpuCore],
                                       total.minus(used)[DeviceResource::GpuMemoryRatio]);
    if (total.isZero()) {
      ++unhealthy;
    } else if (used.isZero()) {
      ++idle;
    } else {
      left > 0 ? ++shared : ++full;
      freeParts += std::max<std::int64_t>(left, 0);
    }
    free += used.isZero() ? all : std::max<std::int64_t>(left, 0);
  }
};

std::string textOfGpus(const NodeDevices& node, const DeviceUse& use) {
  GpuCount count;
  forEachDevice(
      node, use, DeviceType::Gpu,
      [&](int, const DeviceAmounts& total, const DeviceAmounts& used) { count.add(total, used); });
  std::string text =
      fmt::format("{} idle, {} shared, {} full", count.idle, count.shared, count.full);
  if (count.unhealthy > 0) text += fmt::format(", {} unhealthy", count.unhealthy);
  return text;
}

std::string textOfFree(const DeviceAmounts& total, const DeviceAmounts& used) {
  if (total.isZero()) return "unhealthy";
  if (used.isZero()) return "idle";
  std::string text;
  for (const auto& [name, amount] : total.minus(used).toList())
    if (!amount.isZero())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", amount.toString(),
                          name.substr(name.find('/') + 1));
  return text.empty() ? "full" : text + " free";
}

}  // namespace

// --- HTTP endpoints: upstream's, the location of devices, and which of them resource claims have.

json::object DeviceShare::describe(NodeId node) const {
  const NodeDevices& here = table_.rowOf(node);
  const std::vector<DeviceNumber> claimed = table_.claimedOn(here);
  DeviceAmounts total, free, used;
  json::object totals, frees, useds, holders, places, claims;
  for (const DeviceType type : kDeviceTypes) {
    json::object totalOf, freeOf, usedOf;
    json::array claimedOf;
    const auto add = [&](int minor, const DeviceAmounts& all, const DeviceAmounts& taken) {
      const std::string key = std::to_string(minor);
      const bool isClaimed = std::ranges::binary_search(claimed, numberOf(type, minor));
      if (isClaimed) claimedOf.emplace_back(minor);
      const DeviceAmounts left = all.minus(isClaimed ? all : taken);
      totalOf[key] = amountsJson(all);
      freeOf[key] = amountsJson(all.isZero() ? DeviceAmounts() : left);
      if (!taken.isZero()) usedOf[key] = amountsJson(taken);
      total.add(all);
      if (!all.isZero()) free.add(left);
      used.add(taken);
    };
    forEachDevice(here, here.use, type, add);
    if (!claimedOf.empty()) claims[nameOf(type)] = std::move(claimedOf);
    if (totalOf.empty()) continue;
    json::object placesOf;
    for (const KnownDevice& known : here.inventory.of(type))
      if (const auto* topology = known.topology())
        placesOf[std::to_string(known.minor)] =
            json::object{{"nodeID", topology->nodeID}, {"pcieID", topology->pcieID}};
    if (!placesOf.empty()) places[nameOf(type)] = std::move(placesOf);
    totals[nameOf(type)] = std::move(totalOf);
    frees[nameOf(type)] = std::move(freeOf);
    if (!usedOf.empty()) useds[nameOf(type)] = std::move(usedOf);
  }
  table_.forEachPod(node, [&](const PodInfo& pod, const DeviceGrant& grant) {
    for (const DeviceType type : kDeviceTypes) {
      if (at(grant.given, type).empty()) continue;
      json::object devices;
      for (const AllocatedDevice& device : at(grant.given, type))
        devices[std::to_string(device.minor)] = amountsJson(device.amounts);
      json::value& byPod = holders[nameOf(type)];
      if (!byPod.is_object()) byPod = json::object();
      byPod.get_object()[pod.key()] = std::move(devices);
    }
  });
  json::object answer{
      {"deviceTotal", amountsJson(total)},    {"deviceFree", amountsJson(free)},
      {"deviceUsed", amountsJson(used)},      {"deviceTotalDetail", std::move(totals)},
      {"deviceFreeDetail", std::move(frees)}, {"deviceUsedDetail", std::move(useds)},
      {"allocateSet", std::move(holders)},    {"devicePlaces", std::move(places)}};
  if (!claims.empty()) answer["devicesOfClaims"] = std::move(claims);
  return answer;
}

Result<json::value> DeviceShare::summaryOf(const std::string& name) const {
  const auto node = cluster_.findNode(name);
  if (!node || !table_.at(*node))
    return fail(ErrorCode::NotFound, fmt::format("cannot find node {}", name));
  return json::value(describe(*node));
}

std::vector<ServicePlugin::Route> DeviceShare::routes() {
  return {{.path = "nodeDeviceSummaries",
           .shown = "nodeDeviceSummaries",
           .answer = [this](const std::string&) -> Result<json::value> {
             json::object all;
             cluster_.live().forEach([&](NodeId node) {
               if (table_.at(node)) all[cluster_.node(node).name] = describe(node);
             });
             return json::value(std::move(all));
           },
           .open = true},
          {.path = "nodeDeviceSummaries/",
           .shown = "nodeDeviceSummaries/:name",
           .answer = [this](const std::string& name) { return summaryOf(name); },
           .open = true}};
}

// --- For explain.

std::string DeviceShare::remedyFor(const PodInfo& pod, NodeId node) const {
  const PodDevices& devices = of(pod, node);
  const NodeDevices* here = table_.at(node);
  if (!here || !devices.error.empty()) return "";
  if (!devices.demand.wants(DeviceType::Gpu)) return "";
  DeviceUse space;
  std::string text =
      fmt::format("free GPUs there: {}", textOfGpus(*here, table_.useOn(*here, space)));
  const auto isGpu = [](DeviceNumber number) { return deviceOf(number).first == DeviceType::Gpu; };
  const auto claimed = std::ranges::count_if(table_.claimedOn(*here), isGpu);
  if (claimed > 0) text += fmt::format("; {} of them allocated to resource claims", claimed);
  return text;
}

// The nodes that have some of the requested devices free. The nodes with most left come first.
void DeviceShare::addNodes(const PodDevices& devices, const PodInfo& pod,
                           json::object& facts) const {
  std::vector<std::pair<std::int64_t, NodeId>> order;
  cluster_.live().forEach([&](NodeId node) {
    const NodeDevices* here = table_.at(node);
    if (!here) return;
    std::int64_t free = 0;
    DeviceUse space;
    const DeviceUse& use = table_.useOn(*here, space);
    for (const DeviceType type : kDeviceTypes)
      if (devices.demand.wants(type))
        forEachDevice(*here, use, type,
                      [&](int, const DeviceAmounts& total, const DeviceAmounts& used) {
                        free += used.isZero() && !total.isZero() ? 1 : 0;
                      });
    order.emplace_back(-free, node);
  });
  std::ranges::sort(order);
  json::array nodes;
  for (std::size_t i = 0; i < std::min(order.size(), kNodesShown); ++i) {
    const NodeDevices& here = *table_.at(order[i].second);
    json::object lines;
    const std::vector<DeviceNumber> claimed = table_.claimedOn(here);
    for (const DeviceType type : kDeviceTypes) {
      if (!devices.demand.wants(type)) continue;
      json::object free;
      forEachDevice(here, here.use, type,
                    [&](int minor, const DeviceAmounts& total, const DeviceAmounts& used) {
                      const bool isClaimed =
                          std::ranges::binary_search(claimed, numberOf(type, minor));
                      free[std::to_string(minor)] =
                          isClaimed ? "allocated to a resource claim" : textOfFree(total, used);
                    });
      lines[nameOf(type)] = std::move(free);
    }
    const Status status = judge(pod, order[i].second, true);
    json::object shown{{"node", here.name},
                       {"fits", status.ok()},
                       {"reason", status.message()},
                       {"devices", std::move(lines)}};
    if (status.ok()) addOutlook(pod, order[i].second, shown);
    nodes.push_back(std::move(shown));
  }
  facts["nodes"] = std::move(nodes);
  facts["nodesWithDevices"] = order.size();
}

// Its request, its allocation, and the nodes that have some left.
json::value DeviceShare::factsOf(const PodInfo& pod) const {
  const PodDevices& devices = of(pod);
  const DeviceGrant* grant = table_.grantOf(pod.uid());
  if (!devices.wanted() && devices.error.empty() && !grant) return nullptr;
  json::object facts;
  if (!devices.error.empty()) facts["message"] = devices.error;
  json::object requests;
  for (const DeviceType type : kDeviceTypes) {
    if (!devices.demand.wants(type)) continue;
    json::object amounts;
    for (const auto& [name, amount] : at(devices.demand.requests, type))
      amounts[name] = amount.toString();
    requests[nameOf(type)] = std::move(amounts);
  }
  if (!requests.empty()) facts["requests"] = std::move(requests);
  if (!devices.demand.ignored.empty()) {
    json::array ignored;
    for (const std::string& each : devices.demand.ignored) ignored.push_back(json::string(each));
    facts["ignored"] = std::move(ignored);
  }
  if (grant) {
    const Cluster::PodRecord* record = cluster_.findPod(pod.uid());
    const NodeDevices& here = table_.rowOf(record->node);
    facts["node"] = cluster_.node(record->node).name;
    facts["devices"] = describeAllocatedDevices(grant->given, here.inventory);
    if (const std::string reason = reasonFor(devices, here, grant->given); !reason.empty())
      facts["because"] = reason;
    if (!grant->reservation.empty()) facts["reservation"] = grant->reservation;
    return facts;
  }
  if (!devices.wanted()) return facts;
  addNodes(devices, pod, facts);
  return facts;
}

// --- Metrics.

std::string DeviceShare::metrics() const {
  GpuCount count;
  std::string text =
      "# HELP scheduler_secondary_device_not_well_planned Nodes whose Device has fewer secondary "
      "than primary devices\n# TYPE scheduler_secondary_device_not_well_planned gauge\n";
  cluster_.live().forEach([&](NodeId node) {
    const NodeDevices* here = table_.at(node);
    if (!here) return;
    DeviceUse space;
    forEachDevice(*here, table_.useOn(*here, space), DeviceType::Gpu,
                  [&](int, const DeviceAmounts& total, const DeviceAmounts& used) {
                    count.add(total, used);
                  });
    const api::Device* device = here->inventory.device();
    const std::string* planned =
        device ? api::findIn(device->metadata.labels, model::kLabelSecondaryWellPlanned) : nullptr;
    if (planned && *planned == "false")
      text += fmt::format("scheduler_secondary_device_not_well_planned{{node_name=\"{}\"}} 1\n",
                          here->name);
  });
  text += fmt::format(
      "# HELP scheduler_gpus GPUs of all nodes, by state: idle, shared, full or unhealthy\n"
      "# TYPE scheduler_gpus gauge\n"
      "scheduler_gpus{{state=\"idle\"}} {}\nscheduler_gpus{{state=\"shared\"}} {}\n"
      "scheduler_gpus{{state=\"full\"}} {}\nscheduler_gpus{{state=\"unhealthy\"}} {}\n"
      "# HELP scheduler_gpu_fragmentation_ratio Share of the free GPU capacity that is on "
      "GPUs in use\n"
      "# TYPE scheduler_gpu_fragmentation_ratio gauge\n"
      "scheduler_gpu_fragmentation_ratio {:.4f}\n",
      count.idle, count.shared, count.full, count.unhealthy,
      count.free == 0 ? 0.0
                      : static_cast<double>(count.freeParts) / static_cast<double>(count.free));
  return text;
}

}  // namespace koord::scheduler
