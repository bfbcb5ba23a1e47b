// Validation of objects before they are stored. Their types are already checked and their defaults
// set (normalize.h, defaults.h), so the remaining rules are about values. All rules are checked and
// all errors are reported at once, each with its field's path and kube-apiserver's message: users
// search for these messages, and kubectl shows nothing else.
//
//   metadata   of every kind: names, labels, annotations, finalizers, owners.
//   pods       validate_pod.cc; what may change later validate_pod_update.cc.
//   custom     by the schema of the CustomResourceDefinition (validate_custom.cc), then by its
//              rules in CEL (apiserver/rules).
//   built-in   required fields by the type table, then the rules that users rely on: a workload
//              selects the pods of its own template (else it would create pods without end),
//              amounts are not negative, immutable fields do not change. Kinds with many rules have
//              files of their own (validate_kinds.h, validate_limits.h).
//
// This is not every rule of kube-apiserver, only those that clients and controllers rely on, and
// those that protect components of this cluster.
//
// The checks read the JSON document, not structs: a struct often cannot hold the invalid field, and
// the document exists anyway. Cost: O(size of the object), and for custom resources at most
// kMaxValidationSteps.

#include "apiserver/objects/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"
#include "api/names.h"
#include "api/quantity_json.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/normalize.h"
#include "apiserver/objects/resource_versions.h"
#include "apiserver/objects/validate_ephemeral.h"
#include "apiserver/objects/validate_kinds.h"
#include "apiserver/objects/validate_limits.h"
#include "apiserver/objects/validate_policies.h"
#include "apiserver/objects/validate_resource.h"
#include "apiserver/objects/validate_webhooks.h"
#include "apiserver/rules/custom_rules.h"
#include "base/ascii.h"
#include "base/quantity.h"

namespace koord::apiserver {
namespace {

using api::Schema;

constexpr std::size_t kMaxAnnotationBytes = 256 << 10;

std::string checkName(std::string_view name, const Resource& resource) {
  if (resource.group == "rbac.authorization.k8s.io") return api::checkPathSegment(name);
  if (resource.isCore("namespaces") || resource.isCore("services")) return api::checkDnsLabel(name);
  if (resource.isCore("events") || resource.group == "events.k8s.io")
    return api::checkPathSegment(name);
  return api::checkDnsSubdomain(name);
}

// The prefix of generated names may end in a dash.
std::string withoutDash(std::string_view prefix) {
  std::string out(prefix);
  if (out.size() > 1 && out.back() == '-') {
    out.pop_back();
    out.back() = 'a';
  }
  return out;
}

// Required fields of all present structs; an absent struct needs none.
void validateRequired(const json::value& value, const Schema& schema, const std::string& path,
                      FieldErrors& errors) {
  if (const auto* object = value.if_object()) {
    if (schema.type == Schema::Type::Object) {
      for (const auto& field : schema.fields) {
        const auto* member = object->if_contains(field.name);
        const std::string at = path.empty() ? field.name : path + "." + field.name;
        if (!member || member->is_null()) {
          if (field.required) errors.required(at);
        } else if (field.type && (member->is_object() || member->is_array())) {
          validateRequired(*member, *field.type, at, errors);
        }
      }
    } else if (schema.items) {
      for (const auto& member : *object)
        validateRequired(member.value(), *schema.items,
                         fmt::format("{}[{}]", path, std::string_view(member.key())), errors);
    }
  } else if (const auto* array = value.if_array(); array && schema.items) {
    for (std::size_t i = 0; i < array->size(); ++i)
      validateRequired((*array)[i], *schema.items, fmt::format("{}[{}]", path, i), errors);
  }
}

void validateQuantities(const json::value* list, const std::string& path, FieldErrors& errors) {
  if (!list || !list->is_object()) return;
  for (const auto& member : list->get_object()) {
    const auto quantity = api::readQuantity(member.value());
    if (quantity && quantity->sign() < 0)
      errors.invalid(fmt::format("{}[{}]", path, std::string_view(member.key())), member.value(),
                     "must be greater than or equal to 0");
  }
}

void validateNonNegative(const json::value& object, const char* group, const char* field,
                         FieldErrors& errors) {
  const auto* value = at(object, group, field);
  if (value && value->is_int64() && value->get_int64() < 0)
    errors.invalid(fmt::format("{}.{}", group, field), *value,
                   "must be greater than or equal to 0");
}

// The volumes that a StatefulSet's pods get in addition to those of their template.
std::set<std::string> claimTemplateNames(const json::value& object) {
  std::set<std::string> names;
  if (const auto* templates = at(object, "spec", "volumeClaimTemplates");
      templates && templates->is_array())
    for (const auto& one : templates->get_array()) names.emplace(textAt(one, "metadata", "name"));
  return names;
}

// A workload must select the pods of its own template. A ReplicationController uses a plain map of
// labels.
void validateWorkload(const json::value& object, bool byMap, FieldErrors& errors) {
  validateNonNegative(object, "spec", "replicas", errors);
  validateNonNegative(object, "spec", "minReadySeconds", errors);
  const auto* podTemplate = at(object, "spec", "template");
  if (!podTemplate) return;
  const auto* labels = at(*podTemplate, "metadata", "labels");
  validateLabels(labels, "spec.template.labels", errors);
  if (const auto* spec = find(*podTemplate, "spec")) {
    validatePodSpec(*spec, "spec.template.spec", errors, claimTemplateNames(object));
  } else {
    errors.required("spec.template.spec.containers");
  }
  const auto* selectorJson = at(object, "spec", "selector");
  if (!selectorJson || !selectorJson->is_object()) return;
  auto selector = api::decode<api::LabelSelector>(
      byMap ? json::value(json::object{{"matchLabels", *selectorJson}}) : *selectorJson);
  if (!selector) return;
  auto compiled = api::Selector::compile(*selector);
  if (!compiled) {
    errors.invalid("spec.selector", *selectorJson, compiled.error().message);
    return;
  }
  api::StringMap own;
  if (labels && labels->is_object())
    for (const auto& member : labels->get_object())
      if (member.value().is_string())
        own.emplace(std::string(member.key()), std::string(member.value().get_string()));
  if (compiled->empty() && byMap) {
    errors.required("spec.selector");
  } else if (compiled->empty() && !own.contains("batch.kubernetes.io/controller-uid")) {
    errors.invalid("spec.selector", *selectorJson, "empty selector is invalid for deployment");
  } else if (!compiled->matches(own)) {
    errors.invalid("spec.template.metadata.labels", labels ? *labels : json::value(json::object{}),
                   "`selector` does not match template `labels`");
  }
}

}  // namespace

void validateLabels(const json::value* labels, const std::string& path, FieldErrors& errors) {
  if (!labels || !labels->is_object()) return;
  for (const auto& member : labels->get_object()) {
    if (const auto wrong = api::checkQualifiedName(member.key()); !wrong.empty())
      errors.invalid(path, member.key(), wrong);
    if (!member.value().is_string()) {
      errors.invalid(path, member.value(), "must be a string");
    } else if (const auto wrong =
                   api::checkLabelValue(std::string_view(member.value().get_string()));
               !wrong.empty()) {
      errors.invalid(path, member.value(), wrong);
    }
  }
}

void validateMetadata(const json::value& object, const Resource& resource, FieldErrors& errors) {
  const auto* metadata = find(object, "metadata");
  const auto name = textAt(object, "metadata", "name");
  if (const auto prefix = textAt(object, "metadata", "generateName"); !prefix.empty())
    if (const auto wrong = checkName(withoutDash(prefix), resource); !wrong.empty())
      errors.invalid("metadata.generateName", prefix, wrong);
  if (name.empty()) {
    errors.required("metadata.name", "name or generateName is required");
  } else if (const auto wrong = checkName(name, resource); !wrong.empty()) {
    errors.invalid("metadata.name", name, wrong);
  }
  if (!metadata) return;
  validateLabels(find(*metadata, "labels"), "metadata.labels", errors);
  if (const auto* annotations = find(*metadata, "annotations");
      annotations && annotations->is_object()) {
    std::size_t bytes = 0;
    for (const auto& member : annotations->get_object()) {
      if (const auto wrong = api::checkQualifiedName(lowered(member.key())); !wrong.empty())
        errors.invalid("metadata.annotations", member.key(), wrong);
      bytes += member.key().size() +
               (member.value().is_string() ? member.value().get_string().size() : 0);
    }
    if (bytes > kMaxAnnotationBytes) errors.tooLong("metadata.annotations", kMaxAnnotationBytes);
  }
  if (const auto* finalizers = arrayAt(*metadata, "finalizers"))
    for (const auto& finalizer : *finalizers)
      if (finalizer.is_string())
        if (const auto wrong = api::checkQualifiedName(std::string_view(finalizer.get_string()));
            !wrong.empty())
          errors.invalid("metadata.finalizers", finalizer, wrong);
  if (const auto* owners = arrayAt(*metadata, "ownerReferences")) {
    int controllers = 0;
    for (std::size_t i = 0; i < owners->size(); ++i) {
      const auto path = fmt::format("metadata.ownerReferences[{}]", i);
      for (const auto* field : {"apiVersion", "kind", "name", "uid"})
        if (textAt((*owners)[i], field).empty())
          errors.invalid(fmt::format("{}.{}", path, field), "",
                         fmt::format("{} must not be empty", field));
      controllers += flagAt((*owners)[i], "controller");
    }
    if (controllers > 1)
      errors.invalid("metadata.ownerReferences", json::value(*owners),
                     "Only one reference can have Controller set to true");
  }
}

void validateBuiltin(const json::value& object, const json::value* before, const Resource& resource,
                     FieldErrors& errors, bool loopbackEndpoints) {
  const auto* schema = resource.storageVersion().schema;
  if (schema) validateRequired(object, *schema, "", errors);
  if (resource.group == "apps" || resource.group == "batch" ||
      resource.isCore("replicationcontrollers")) {
    if (resource.plural != "cronjobs" && resource.plural != "controllerrevisions")
      validateWorkload(object, resource.isCore("replicationcontrollers"), errors);
  }
  if (resource.isCore("nodes")) {
    validateQuantities(at(object, "status", "capacity"), "status.capacity", errors);
    validateQuantities(at(object, "status", "allocatable"), "status.allocatable", errors);
  } else if (resource.isCore("configmaps")) {
    validateConfigMap(object, before, errors);
  } else if (resource.isCore("secrets")) {
    validateSecret(object, before, errors);
  } else if (resource.isCore("services")) {
    validateService(object, before, errors);
  } else if (resource.isCore("endpoints")) {
    validateEndpoints(object, errors, loopbackEndpoints);
  } else if (resource.is("discovery.k8s.io", "endpointslices")) {
    validateEndpointSlice(object, before, errors, loopbackEndpoints);
  } else if (resource.is("autoscaling", "horizontalpodautoscalers")) {
    validateAutoscaler(object, errors);
  } else if (resource.isCore("resourcequotas")) {
    validateResourceQuota(object, before, errors);
  } else if (resource.isCore("limitranges")) {
    validateLimitRange(object, errors);
  } else if (resource.is("policy", "poddisruptionbudgets")) {
    if (at(object, "spec", "minAvailable") && at(object, "spec", "maxUnavailable"))
      errors.invalid("spec", *find(object, "spec"),
                     "minAvailable and maxUnavailable cannot be both set");
  } else if (resource.is("coordination.k8s.io", "leases")) {
    const auto* duration = at(object, "spec", "leaseDurationSeconds");
    if (duration && duration->is_int64() && duration->get_int64() <= 0)
      errors.invalid("spec.leaseDurationSeconds", *duration, "must be greater than 0");
  } else if (resource.group == "admissionregistration.k8s.io" &&
             resource.plural.ends_with("webhookconfigurations")) {
    validateWebhooks(object, before, errors);
  } else if (resource.is("admissionregistration.k8s.io", "validatingadmissionpolicies")) {
    validatePolicy(object, before, errors);
  } else if (resource.is("admissionregistration.k8s.io", "validatingadmissionpolicybindings")) {
    validatePolicyBinding(object, errors);
  } else if (resource.is("admissionregistration.k8s.io", "mutatingadmissionpolicies")) {
    validateMutatingPolicy(object, before, errors);
  } else if (resource.is("admissionregistration.k8s.io", "mutatingadmissionpolicybindings")) {
    validateMutatingPolicyBinding(object, errors);
  } else if (resource.is("scheduling.k8s.io", "priorityclasses")) {
    validatePriorityClass(object, before, errors);
  }
}

namespace {

// Rules may rely on the schema, so an object that violates it is not shown to them.
bool blocksRules(const Cause& cause) {
  return cause.reason == "FieldValueRequired" || cause.reason == "FieldValueNotSupported" ||
         cause.reason == "FieldValueTooLong" || cause.reason == "FieldValueTooMany" ||
         cause.reason == "FieldValueTypeInvalid";
}

void validateRules(const json::value& object, const json::value* before, const CustomRules& rules,
                   FieldErrors& errors) {
  if (std::ranges::any_of(errors.causes(), blocksRules)) {
    errors.invalid("<nil>", nullptr,
                   "some validation rules were not checked because the object was invalid; correct "
                   "the existing errors to complete validation");
    return;
  }
  for (const std::string& error : rules.check(object, before)) errors.addText(error);
}

}  // namespace

Outcome<> validateObject(const json::value& object, const json::value* before,
                         const Resource& resource, const ResourceVersion& version,
                         std::string_view subresource, bool loopbackEndpoints) {
  FieldErrors errors;
  validateMetadata(object, resource, errors);
  if (before) {
    const auto* old = at(*before, "metadata", "uid");
    const auto* now = at(object, "metadata", "uid");
    if (old && now && *old != *now) errors.invalid("metadata.uid", *now, "field is immutable");
  }
  if (resource.custom) {
    if (version.schema) validateCustom(object, *version.schema, errors);
    if (version.rules) validateRules(object, before, *version.rules, errors);
  } else if (before && resource.isCore("pods") && subresource == "status") {
    validatePodStatusUpdate(*before, object, errors);
  } else if (resource.isCore("pods")) {
    validatePod(object, errors);
    if (!before) {
      validateNoEphemeralContainers(object, errors);
    } else if (subresource == "ephemeralcontainers") {
      validateEphemeralUpdate(*before, object, errors);
    } else {
      (subresource == "resize" ? validatePodResize : validatePodUpdate)(*before, object, errors);
    }
  } else if (resource.group == kResourceGroup) {
    validateResourceKind(object, before, resource, subresource, errors);
  } else {
    validateBuiltin(object, before, resource, errors, loopbackEndpoints);
  }
  if (errors.empty()) return {};
  const auto kind = resource.group.empty() ? resource.kind : resource.kind + "." + resource.group;
  return errors.verdict(kind, textAt(object, "metadata", "name"));
}

}  // namespace koord::apiserver
