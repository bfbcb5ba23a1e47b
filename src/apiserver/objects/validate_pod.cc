// The rules of a pod's spec, for pods and for the templates of workloads. Without the check of
// templates, users would learn of an invalid template only from events of the controller.
//
// Names come first: volumes, containers and init containers are unique sets, and mounts must name
// an existing volume (a StatefulSet's claim templates add more). Containers that run at the same
// time must not use the same host port; init containers may, because they run one after the other.
// Requests are not above limits. Extended resources are whole numbers and cannot be overcommitted,
// so their requests and limits are equal.
//
// Scheduling terms (affinity, spreading, tolerations) are decoded and compiled as in the scheduler,
// so that every stored term is valid for it.
//
// Cost: O(size of the spec). Rules: pkg/apis/core/validation of kube-apiserver.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/codec.h"
#include "api/names.h"
#include "api/quantity_json.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/validate.h"
#include "apiserver/objects/validate_container.h"
#include "apiserver/objects/validate_ephemeral.h"
#include "apiserver/objects/validate_pod_claims.h"
#include "base/quantity.h"

namespace koord::apiserver {
namespace {

void oneOf(const json::value& object, const std::string& path, const char* field,
           std::initializer_list<std::string_view> allowed, FieldErrors& errors) {
  const auto* value = find(object, field);
  if (!value || !value->is_string()) return;
  if (std::ranges::find(allowed, std::string_view(value->get_string())) != allowed.end()) return;
  errors.unsupported(path + "." + field, *value, {allowed.begin(), allowed.end()});
}

Quantity quantityOf(const json::value& value) {
  return api::readQuantity(value).value_or(Quantity{});
}

// Resources of other domains than Kubernetes' have whole units and cannot be overcommitted.
bool isExtended(std::string_view name) {
  const auto slash = name.find('/');
  return slash != std::string_view::npos &&
         name.substr(0, slash).find("kubernetes.io") == std::string_view::npos &&
         !name.starts_with("requests.");
}
bool isOvercommitable(std::string_view name) {
  return !isExtended(name) && !name.starts_with("hugepages-");
}

void validateResources(const json::value& resources, const std::string& path, FieldErrors& errors) {
  const auto* limits = find(resources, "limits");
  for (const auto* part : {"limits", "requests"}) {
    const auto* list = find(resources, part);
    if (!list || !list->is_object()) continue;
    for (const auto& member : list->get_object()) {
      const std::string_view name = member.key();
      const auto at = [&] { return fmt::format("{}.{}[{}]", path, part, name); };
      if (const auto wrong = api::checkQualifiedName(name); !wrong.empty()) {
        errors.invalid(fmt::format("{}.{}", path, part), name, wrong);
      } else if (name.find('/') == std::string_view::npos && name != "cpu" && name != "memory" &&
                 name != "ephemeral-storage" && !name.starts_with("hugepages-")) {
        errors.invalid(fmt::format("{}.{}", path, part), name,
                       "must be a standard resource for containers");
      }
      const Quantity amount = quantityOf(member.value());
      if (amount.sign() < 0) {
        errors.invalid(at(), member.value(), "must be greater than or equal to 0");
        continue;
      }
      if (isExtended(name) && !amount.asInt64())
        errors.invalid(at(), member.value(), "must be an integer");
      if (std::string_view(part) != "requests") continue;
      const auto* limit = limits ? find(*limits, name) : nullptr;
      if (limit) {
        const Quantity most = quantityOf(*limit);
        if (!isOvercommitable(name) && amount != most)
          errors.invalid(path + ".requests", member.value(),
                         fmt::format("must be equal to {} limit of {}", name, most.toString()));
        else if (amount > most)
          errors.invalid(
              path + ".requests", member.value(),
              fmt::format("must be less than or equal to {} limit of {}", name, most.toString()));
      } else if (!isOvercommitable(name)) {
        errors.required(fmt::format("{}.limits", path),
                        "Limit must be set for non overcommitable resources");
      }
    }
  }
}

// The names that containers of a pod refer to.
struct PodPlaces {
  std::set<std::string> volumes;
  bool hostNetwork = false;
};

void validateContainer(const json::value& container, const std::string& path,
                       const PodPlaces& places, std::set<std::string>& hostPorts,
                       FieldErrors& errors) {
  const auto name = textAt(container, "name");
  if (name.empty()) {
    errors.required(path + ".name");
  } else if (const auto wrong = api::checkDnsLabel(name); !wrong.empty()) {
    errors.invalid(path + ".name", name, wrong);
  }
  const auto image = textAt(container, "image");
  if (image.empty()) {
    errors.required(path + ".image");
  } else if (image.front() == ' ' || image.back() == ' ') {
    errors.invalid(path + ".image", image, "must not have leading or trailing whitespace");
  }
  oneOf(container, path, "imagePullPolicy", {"Always", "IfNotPresent", "Never"}, errors);
  if (const auto* resources = find(container, "resources"))
    validateResources(*resources, path + ".resources", errors);
  if (const auto* ports = arrayAt(container, "ports"))
    validateContainerPorts(*ports, path + ".ports", places.hostNetwork, hostPorts, errors);
  validateProbes(container, path, errors);
  if (const auto* env = arrayAt(container, "env"))
    for (std::size_t i = 0; i < env->size(); ++i)
      if (textAt((*env)[i], "name").empty())
        errors.required(fmt::format("{}.env[{}].name", path, i));
  if (const auto* mounts = arrayAt(container, "volumeMounts")) {
    for (std::size_t i = 0; i < mounts->size(); ++i) {
      const auto at = fmt::format("{}.volumeMounts[{}]", path, i);
      const auto volume = textAt((*mounts)[i], "name");
      if (volume.empty()) {
        errors.required(at + ".name");
      } else if (!places.volumes.contains(std::string(volume))) {
        errors.notFound(at + ".name", volume);
      }
      if (textAt((*mounts)[i], "mountPath").empty()) errors.required(at + ".mountPath");
    }
  }
}

void validateTolerations(const json::array& tolerations, const std::string& path,
                         FieldErrors& errors) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const auto at = fmt::format("{}[{}]", path, i);
    const auto& toleration = tolerations[i];
    oneOf(toleration, at, "operator", {"Equal", "Exists", "Gt", "Lt"}, errors);
    if (!textAt(toleration, "effect").empty())
      oneOf(toleration, at, "effect", {"NoSchedule", "PreferNoSchedule", "NoExecute"}, errors);
    const auto key = textAt(toleration, "key");
    if (key.empty() && textAt(toleration, "operator") != "Exists")
      errors.invalid(at + ".operator", textAt(toleration, "operator"),
                     "operator must be Exists when `key` is empty, which means \"match all values "
                     "and all keys\"");
    if (!key.empty())
      if (const auto wrong = api::checkQualifiedName(key); !wrong.empty())
        errors.invalid(at + ".key", key, wrong);
    if (find(toleration, "tolerationSeconds") && textAt(toleration, "effect") != "NoExecute")
      errors.invalid(at + ".effect", textAt(toleration, "effect"),
                     "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
}

void validatePodTerms(const api::List<api::PodAffinityTerm>& terms, const std::string& path,
                      FieldErrors& errors) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto at = fmt::format("{}[{}]", path, i);
    if (terms[i].topologyKey.empty()) errors.required(at + ".topologyKey", "can not be empty");
    if (auto selector = api::Selector::compile(terms[i].labelSelector); !selector)
      errors.invalid(at + ".labelSelector", "", selector.error().message);
  }
}

void validateAffinity(const json::value& json, const std::string& path, FieldErrors& errors) {
  auto affinity = api::decode<api::Affinity>(json);
  if (!affinity) {
    errors.invalid(path, "", affinity.error().message);
    return;
  }
  if (affinity->nodeAffinity) {
    const auto& node = *affinity->nodeAffinity;
    if (node.requiredDuringSchedulingIgnoredDuringExecution) {
      const auto at = path + ".nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
      const auto& required = *node.requiredDuringSchedulingIgnoredDuringExecution;
      if (required.nodeSelectorTerms.empty())
        errors.required(at + ".nodeSelectorTerms", "must have at least one node selector term");
      if (auto compiled = api::NodeSelectorMatcher::compile(required); !compiled)
        errors.invalid(at, "", compiled.error().message);
    }
    const auto& preferred = node.preferredDuringSchedulingIgnoredDuringExecution;
    const auto at = path + ".nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution";
    for (std::size_t i = 0; i < preferred.size(); ++i)
      if (preferred[i].weight < 1 || preferred[i].weight > 100)
        errors.invalid(fmt::format("{}[{}].weight", at, i), std::int64_t{preferred[i].weight},
                       "must be in the range 1-100");
    if (auto compiled = api::PreferredNodeTerms::compile(preferred); !compiled)
      errors.invalid(at, "", compiled.error().message);
  }
  for (const auto& [name, part] : {std::pair{"podAffinity", &affinity->podAffinity},
                                   std::pair{"podAntiAffinity", &affinity->podAntiAffinity}})
    if (*part)
      validatePodTerms(
          (*part)->requiredDuringSchedulingIgnoredDuringExecution,
          fmt::format("{}.{}.requiredDuringSchedulingIgnoredDuringExecution", path, name), errors);
}

void validateSpread(const json::array& constraints, const std::string& path, FieldErrors& errors) {
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const auto at = fmt::format("{}[{}]", path, i);
    if (integerAt(constraints[i], 0, "maxSkew") <= 0)
      errors.invalid(at + ".maxSkew", integerAt(constraints[i], 0, "maxSkew"),
                     "must be greater than zero");
    if (textAt(constraints[i], "topologyKey").empty())
      errors.required(at + ".topologyKey", "can not be empty");
    if (textAt(constraints[i], "whenUnsatisfiable").empty()) {
      errors.required(at + ".whenUnsatisfiable");
    } else {
      oneOf(constraints[i], at, "whenUnsatisfiable", {"DoNotSchedule", "ScheduleAnyway"}, errors);
    }
  }
}

void validateOverhead(const json::value* overhead, const std::string& path, FieldErrors& errors) {
  if (!overhead || !overhead->is_object()) return;
  for (const auto& member : overhead->get_object())
    if (quantityOf(member.value()).sign() < 0)
      errors.invalid(fmt::format("{}.overhead[{}]", path, std::string_view(member.key())),
                     member.value(), "must be greater than or equal to 0");
}

void validatePodPolicies(const json::value& spec, const std::string& path, FieldErrors& errors) {
  oneOf(spec, path, "restartPolicy", {"Always", "OnFailure", "Never"}, errors);
  oneOf(spec, path, "dnsPolicy", {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"},
        errors);
  if (const auto* deadline = find(spec, "activeDeadlineSeconds");
      deadline && integerAt(spec, 0, "activeDeadlineSeconds") < 1)
    errors.invalid(path + ".activeDeadlineSeconds", *deadline,
                   "must be between 1 and 2147483647, inclusive");
}

}  // namespace

void validatePodSpec(const json::value& spec, const std::string& path, FieldErrors& errors,
                     std::set<std::string> volumes) {
  std::set<std::string> own;
  PodPlaces places{std::move(volumes), flagAt(spec, "hostNetwork")};
  if (const auto* list = arrayAt(spec, "volumes"))
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto at = fmt::format("{}.volumes[{}].name", path, i);
      const auto name = textAt((*list)[i], "name");
      if (name.empty()) {
        errors.required(at);
      } else if (const auto wrong = api::checkDnsLabel(name); !wrong.empty()) {
        errors.invalid(at, name, wrong);
      } else if (!own.emplace(name).second) {
        errors.duplicate(at, name);
      }
    }
  places.volumes.merge(own);
  const auto* containers = arrayAt(spec, "containers");
  if (!containers || containers->empty()) errors.required(path + ".containers");
  std::set<std::string> names;
  for (const auto* list : {"initContainers", "containers"}) {
    std::set<std::string> hostPorts;
    if (const auto* items = arrayAt(spec, list))
      for (std::size_t i = 0; i < items->size(); ++i) {
        const auto at = fmt::format("{}.{}[{}]", path, list, i);
        // Init containers run one after the other.
        if (std::string_view(list) == "initContainers") hostPorts.clear();
        validateContainer((*items)[i], at, places, hostPorts, errors);
        const auto name = textAt((*items)[i], "name");
        if (!name.empty() && !names.emplace(name).second) errors.duplicate(at + ".name", name);
      }
  }
  if (const auto* added = arrayAt(spec, "ephemeralContainers"); added && !added->empty()) {
    std::set<std::string> hostPorts;
    for (std::size_t i = 0; i < added->size(); ++i)
      validateContainer((*added)[i], fmt::format("{}.ephemeralContainers[{}]", path, i), places,
                        hostPorts, errors);
    validateEphemeralContainers(*added, path, names, errors);
  }
  validatePodResourceClaims(spec, path, errors);
  validatePodPolicies(spec, path, errors);
  if (const auto* selector = find(spec, "nodeSelector"); selector && selector->is_object())
    for (const auto& member : selector->get_object()) {
      if (const auto wrong = api::checkQualifiedName(member.key()); !wrong.empty())
        errors.invalid(path + ".nodeSelector", member.key(), wrong);
      if (member.value().is_string())
        if (const auto wrong = api::checkLabelValue(std::string_view(member.value().get_string()));
            !wrong.empty())
          errors.invalid(path + ".nodeSelector", member.value(), wrong);
    }
  if (const auto* tolerations = arrayAt(spec, "tolerations"))
    validateTolerations(*tolerations, path + ".tolerations", errors);
  if (const auto* affinity = find(spec, "affinity"))
    validateAffinity(*affinity, path + ".affinity", errors);
  if (const auto* spread = arrayAt(spec, "topologySpreadConstraints"))
    validateSpread(*spread, path + ".topologySpreadConstraints", errors);
  validateOverhead(find(spec, "overhead"), path, errors);
}

void validatePod(const json::value& pod, FieldErrors& errors) {
  const auto* spec = find(pod, "spec");
  if (!spec) {
    errors.required("spec.containers");
    return;
  }
  validatePodSpec(*spec, "spec", errors);
}

}  // namespace koord::apiserver
