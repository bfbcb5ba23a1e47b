#include "console/node_detail.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/core.h"
#include "api/device.h"
#include "api/slo.h"
#include "api/topology.h"
#include "console/rows/row.h"
#include "kube/client.h"
#include "kube/request_guard.h"
#include "model/node_names.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::console {

namespace {

json::object labelsJson(const api::Node& node) {
  json::object labels;
  for (const auto& [name, value] : node.metadata.labels) labels[name] = value;
  return labels;
}

json::array taintsJson(const api::Node& node) {
  json::array taints;
  for (const auto& taint : node.spec.taints)
    taints.emplace_back(fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=",
                                    taint.value, taint.effect));
  return taints;
}

// {"detail": [{"id", "core", "socket", "node"}]} as {"id", "core", "numa", "socket"}.
json::array cpusJson(const api::NodeResourceTopology& topology) {
  json::array cpus;
  const auto* text = api::findIn(topology.metadata.annotations, model::kAnnotationCpuTopology);
  const auto document = text ? parseJson(*text) : Result<json::value>(json::value());
  const json::value* detail = document ? find(*document, "detail") : nullptr;
  if (!detail || !detail->is_array()) return cpus;
  const auto number = [](const json::value& cpu, std::string_view key) {
    return wholeNumber(memberOf(cpu, key)).value_or(0);
  };
  for (const auto& cpu : detail->get_array())
    cpus.push_back(json::object{{"id", number(cpu, "id")},
                                {"core", number(cpu, "core")},
                                {"numa", number(cpu, "node")},
                                {"socket", number(cpu, "socket")}});
  return cpus;
}

std::int64_t shownAmount(const std::string& resource, const Quantity& amount) {
  if (resource == model::kCpu) return amount.milliValue();
  return resource.ends_with("memory") ? mebibytes(amount) : amount.value();
}

json::array zonesJson(const api::NodeResourceTopology& topology) {
  json::array zones;
  for (const auto& zone : topology.zones) {
    json::array resources;
    for (const auto& resource : zone.resources)
      resources.push_back(
          json::object{{"name", resource.name},
                       {"allocatable", shownAmount(resource.name, resource.allocatable)},
                       {"available", shownAmount(resource.name, resource.available)}});
    zones.push_back(json::object{{"name", zone.name}, {"resources", std::move(resources)}});
  }
  return zones;
}

json::array devicesJson(const api::Device& device) {
  json::array devices;
  for (const auto& one : device.spec.devices) {
    json::object out{{"type", one.type},
                     {"minor", one.minor.value_or(0)},
                     {"numa", one.topology ? one.topology->nodeID : -1},
                     {"healthy", one.health},
                     {"memory", mebibytes(model::amountOf(one.resources, model::kGpuMemory))}};
    for (const auto& condition : one.conditions)
      if (!condition.message.empty()) out["message"] = condition.message;
    devices.push_back(std::move(out));
  }
  std::ranges::sort(devices, {}, [](const json::value& one) {
    return std::pair(std::string(textAt(one, "type")), wholeNumber(memberOf(one, "minor")));
  });
  return devices;
}

json::value sloJson(const api::NodeSLO& slo) {
  const auto& threshold = slo.spec.resourceUsedThresholdWithBE;
  if (!threshold) return nullptr;
  return json::object{
      {"suppress", threshold->enable.value_or(false)},
      {"suppressPercent", threshold->cpuSuppressThresholdPercent.value_or(65)},
      {"memoryEvictPercent",
       threshold->enable.value_or(false) ? threshold->memoryEvictThresholdPercent.value_or(70) : 0},
      {"cpuEvictPercent", threshold->cpuEvictThresholdPercent.value_or(0)}};
}

json::object usageJson(const api::NodeMetric& metric, const Part& pods) {
  json::object usage;
  for (const auto& pod : metric.status.podsMetric) {
    const std::string key = pod.namespace_ + "/" + pod.name;
    if (!pods.shows(key)) continue;
    usage[key] = json::array{model::amountOf(pod.podUsage.resources, model::kCpu).milliValue(),
                             mebibytes(model::amountOf(pod.podUsage.resources, model::kMemory))};
  }
  return usage;
}

// As the API server takes it. Without a name, a request for an object would list all of them.
bool isNodeName(std::string_view name) {
  const auto isInner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return isInner(c) || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 253 && std::ranges::all_of(name, allowed) &&
         isInner(name.front()) && isInner(name.back());
}

// Reads the object if the viewer may.
template <class T>
Task<Result<T>> readFor(kube::Api& api, std::string name, std::shared_ptr<const Viewer> viewer) {
  if (const auto& caller = viewer->caller()) {
    kube::ResourceAccess access{
        "get", std::string(T::kType.group), std::string(T::kType.plural), "", "", name};
    auto asking = caller->may(std::move(access));
    const auto allowed = co_await asking;
    if (!allowed) co_return fail(Error(allowed.error()));
    if (!*allowed) co_return fail(ErrorCode::Forbidden, "you may not read it");
  }
  auto reading = kube::get<T>(api, api::ObjectKey{"", std::move(name)});
  auto object = co_await reading;
  co_return object;
}

}  // namespace

Task<Result<json::value>> nodeDetail(kube::Api& api, std::string name, AskKoordlet koordlet,
                                     std::shared_ptr<const Viewer> viewer) {
  if (!isNodeName(name)) co_return fail(ErrorCode::Invalid, "name: must be that of a node");
  auto readingNode = readFor<api::Node>(api, name, viewer);
  auto node = co_await readingNode;
  json::object out;
  if (node) {
    out["labels"] = labelsJson(*node);
    out["taints"] = taintsJson(*node);
  } else if (node.error().code != ErrorCode::Forbidden) {
    co_return fail(std::move(node.error()));
  }
  auto readingTopology = readFor<api::NodeResourceTopology>(api, name, viewer);
  auto topology = co_await readingTopology;
  if (topology) {
    out["cpus"] = cpusJson(*topology);
    out["zones"] = zonesJson(*topology);
  }
  auto readingDevice = readFor<api::Device>(api, name, viewer);
  auto device = co_await readingDevice;
  if (device) out["devices"] = devicesJson(*device);
  auto readingSlo = readFor<api::NodeSLO>(api, name, viewer);
  auto slo = co_await readingSlo;
  if (slo) out["slo"] = sloJson(*slo);
  auto readingMetric = readFor<api::NodeMetric>(api, name, viewer);
  auto metric = co_await readingMetric;
  const auto view = viewer->view();
  if (metric && view) out["usage"] = usageJson(*metric, view->of(TableId::Pods));
  if (koordlet && !viewer->caller()) {
    auto asking = koordlet(name);
    const std::vector<std::string> lines = co_await asking;
    json::array texts;
    for (const auto& line : lines) texts.emplace_back(line);
    out["koordlet"] = std::move(texts);
  }
  co_return json::value(std::move(out));
}

}  // namespace koord::console
