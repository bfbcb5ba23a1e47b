#include "apiserver/admission/storage.h"

#include <algorithm>
#include <tuple>

#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

constexpr const char* kClasses = "storageclasses.storage.k8s.io";

bool isDefaultClass(const json::value& object) {
  for (const char* name : {"storageclass.kubernetes.io/is-default-class",
                           "storageclass.beta.kubernetes.io/is-default-class"})
    if (textAt(object, "metadata", "annotations", name) == "true") return true;
  return false;
}

// The newest default class, then the first by name; "" if there is none.
std::string defaultClass(Store& store) {
  std::string best;
  std::string made;
  for (const auto& [name, entry] : store.table(kClasses).entries()) {
    if (entry->text.find("is-default-class") == std::string::npos) continue;
    const auto object = parseJson(entry->text);
    if (!object || !isDefaultClass(*object)) continue;
    const std::string created(textAt(*object, "metadata", "creationTimestamp"));
    if (best.empty() || created > made || (created == made && name < best))
      std::tie(best, made) = std::tie(name, created);
  }
  return best;
}

void addFinalizer(json::value& object, const char* finalizer) {
  auto& list = objectAt(object.get_object(), "metadata")["finalizers"];
  if (!list.is_array()) list = json::array{};
  auto& finalizers = list.get_array();
  if (std::ranges::find(finalizers, json::value(finalizer)) == finalizers.end())
    finalizers.emplace_back(finalizer);
}

}  // namespace

void completeStorage(json::value& object, const Resource& resource, Store& store) {
  if (resource.isCore("persistentvolumes")) {
    addFinalizer(object, "kubernetes.io/pv-protection");
    return;
  }
  if (!resource.isCore("persistentvolumeclaims")) return;
  addFinalizer(object, "kubernetes.io/pvc-protection");
  auto& spec = objectAt(object.get_object(), "spec");
  const bool named =
      !isMissing(spec, "storageClassName") ||
      at(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class");
  if (named) return;
  if (const auto name = defaultClass(store); !name.empty()) spec["storageClassName"] = name;
}

}  // namespace koord::apiserver
