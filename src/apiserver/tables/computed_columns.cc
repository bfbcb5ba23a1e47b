#include "apiserver/tables/computed_columns.h"

#include <fmt/format.h>

#include <map>

namespace koord::apiserver {

namespace {

// "8 gpu, 4 rdma".
json::value devicesOf(const json::value& device) {
  const auto* devices = at(device, "spec", "devices");
  if (!devices || !devices->is_array()) return nullptr;
  std::map<std::string, int, std::less<>> counts;
  for (const auto& one : devices->get_array()) ++counts[std::string(textAt(one, "type"))];
  std::string out;
  for (const auto& [type, count] : counts)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, type.empty() ? "other" : type);
  return json::string(out);
}

json::value brokenOf(const json::value& device) {
  const auto* devices = at(device, "spec", "devices");
  if (!devices || !devices->is_array()) return nullptr;
  std::int64_t count = 0;
  for (const auto& one : devices->get_array())
    if (const auto* health = find(one, "health"); health && health->is_bool())
      count += health->get_bool() ? 0 : 1;
  return count;
}

json::value podsOf(const json::value& metric) {
  const auto* pods = at(metric, "status", "podsMetric");
  if (!pods || !pods->is_array()) return nullptr;
  return static_cast<std::int64_t>(pods->get_array().size());
}

}  // namespace

std::vector<ComputedColumn> computedColumns(const Resource& resource) {
  if (!resource.custom) return {};
  if (resource.is("scheduling.koordinator.sh", "devices"))
    return {{{"Devices", "string", "", "Number of devices of each type", 0}, devicesOf},
            {{"Broken", "integer", "", "Number of devices that do not work", 0}, brokenOf}};
  if (resource.is("slo.koordinator.sh", "nodemetrics"))
    return {{{"Pods", "integer", "", "Number of pods whose usage is reported", 0}, podsOf}};
  return {};
}

}  // namespace koord::apiserver
