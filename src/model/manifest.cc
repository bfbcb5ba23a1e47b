#include "model/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/yaml.h"

namespace koord::model {

namespace {

constexpr std::array<std::string_view, 13> kClusterScoped{
    "Node",          "Namespace",   "Reservation",       "PersistentVolume", "StorageClass",
    "CSINode",       "CSIDriver",   "DeviceClass",       "ResourceSlice",    "Device",
    "PriorityClass", "ClusterRole", "ClusterRoleBinding"};

void addObjects(std::vector<json::value>& objects, json::value document,
                const std::string& namespace_) {
  const std::string_view kind = textAt(document, "kind");
  json::value* items = find(document, "items");
  if (kind.ends_with("List") && items && items->is_array()) {
    for (json::value& item : items->get_array()) addObjects(objects, std::move(item), namespace_);
    return;
  }
  // Items that are not objects stay: the answer says so.
  if (document.is_object() && std::ranges::find(kClusterScoped, kind) == kClusterScoped.end()) {
    json::value& metadata = document.get_object()["metadata"];
    if (metadata.is_null()) metadata = json::object();
    if (metadata.is_object() && textAt(metadata, "namespace").empty())
      metadata.get_object()["namespace"] = namespace_;
  }
  objects.push_back(std::move(document));
}

}  // namespace

Result<std::vector<json::value>> objectsIn(std::string_view manifest,
                                           const std::string& namespace_) {
  auto documents = parseYamlDocuments(manifest);
  if (!documents) return fail(std::move(documents.error()));
  std::vector<json::value> objects;
  for (std::size_t i = 0; i < documents->size(); ++i) {
    json::value& document = (*documents)[i];
    if (!document.is_object())
      return fail(ErrorCode::Invalid,
                  fmt::format("document {}: must be an object, with apiVersion and kind", i + 1));
    addObjects(objects, std::move(document), namespace_);
  }
  return objects;
}

}  // namespace koord::model
