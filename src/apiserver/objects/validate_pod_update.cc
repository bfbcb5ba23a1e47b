// Which fields of a pod may change: few of the spec by an update, the resources by /resize, and the
// status by the status subresource.
//
// An update of the spec is checked by subtraction. First, each mutable field is checked by its own
// rule: a deadline only gets shorter, tolerations are only added, scheduling gates only removed,
// and node affinity of a gated pod only narrowed. Then the old values replace those of the mutable
// fields, and every remaining difference is forbidden. So a field without a rule is immutable by
// default. The message shows the difference, one line per value.
//
// A resize is the reverse: only cpu and memory of containers may differ. No request or limit may be
// removed. The QoS class must stay the same, because it determines existing cgroups. The node must
// have reported that it can resize.
//
// Cost: O(size of the spec). Rules: ValidatePodUpdate, ValidatePodResize and
// ValidatePodStatusUpdate of kube-apiserver.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/names.h"
#include "api/quantity_json.h"
#include "apiserver/objects/defaults.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/validate.h"
#include "apiserver/objects/validate_pod_claims.h"
#include "base/quantity.h"
#include "model/well_known.h"

namespace koord::apiserver {
namespace {

constexpr const char* kLists[] = {"containers", "initContainers"};
constexpr const char* kMayNotChange =
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)";

const json::value& orEmpty(const json::value* value) {
  static const json::value none = json::object{};
  return value && value->is_object() ? *value : none;
}
const json::array& listAt(const json::value& object, std::string_view name) {
  static const json::array none;
  const auto* list = arrayAt(object, name);
  return list ? *list : none;
}

void put(json::object& object, std::string_view name, const json::value* value) {
  if (value) {
    object[name] = *value;
  } else {
    eraseMember(object, name);
  }
}

// Adds a line for each place where two values differ: "spec.hostNetwork: true -> false".
void describeChange(const json::value* before, const json::value* after, const std::string& path,
                    std::string& out) {
  if (before && after) {
    if (*before == *after) return;
    if (before->is_object() && after->is_object()) {
      for (const auto& member : before->get_object())
        describeChange(&member.value(), find(*after, member.key()),
                       fmt::format("{}.{}", path, std::string_view(member.key())), out);
      for (const auto& member : after->get_object())
        if (!find(*before, member.key()))
          describeChange(nullptr, &member.value(),
                         fmt::format("{}.{}", path, std::string_view(member.key())), out);
      return;
    }
    const auto* old = before->if_array();
    const auto* now = after->if_array();
    if (old && now && old->size() == now->size()) {
      for (std::size_t i = 0; i < old->size(); ++i)
        describeChange(&(*old)[i], &(*now)[i], fmt::format("{}[{}]", path, i), out);
      return;
    }
  }
  out += fmt::format("\n{}: {} -> {}", path, before ? toJson(*before) : "nothing",
                     after ? toJson(*after) : "nothing");
}

// Returns false if nothing else can be compared.
bool validateContainerNames(const json::value& before, const json::value& after,
                            FieldErrors& errors) {
  for (const auto* list : kLists)
    if (listAt(before, list).size() != listAt(after, list).size()) {
      errors.forbidden(fmt::format("spec.{}", list),
                       "pod updates may not add or remove containers");
      return false;
    }
  return true;
}

// The deadline can be set and shortened. Returns false if no further error must be reported.
bool validateDeadline(const json::value& before, const json::value& after, FieldErrors& errors) {
  constexpr const char* kField = "spec.activeDeadlineSeconds";
  const auto* old = find(before, "activeDeadlineSeconds");
  const auto* now = find(after, "activeDeadlineSeconds");
  if (!now) {
    if (old)
      errors.invalid(kField, nullptr, "must not update from a positive integer to nil value");
    return true;
  }
  const auto seconds = integerAt(after, 0, "activeDeadlineSeconds");
  if (seconds < 0 || seconds > std::numeric_limits<std::int32_t>::max()) {
    errors.invalid(kField, seconds, "must be between 0 and 2147483647, inclusive");
    return false;
  }
  if (old && integerAt(before, 0, "activeDeadlineSeconds") < seconds) {
    errors.invalid(kField, seconds, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

void validateOnlyNewTolerations(const json::value& before, const json::value& after,
                                FieldErrors& errors) {
  const auto& now = listAt(after, "tolerations");
  for (const auto& old : listAt(before, "tolerations")) {
    const auto same = [&](const json::value& other) {
      for (const auto* field : {"key", "operator", "value", "effect"})
        if (textAt(old, field) != textAt(other, field)) return false;
      return true;
    };
    if (std::ranges::any_of(now, same)) continue;
    errors.forbidden("spec.tolerations",
                     "existing toleration can not be modified except its tolerationSeconds");
    return;
  }
}

void validateOnlyFewerGates(const json::value& before, const json::value& after,
                            FieldErrors& errors) {
  const auto& old = listAt(before, "schedulingGates");
  const auto& now = listAt(after, "schedulingGates");
  for (std::size_t i = 0; i < now.size(); ++i) {
    const auto name = textAt(now[i], "name");
    const auto same = [&](const json::value& gate) { return textAt(gate, "name") == name; };
    if (std::ranges::none_of(old, same))
      errors.forbidden(
          fmt::format("spec.schedulingGates[{}].name", i),
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name));
  }
}

bool beginsWith(const json::array& list, const json::array& start) {
  return list.size() >= start.size() && std::equal(start.begin(), start.end(), list.begin());
}

// Returns true if the term has all old requirements, and perhaps more. A term without requirements
// matches nothing and must not change.
bool isNarrower(const json::value& before, const json::value& after) {
  const auto& expressions = listAt(before, "matchExpressions");
  const auto& fields = listAt(before, "matchFields");
  if (expressions.empty() && fields.empty())
    return listAt(after, "matchExpressions").empty() && listAt(after, "matchFields").empty();
  return beginsWith(listAt(after, "matchExpressions"), expressions) &&
         beginsWith(listAt(after, "matchFields"), fields);
}

void validateNodeAffinityChange(const json::value* before, const json::value* after,
                                FieldErrors& errors) {
  constexpr const char* kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const std::string path =
      "spec.affinity.nodeAffinity." + std::string(kRequired) + ".nodeSelectorTerms";
  const auto& old = listAt(orEmpty(find(orEmpty(before), kRequired)), "nodeSelectorTerms");
  const auto& now = listAt(orEmpty(find(orEmpty(after), kRequired)), "nodeSelectorTerms");
  if (old.empty()) return;
  if (old.size() != now.size()) {
    errors.invalid(path, json::value(now),
                   "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
    return;
  }
  for (std::size_t i = 0; i < old.size(); ++i)
    if (!isNarrower(old[i], now[i]))
      errors.invalid(fmt::format("{}[{}]", path, i), now[i],
                     "only additions are allowed (no mutations or deletions)");
}

// The node selection of a gated pod may become narrower. Puts the old values into `compared` if a
// change was checked here.
void validateGatedChange(const json::value& before, json::object& compared, FieldErrors& errors) {
  const auto* oldSelector = find(before, "nodeSelector");
  const json::value selector = orEmpty(compared.if_contains("nodeSelector"));
  for (const auto& member : orEmpty(oldSelector).get_object()) {
    const auto* now = find(selector, member.key());
    if (now && *now == member.value()) continue;
    errors.invalid("spec.nodeSelector", selector,
                   "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    break;
  }
  put(compared, "nodeSelector", oldSelector);

  const auto* oldNode = at(before, "affinity", "nodeAffinity");
  const json::value affinity = orEmpty(compared.if_contains("affinity"));
  const auto* node = find(affinity, "nodeAffinity");
  if (oldNode ? node && *oldNode == *node : !node) return;
  validateNodeAffinityChange(oldNode, node, errors);
  json::value kept = affinity;
  put(kept.get_object(), "nodeAffinity", oldNode);
  const bool none = kept.get_object().empty() && !find(before, "affinity");
  put(compared, "affinity", none ? nullptr : &kept);
}

// The new spec with the old values of all mutable fields.
json::value comparedSpec(const json::value& before, const json::value& after, FieldErrors& errors) {
  json::value out = after;
  auto& spec = out.get_object();
  for (const auto* name :
       {"activeDeadlineSeconds", "tolerations", "schedulingGates", "serviceAccount"})
    put(spec, name, find(before, name));
  for (const auto* list : kLists)
    if (auto* containers = arrayAt(spec, list))
      for (std::size_t i = 0; i < containers->size(); ++i)
        if ((*containers)[i].is_object())
          put((*containers)[i].get_object(), "image", find(listAt(before, list)[i], "image"));
  if (integerAt(before, 0, "terminationGracePeriodSeconds") < 0 &&
      integerAt(after, 0, "terminationGracePeriodSeconds") == 1)
    put(spec, "terminationGracePeriodSeconds", find(before, "terminationGracePeriodSeconds"));
  if (!listAt(before, "schedulingGates").empty()) validateGatedChange(before, spec, errors);
  return out;
}

Quantity amountOf(const json::value& value) {
  return api::readQuantity(value).value_or(Quantity{});
}

bool sameAmounts(const json::value& a, const json::value& b, bool othersOnly) {
  const auto counts = [&](std::string_view name) {
    return !othersOnly || (name != "cpu" && name != "memory");
  };
  for (const auto& [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}})
    for (const auto& member : one->get_object()) {
      if (!counts(member.key())) continue;
      const auto* value = find(*other, member.key());
      if (!value || amountOf(*value) != amountOf(member.value())) return false;
    }
  return true;
}

// Amounts of cpu and memory may change; resources may be added, but not removed.
void validateResized(const json::value& before, const json::value& after, const std::string& path,
                     FieldErrors& errors) {
  for (const auto& [part, what] :
       {std::pair{"requests", "resource requests"}, std::pair{"limits", "resource limits"}}) {
    const auto& now = orEmpty(find(after, part));
    for (const auto& member : orEmpty(find(before, part)).get_object())
      if (!find(now, member.key())) {
        errors.forbidden(fmt::format("{}.{}", path, part),
                         fmt::format("{} cannot be removed", what));
        break;
      }
  }
}

bool sameButCpuAndMemory(const json::value& before, const json::value& after) {
  for (const auto* part : {"requests", "limits"})
    if (!sameAmounts(orEmpty(find(before, part)), orEmpty(find(after, part)), true)) return false;
  return find(before, "claims")
             ? find(after, "claims") && memberOf(before, "claims") == memberOf(after, "claims")
             : !find(after, "claims");
}

bool isSidecar(const json::value& container) {
  return textAt(container, "restartPolicy") == "Always";
}

// The status of running containers has resources if their node can resize.
bool canResize(const json::value& pod) {
  for (const auto& status : listAt(orEmpty(find(pod, "status")), "containerStatuses"))
    if (at(status, "state", "running")) return find(status, "resources") != nullptr;
  return true;
}

void validateResizedContainers(const json::value& before, const json::value& after,
                               FieldErrors& errors) {
  for (const auto* list : kLists) {
    const bool init = list == kLists[1];
    for (std::size_t i = 0; i < listAt(before, list).size(); ++i) {
      const auto& old = listAt(before, list)[i];
      const auto& now = listAt(after, list)[i];
      if (init && !isSidecar(old)) {
        if (old != now)
          errors.forbidden("spec", "resources for non-sidecar init containers are immutable");
        continue;
      }
      const auto& was = orEmpty(find(old, "resources"));
      const auto& is = orEmpty(find(now, "resources"));
      validateResized(was, is, fmt::format("spec.{}[{}].resources", list, i), errors);
      json::value compared = now;
      // A null container is neither an object nor the old container.
      if (compared.is_object()) put(compared.get_object(), "resources", find(old, "resources"));
      if (compared != old || !sameButCpuAndMemory(was, is))
        errors.forbidden("spec",
                         init ? "only cpu and memory resources for sidecar containers are mutable"
                              : "only cpu and memory resources are mutable");
    }
  }
}

}  // namespace

void validatePodUpdate(const json::value& before, const json::value& after, FieldErrors& errors) {
  const auto& old = orEmpty(find(before, "spec"));
  const auto& now = orEmpty(find(after, "spec"));
  if (!validateContainerNames(old, now, errors) || !validateDeadline(old, now, errors)) return;
  validateOnlyNewTolerations(old, now, errors);
  validateOnlyFewerGates(old, now, errors);
  const auto compared = comparedSpec(old, now, errors);
  if (compared == old) return;
  std::string changes;
  describeChange(&old, &compared, "spec", changes);
  errors.forbidden("spec", kMayNotChange + changes);
}

void validatePodResize(const json::value& before, const json::value& after, FieldErrors& errors) {
  const auto& old = orEmpty(find(before, "spec"));
  const auto& now = orEmpty(find(after, "spec"));
  if (at(before, "metadata", "annotations", model::kAnnotationMirrorPod)) {
    errors.forbidden("[]", "static pods cannot be resized");
    return;
  }
  if (textAt(old, "os", "name") == "windows") {
    errors.forbidden("[]", "windows pods cannot be resized");
    return;
  }
  if (!validateContainerNames(old, now, errors)) return;
  if (const auto is = qosClassOf(now); is != textAt(before, "status", "qosClass"))
    errors.invalid("spec", textAt(after, "status", "qosClass"),
                   "Pod QOS Class may not change as a result of resizing");
  if (!canResize(before))
    errors.forbidden("spec", "Pod running on node without support for resize");
  const auto& was = orEmpty(find(old, "resources"));
  const auto& is = orEmpty(find(now, "resources"));
  validateResized(was, is, "spec.resources", errors);
  if (!sameButCpuAndMemory(was, is))
    errors.forbidden("spec.resources", "only cpu and memory resources are mutable");
  validateResizedContainers(old, now, errors);
}

void validatePodStatusUpdate(const json::value& before, const json::value& after,
                             FieldErrors& errors) {
  if (const auto is = textAt(after, "status", "qosClass");
      is != textAt(before, "status", "qosClass"))
    errors.invalid("status.qosClass", is, "field is immutable");
  if (const auto node = textAt(after, "status", "nominatedNodeName");
      !node.empty() && node != textAt(before, "status", "nominatedNodeName"))
    if (const auto wrong = api::checkDnsSubdomain(node); !wrong.empty())
      errors.invalid("status.nominatedNodeName", node, wrong);
  validatePodClaimStatuses(after, errors);
}

}  // namespace koord::apiserver
