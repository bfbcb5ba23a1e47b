#include "manager/noderesource/node_patch.h"

namespace koord::manager {

namespace {

json::value valueOf(const std::string& text) {
  return json::string(text);
}
json::value valueOf(const Quantity& amount) {
  return json::string(amount.toString());
}

// Adds the difference of two maps as parent[key].
template <class T>
void addDifference(json::object& parent, std::string_view key, const api::Map<T>& before,
                   const api::Map<T>& after) {
  json::object difference;
  for (const auto& [name, value] : after) {
    const auto old = before.find(name);
    if (old == before.end() || old->second != value) difference[name] = valueOf(value);
  }
  for (const auto& [name, value] : before)
    if (!after.contains(name)) difference[name] = nullptr;
  if (!difference.empty()) parent[key] = std::move(difference);
}

}  // namespace

std::optional<json::value> nodePatch(const api::Node& before, const api::Node& after) {
  json::object metadata;
  addDifference(metadata, "labels", before.metadata.labels, after.metadata.labels);
  addDifference(metadata, "annotations", before.metadata.annotations, after.metadata.annotations);
  json::object status;
  addDifference(status, "capacity", before.status.capacity, after.status.capacity);
  addDifference(status, "allocatable", before.status.allocatable, after.status.allocatable);
  json::object patch;
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  if (!status.empty()) patch["status"] = std::move(status);
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace koord::manager
