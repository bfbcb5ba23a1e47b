#include <algorithm>

#include "koordlet/topology/node_topology.h"
#include "model/node_names.h"
#include "model/well_known.h"

// Builds the NodeResourceTopology object, or the patch of an existing one.

namespace koord::koordlet {
namespace {

// The resources of a zone that koordlet reports.
constexpr std::string_view kOurs[] = {model::kCpu, model::kMemory, kHugePages2Mi, kHugePages1Gi};

const json::object* named(const json::value& list, std::string_view name) {
  if (!list.is_array()) return nullptr;
  for (const auto& item : list.get_array())
    if (item.is_object() && textAt(item, "name") == name) return &item.get_object();
  return nullptr;
}

json::object amountsOf(const NodeTopology::Zone& zone, std::string_view name) {
  const std::string capacity = zone.capacity.at(name).toString();
  const std::string allocatable = zone.allocatable.at(name).toString();
  return {{"name", name},
          {"capacity", capacity},
          {"allocatable", allocatable},
          {"available", allocatable}};
}

bool sameAmount(const json::object& a, const json::object& b, std::string_view field) {
  const auto text = [&](const json::object& amounts) {
    const auto* value = amounts.if_contains(field);
    return value && value->is_string() ? std::string_view(value->get_string()) : "";
  };
  const auto left = Quantity::parse(text(a)), right = Quantity::parse(text(b));
  return left && right && *left == *right;
}

// Our resources, merged with those of other writers.
json::array resourcesOf(const NodeTopology::Zone& zone, const json::object* before, bool& changed) {
  const json::value none;
  const json::value* list = before ? before->if_contains("resources") : nullptr;
  json::array resources;
  for (const auto name : kOurs) {
    json::object ours = amountsOf(zone, name);
    const json::object* theirs = named(list ? *list : none, name);
    if (!theirs || !sameAmount(ours, *theirs, "capacity") ||
        !sameAmount(ours, *theirs, "allocatable"))
      changed = true;
    resources.push_back(std::move(ours));
  }
  if (list && list->is_array())
    for (const auto& item : list->get_array()) {
      const auto name = textAt(item, "name");
      if (std::ranges::find(kOurs, name) == std::end(kOurs)) resources.push_back(item);
    }
  return resources;
}

json::array zonesOf(const NodeTopology& wanted, const json::value& existing, bool& changed) {
  json::array zones;
  for (const auto& zone : wanted.zones) {
    const json::object* before = named(existing, zone.name);
    if (!before) changed = true;
    json::object entry = before ? *before : json::object();
    entry["name"] = zone.name;
    entry["type"] = "Node";
    entry["resources"] = resourcesOf(zone, before, changed);
    zones.push_back(std::move(entry));
  }
  if (existing.is_array() && existing.get_array().size() != wanted.zones.size()) changed = true;
  return zones;
}

// Annotations whose document differs.
json::object annotationChanges(const NodeTopology& wanted, const json::value& existing) {
  json::object changes;
  for (const auto& [name, document] : wanted.annotations) {
    const auto* before = find(existing, name);
    const auto parsed = before && before->is_string()
                            ? parseJson(std::string_view(before->get_string()))
                            : Result<json::value>(fail(ErrorCode::NotFound, ""));
    if (!parsed || *parsed != document) changes[name] = toJson(document);
  }
  return changes;
}

json::array texts(const std::vector<std::string>& list) {
  json::array result;
  for (const auto& text : list) result.push_back(json::value(text));
  return result;
}

}  // namespace

json::value newTopologyObject(const NodeTopology& wanted, const api::Node& node) {
  bool changed = false;
  json::object labels{{"app.kubernetes.io/managed-by", "Koordinator"}};
  if (wanted.numaReservation) labels[model::kLabelNumaReservation] = *wanted.numaReservation;
  const json::object owner{{"apiVersion", "v1"},         {"kind", "Node"},
                           {"name", node.metadata.name}, {"uid", node.metadata.uid},
                           {"controller", true},         {"blockOwnerDeletion", true}};
  return json::object{{"apiVersion", "topology.node.k8s.io/v1alpha1"},
                      {"kind", "NodeResourceTopology"},
                      {"metadata",
                       {{"name", node.metadata.name},
                        {"labels", std::move(labels)},
                        {"annotations", annotationChanges(wanted, nullptr)},
                        {"ownerReferences", json::array{owner}}}},
                      {"topologyPolicies", texts(wanted.policies)},
                      {"zones", zonesOf(wanted, nullptr, changed)}};
}

json::value topologyPatch(const NodeTopology& wanted, const json::value& existing) {
  json::object patch, metadata;
  const json::value none;
  const auto* annotations = at(existing, "metadata", "annotations");
  if (auto changes = annotationChanges(wanted, annotations ? *annotations : none); !changes.empty())
    metadata["annotations"] = std::move(changes);
  const auto* label = at(existing, "metadata", "labels", model::kLabelNumaReservation);
  const json::value wantedLabel =
      wanted.numaReservation ? json::value(*wanted.numaReservation) : json::value();
  if ((label ? *label : none) != wantedLabel)
    metadata["labels"] = json::object{{model::kLabelNumaReservation, wantedLabel}};
  if (!metadata.empty()) patch["metadata"] = std::move(metadata);
  const json::value policies = texts(wanted.policies);
  if (const auto* before = find(existing, "topologyPolicies"); !before || *before != policies)
    patch["topologyPolicies"] = policies;
  bool changed = false;
  const auto* zones = find(existing, "zones");
  json::array merged = zonesOf(wanted, zones ? *zones : none, changed);
  if (changed) patch["zones"] = std::move(merged);
  return patch.empty() ? json::value() : json::value(std::move(patch));
}

}  // namespace koord::koordlet
