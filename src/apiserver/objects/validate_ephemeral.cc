#include "apiserver/objects/validate_ephemeral.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/edit.h"
#include "model/well_known.h"

// Rules: validateEphemeralContainers and ValidatePodEphemeralContainersUpdate of kube-apiserver.

namespace koord::apiserver {
namespace {

constexpr const char* kField = "spec.ephemeralContainers";
constexpr const char* kNotAllowed = "cannot be set for an Ephemeral Container";

bool isSet(const json::value& container, const char* field) {
  const auto* value = find(container, field);
  if (!value || value->is_null()) return false;
  if (const auto* list = value->if_array()) return !list->empty();
  if (const auto* object = value->if_object()) return !object->empty();
  return true;
}

const json::array& ephemeralOf(const json::value& pod) {
  static const json::array none;
  const auto* spec = find(pod, "spec");
  const auto* list = spec ? arrayAt(*spec, "ephemeralContainers") : nullptr;
  return list ? *list : none;
}

}  // namespace

void validateEphemeralContainers(const json::array& containers, const std::string& path,
                                 const std::set<std::string>& names, FieldErrors& errors) {
  // The only spec that is not a template's is a pod's.
  if (path != "spec")
    errors.forbidden(path + ".ephemeralContainers",
                     "ephemeral containers not allowed in pod template");
  std::set<std::string, std::less<>> all(names.begin(), names.end());
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const auto& container = containers[i];
    const auto at = fmt::format("{}.ephemeralContainers[{}]", path, i);
    const auto name = textAt(container, "name");
    if (!name.empty() && !all.emplace(name).second) errors.duplicate(at + ".name", name);
    for (const auto* field : {"ports", "livenessProbe", "readinessProbe", "startupProbe",
                              "lifecycle", "resources", "resizePolicy"})
      if (isSet(container, field)) errors.forbidden(fmt::format("{}.{}", at, field), kNotAllowed);
    for (const auto* field : {"restartPolicy", "restartPolicyRules"})
      if (isSet(container, field))
        errors.forbidden(fmt::format("{}.{}", at, field),
                         "may not be set for an ephemeral container");
    if (const auto* mounts = arrayAt(container, "volumeMounts"))
      for (std::size_t k = 0; k < mounts->size(); ++k)
        for (const auto* field : {"subPath", "subPathExpr"})
          if (!textAt((*mounts)[k], field).empty())
            errors.forbidden(fmt::format("{}.volumeMounts[{}].{}", at, k, field), kNotAllowed);
    if (const auto target = textAt(container, "targetContainerName");
        !target.empty() && !names.contains(std::string(target)))
      errors.notFound(at + ".targetContainerName", target);
  }
}

void validateNoEphemeralContainers(const json::value& pod, FieldErrors& errors) {
  if (!ephemeralOf(pod).empty()) errors.forbidden(kField, "cannot be set on create");
}

void validateEphemeralUpdate(const json::value& before, const json::value& after,
                             FieldErrors& errors) {
  if (at(before, "metadata", "annotations", model::kAnnotationMirrorPod)) {
    errors.forbidden("[]", "static pods do not support ephemeral containers");
    return;
  }
  const auto& now = ephemeralOf(after);
  for (const auto& old : ephemeralOf(before)) {
    const auto name = textAt(old, "name");
    const auto same = std::ranges::find_if(
        now, [&](const json::value& container) { return textAt(container, "name") == name; });
    if (same == now.end()) {
      errors.forbidden(
          kField, fmt::format("existing ephemeral containers \"{}\" may not be removed\n", name));
    } else if (*same != old) {
      errors.forbidden(kField,
                       fmt::format("existing ephemeral containers \"{}\" may not be changed\n{} "
                                   "-> {}",
                                   name, toJson(old), toJson(*same)));
    }
  }
}

}  // namespace koord::apiserver
