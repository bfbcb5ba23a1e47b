#include "apiserver/admission/builtin.h"

#include <fmt/format.h>

#include "apiserver/admission/limit_ranger.h"
#include "apiserver/objects/edit.h"

namespace koord::apiserver {
namespace {

constexpr const char* kPriorityTable = "priorityclasses.scheduling.k8s.io";

Outcome<> completePriority(json::object& spec, std::string_view podName, Store& store) {
  const auto& classes = store.table(kPriorityTable);
  const auto forbidden = [&](std::string_view why) {
    return refuse(ErrorCode::Forbidden, fmt::format("pods \"{}\" is forbidden: {}", podName, why));
  };
  std::string name;
  if (const auto* given = spec.if_contains("priorityClassName"); given && given->is_string())
    name = given->get_string();
  std::int64_t priority = 0;
  std::string policy = "PreemptLowerPriority";
  const auto take = [&](const Entry& entry) {
    auto object = parseJson(entry.text);
    if (!object) return;
    priority = integerAt(*object, 0, "value");
    if (const auto text = textAt(*object, "preemptionPolicy"); !text.empty()) policy = text;
  };
  if (!name.empty()) {
    const auto entry = classes.find(name);
    if (!entry) return forbidden(fmt::format("no PriorityClass with name {} was found", name));
    take(*entry);
  } else {
    // Of several defaults the lowest value applies.
    bool found = false;
    for (const auto& [key, entry] : classes.entries()) {
      if (entry->text.find("\"globalDefault\":true") == std::string::npos) continue;
      const auto before = priority;
      const auto beforePolicy = policy;
      take(*entry);
      if (found && before <= priority) {
        priority = before;
        policy = beforePolicy;
      } else {
        name = key;
      }
      found = true;
    }
    if (found) spec["priorityClassName"] = name;
  }
  if (const auto* given = spec.if_contains("priority");
      given && given->is_int64() && given->get_int64() != priority)
    return forbidden(fmt::format(
        "the integer value of priority ({}) must not be provided in pod spec; priority admission "
        "controller computed {} from the given PriorityClass name",
        given->get_int64(), priority));
  if (const auto* given = spec.if_contains("preemptionPolicy");
      given && given->is_string() && *given != json::string_view(policy) && !name.empty())
    return forbidden(
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; "
                    "priority admission "
                    "controller computed {} from the given PriorityClass name",
                    std::string_view(given->get_string()), policy));
  spec["priority"] = priority;
  setDefault(spec, "preemptionPolicy", json::value(policy));
  return {};
}

bool isDefault(const Entry& entry) {
  return entry.text.find("\"globalDefault\":true") != std::string::npos;
}

Outcome<> admitPriorityClass(const json::value& object, Store& store) {
  if (!flagAt(object, "globalDefault")) return {};
  const auto name = textAt(object, "metadata", "name");
  for (const auto& [key, entry] : store.table(kPriorityTable).entries())
    if (key != name && isDefault(*entry))
      return refuse(ErrorCode::Forbidden,
                    fmt::format("priorityclasses.scheduling.k8s.io \"{}\" is forbidden: "
                                "PriorityClass {} is already marked as default. Only one default "
                                "can exist",
                                name, key));
  return {};
}

}  // namespace

// A pod stays on an unreachable node for five minutes, unless it says otherwise.
void completeTolerations(json::value& pod) {
  auto& list = objectAt(pod.get_object(), "spec")["tolerations"];
  if (!list.is_array()) list = json::array{};
  auto& tolerations = list.get_array();
  for (const auto* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool covered = false;
    for (const auto& toleration : tolerations) {
      const auto own = textAt(toleration, "key");
      const auto effect = textAt(toleration, "effect");
      covered =
          covered || ((own == key || own.empty()) && (effect == "NoExecute" || effect.empty()));
    }
    if (!covered)
      tolerations.push_back({{"key", key},
                             {"operator", "Exists"},
                             {"effect", "NoExecute"},
                             {"tolerationSeconds", 300}});
  }
}

Failure namespaceNotFound(std::string_view name) {
  Failure failure(ErrorCode::NotFound, fmt::format("namespaces \"{}\" not found", name));
  failure.subject = Subject{"", "namespaces", std::string(name)};
  return failure;
}

Outcome<> admitToNamespace(std::string_view namespace_, const Target& target, std::string_view name,
                           Store& store) {
  if (!target.resource->namespaced) return {};
  const auto entry = store.table("namespaces").find(namespace_);
  if (!entry) return refuse(namespaceNotFound(namespace_));
  if (!entry->fields.empty() && entry->fields[0] == "Terminating") {
    Failure failure(ErrorCode::Forbidden,
                    fmt::format("{} \"{}\" is forbidden: unable to create new content in namespace "
                                "{} because it is being terminated",
                                target.resource->qualified(), name, namespace_));
    failure.causes.push_back({"NamespaceTerminating",
                              fmt::format("namespace {} is being terminated", namespace_),
                              "metadata.namespace"});
    return refuse(std::move(failure));
  }
  return {};
}

Outcome<> admitNamespaceDelete(std::string_view name) {
  if (name != "default" && name != "kube-system" && name != "kube-public") return {};
  return refuse(
      ErrorCode::Forbidden,
      fmt::format("namespaces \"{}\" is forbidden: this namespace may not be deleted", name));
}

Outcome<> completePod(json::value& pod, Store& store) {
  applyLimitDefaults(pod, textAt(pod, "metadata", "namespace"), store);
  auto& spec = objectAt(pod.get_object(), "spec");
  if (auto good = completePriority(spec, textAt(pod, "metadata", "name"), store); !good)
    return good;
  completeTolerations(pod);
  return {};
}

Outcome<> checkAdmission(const json::value& object, const json::value* old,
                         const Resource& resource, Store& store) {
  if (resource.is("scheduling.k8s.io", "priorityclasses"))
    if (auto good = admitPriorityClass(object, store); !good) return good;
  return checkLimits(object, old, resource, store);
}

}  // namespace koord::apiserver
