// LimitRanges, ResourceQuotas and PriorityClasses affect other objects. A mistake in them shows
// only later, when another user's pod is rejected or preempts the wrong pod, so the rules are
// strict.
//
//   LimitRange      at most one entry per type, with min <= default request <= default <= max, and
//                   ratios of at least 1 that min and max can satisfy.
//   ResourceQuota   known names of amounts, and scopes that do not contradict each other and never
//                   change, because the usage was counted by them.
//   PriorityClass   user-defined values are below the system's, and a value never changes, because
//                   pods have copies of it.
//
// Cost: O(entries). Rules: ValidateLimitRange, ValidateResourceQuota and ValidatePriorityClass of
// kube-apiserver.

#include "apiserver/objects/validate_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/names.h"
#include "api/quantity_json.h"
#include "apiserver/objects/edit.h"
#include "base/quantity.h"

namespace koord::apiserver {
namespace {

constexpr std::string_view kStandardNames[] = {
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
};
constexpr std::string_view kScopes[] = {"Terminating",          "NotTerminating",
                                        "BestEffort",           "NotBestEffort",
                                        "PriorityClass",        "CrossNamespacePodAffinity",
                                        "VolumeAttributesClass"};

std::optional<Quantity> amountAt(const json::value& item, const char* list, std::string_view name) {
  const auto* value = at(item, list, name);
  if (!value) return std::nullopt;
  auto quantity = api::readQuantity(*value);
  if (!quantity) return std::nullopt;
  return *std::move(quantity);
}

void validateLimit(const json::value& item, const std::string& path, FieldErrors& errors) {
  std::set<std::string> names;
  for (const auto* list : {"min", "max", "default", "defaultRequest", "maxLimitRequestRatio"})
    if (const auto* amounts = find(item, list); amounts && amounts->is_object())
      for (const auto& member : amounts->get_object()) names.emplace(member.key());
  if (textAt(item, "type") == "Pod")
    for (const auto* list : {"default", "defaultRequest"})
      if (find(item, list))
        errors.forbidden(path + "." + list, "may not be specified when `type` is 'Pod'");
  if (textAt(item, "type") == "PersistentVolumeClaim" && !amountAt(item, "min", "storage") &&
      !amountAt(item, "max", "storage"))
    errors.required(path,
                    "either minimum or maximum storage value is required, but neither was "
                    "provided");
  for (const auto& name : names) {
    const auto min = amountAt(item, "min", name), max = amountAt(item, "max", name);
    const auto limit = amountAt(item, "default", name);
    const auto request = amountAt(item, "defaultRequest", name);
    const auto ordered = [&](const auto& low, const auto& high, const char* field,
                             const char* lowName, const char* highName) {
      if (low && high && *low > *high)
        errors.invalid(fmt::format("{}.{}[{}]", path, field, name),
                       std::string_view(low->toString()),
                       fmt::format("{} value {} is greater than {} value {}", lowName,
                                   low->toString(), highName, high->toString()));
    };
    ordered(min, max, "min", "min", "max");
    ordered(min, request, "defaultRequest", "min", "default request");
    ordered(request, max, "defaultRequest", "default request", "max");
    ordered(request, limit, "defaultRequest", "default request", "default limit");
    ordered(min, limit, "default", "min", "default");
    ordered(limit, max, "default", "default", "max");
    const auto ratio = amountAt(item, "maxLimitRequestRatio", name);
    if (!ratio) continue;
    if (*ratio < Quantity::of(1))
      errors.invalid(fmt::format("{}.maxLimitRequestRatio[{}]", path, name),
                     std::string_view(ratio->toString()),
                     fmt::format("ratio {} is less than 1", ratio->toString()));
    if (min && max && !min->isZero() && ratio->toDouble() > max->toDouble() / min->toDouble())
      errors.invalid(fmt::format("{}.maxLimitRequestRatio[{}]", path, name),
                     std::string_view(ratio->toString()),
                     fmt::format("ratio {} is greater than max/min = {:f}", ratio->toString(),
                                 max->toDouble() / min->toDouble()));
  }
}

void validateAmountName(std::string_view name, const std::string& path, FieldErrors& errors) {
  if (const auto wrong = api::checkQualifiedName(name); !wrong.empty()) {
    errors.invalid(path, name, wrong);
  } else if (name.find('/') == std::string_view::npos && !name.starts_with("hugepages-") &&
             !name.starts_with("requests.hugepages-") &&
             std::ranges::find(kStandardNames, name) == std::end(kStandardNames)) {
    errors.invalid(path, name, "must be a standard resource for quota");
  }
}

bool has(const std::set<std::string>& scopes, const char* a, const char* b) {
  return scopes.contains(a) && scopes.contains(b);
}

bool sameMember(const json::value& a, const json::value& b, const char* group, const char* name) {
  const auto* x = at(a, group, name);
  const auto* y = at(b, group, name);
  return x && y ? *x == *y : x == y;
}

}  // namespace

void validateLimitRange(const json::value& object, FieldErrors& errors) {
  const auto* spec = find(object, "spec");
  const auto* limits = spec ? arrayAt(*spec, "limits") : nullptr;
  if (!limits) return;
  std::set<std::string> types;
  for (std::size_t i = 0; i < limits->size(); ++i) {
    const auto path = fmt::format("spec.limits[{}]", i);
    const std::string type(textAt((*limits)[i], "type"));
    if (!types.insert(type).second) errors.duplicate(path + ".type", std::string_view(type));
    validateLimit((*limits)[i], path, errors);
  }
}

void validateResourceQuota(const json::value& object, const json::value* before,
                           FieldErrors& errors) {
  if (const auto* hard = at(object, "spec", "hard"); hard && hard->is_object())
    for (const auto& limit : hard->get_object()) {
      const auto path = fmt::format("spec.hard[{}]", std::string_view(limit.key()));
      validateAmountName(limit.key(), path, errors);
      const auto amount = amountAt(memberOf(object, "spec"), "hard", limit.key());
      if (amount && amount->sign() < 0)
        errors.invalid(path, limit.value(), "must be greater than or equal to 0");
    }
  std::set<std::string> names;
  const auto* spec = find(object, "spec");
  if (const auto* scopes = spec ? arrayAt(*spec, "scopes") : nullptr) {
    for (const auto& scope : *scopes)
      if (scope.is_string()) {
        names.emplace(scope.get_string());
        if (std::ranges::find(kScopes, std::string_view(scope.get_string())) == std::end(kScopes))
          errors.invalid("spec.scopes", scope, "unsupported scope");
      }
    if (has(names, "BestEffort", "NotBestEffort") || has(names, "Terminating", "NotTerminating"))
      errors.invalid("spec.scopes", json::value(*scopes), "conflicting scopes");
  }
  const auto* selector = at(object, "spec", "scopeSelector");
  if (const auto* list = selector ? arrayAt(*selector, "matchExpressions") : nullptr)
    for (const auto& expression : *list) {
      constexpr const char* kPath = "spec.scopeSelector.matchExpressions";
      const auto name = textAt(expression, "scopeName");
      const auto op = textAt(expression, "operator");
      const auto* values = arrayAt(expression, "values");
      const bool listed = values && !values->empty();
      if (std::ranges::find(kScopes, name) == std::end(kScopes))
        errors.invalid(std::string(kPath) + ".scopeName", name, "unsupported scope");
      if (name != "PriorityClass" && name != "VolumeAttributesClass" && op != "Exists")
        errors.invalid(std::string(kPath) + ".operator", op,
                       "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
                       "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                       "ResourceQuotaScopeNotBestEffort or "
                       "ResourceQuotaScopeCrossNamespacePodAffinity");
      if ((op == "In" || op == "NotIn") && !listed)
        errors.required(std::string(kPath) + ".values",
                        "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                        "selector");
      if ((op == "Exists" || op == "DoesNotExist") && listed)
        errors.invalid(std::string(kPath) + ".values", json::value(*values),
                       "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope "
                       "selector");
    }
  if (before)
    for (const auto* field : {"scopes", "scopeSelector"})
      if (!sameMember(object, *before, "spec", field))
        errors.invalid(std::string("spec.") + field,
                       at(object, "spec", field) ? *at(object, "spec", field) : json::value(),
                       "field is immutable");
}

void validatePriorityClass(const json::value& object, const json::value* before,
                           FieldErrors& errors) {
  const auto name = textAt(object, "metadata", "name");
  const auto value = integerAt(object, 0, "value");
  const bool known = (name == "system-cluster-critical" && value == 2'000'000'000) ||
                     (name == "system-node-critical" && value == 2'000'001'000);
  if (name.starts_with("system-")) {
    if (!known)
      errors.forbidden(
          "metadata.name",
          fmt::format("priority class names with 'system-' prefix are reserved for "
                      "system use only. error: {} is not a known system priority class",
                      name));
  } else if (value > 1'000'000'000) {
    errors.forbidden("value", "maximum allowed value of a user defined priority is 1000000000");
  }
  if (!before) return;
  if (value != integerAt(*before, 0, "value"))
    errors.forbidden("value", "may not be changed in an update.");
  const auto policy = textAt(object, "preemptionPolicy");
  if (const auto old = textAt(*before, "preemptionPolicy"); policy != old)
    errors.invalid("preemptionPolicy", policy, "field is immutable");
}

}  // namespace koord::apiserver
