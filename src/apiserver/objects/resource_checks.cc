#include "apiserver/objects/resource_checks.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <vector>

#include "api/names.h"
#include "api/resource_devices.h"
#include "base/ascii.h"
#include "model/dra_cel.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxPoolBytes = 253;
constexpr std::size_t kMaxExpressionBytes = 10 << 10;
constexpr std::size_t kMaxBindingConditions = 4;
constexpr std::size_t kMaxReasonBytes = 1 << 10;
constexpr std::size_t kMaxMessageBytes = 32 << 10;

void addInvalid(std::string_view value, std::string wrong, const std::string& path,
                FieldErrors& errors) {
  if (!wrong.empty()) errors.invalid(path, value, std::move(wrong));
}

std::vector<std::string_view> partsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

void validateIdentifier(std::string_view id, const std::string& path, FieldErrors& errors) {
  if (id.size() > api::kMaxDeviceFieldName) errors.tooLong(path, api::kMaxDeviceFieldName);
  static const re2::RE2 pattern("[A-Za-z_][A-Za-z0-9_]*");
  if (!re2::RE2::FullMatch(id, pattern))
    errors.invalid(path, id,
                   "a valid C identifier must start with alphabetic character or '_', followed by "
                   "a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
                   "'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')");
}

std::vector<std::string> effects() {
  return {"NoExecute", "NoSchedule", "None"};
}

bool isEffect(std::string_view effect) {
  const auto all = effects();
  return std::ranges::find(all, effect) != all.end();
}

void validateToleration(const json::value& toleration, const std::string& path,
                        FieldErrors& errors) {
  if (const auto key = textAt(toleration, "key"); !key.empty())
    checkLabelNameAt(key, path + ".key", errors);
  const auto op = textAt(toleration, "operator");
  const auto value = textAt(toleration, "value");
  if (op == "Exists") {
    if (!value.empty())
      errors.invalid(path + ".value", value, "must be empty for operator `Exists`");
  } else if (op == "Equal") {
    checkLabelValueAt(value, path + ".value", errors);
  } else if (op.empty()) {
    errors.required(path + ".operator");
  } else {
    errors.unsupported(path + ".operator", op, {"Equal", "Exists"});
  }
  if (const auto effect = textAt(toleration, "effect"); !effect.empty() && !isEffect(effect))
    errors.unsupported(path + ".effect", effect, effects());
}

void validateRequirement(const json::value& requirement, bool ofField, const std::string& path,
                         FieldErrors& errors) {
  const auto op = textAt(requirement, "operator");
  const auto* values = arrayAt(requirement, "values");
  const auto count = values ? values->size() : 0;
  const auto key = textAt(requirement, "key");
  const bool isSet = op == "In" || op == "NotIn";
  if (ofField) {
    if (isSet && count != 1)
      errors.required(path + ".values",
                      "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                      "selector");
    if (!isSet) errors.invalid(path + ".operator", op, "not a valid selector operator");
    if (key != "metadata.name")
      errors.invalid(path + ".key", key, "not a valid field selector key");
  } else {
    if (isSet && count == 0)
      errors.required(path + ".values", "must be specified when `operator` is 'In' or 'NotIn'");
    const bool isPresence = op == "Exists" || op == "DoesNotExist";
    if (isPresence && count > 0)
      errors.forbidden(path + ".values",
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    const bool isOrder = op == "Gt" || op == "Lt";
    if (isOrder && count != 1)
      errors.required(path + ".values",
                      "must be specified single value when `operator` is 'Lt' or 'Gt'");
    if (!isSet && !isPresence && !isOrder)
      errors.invalid(path + ".operator", op, "not a valid selector operator");
    checkLabelNameAt(key, path + ".key", errors);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!(*values)[i].is_string()) continue;
    const std::string_view value = (*values)[i].get_string();
    const auto at = fmt::format("{}.values[{}]", path, i);
    if (!ofField) {
      checkLabelValueAt(value, at, errors);
    } else if (key == "metadata.name") {
      checkDnsSubdomainAt(value, at, errors);
    }
  }
}

// An expression that selects devices.
void validateExpression(std::string_view text, bool stored, const std::string& path,
                        FieldErrors& errors) {
  if (text.size() > kMaxExpressionBytes) {
    errors.tooLong(path, kMaxExpressionBytes);
    return;
  }
  if (stored) return;
  const auto compiled = model::DeviceExpression::compile(std::string(text));
  if (!compiled) {
    errors.invalid(path, text, compiled.error().message);
  } else if (compiled->maxCost() > model::kDeviceSelectorCost) {
    errors.forbidden(path, "too complex, exceeds cost limit");
  }
}

void validateCondition(const json::value& condition, const std::string& path, FieldErrors& errors) {
  checkLabelNameAt(textAt(condition, "type"), path + ".type", errors);
  const auto status = textAt(condition, "status");
  if (status != "True" && status != "False" && status != "Unknown")
    errors.unsupported(path + ".status", status, {"False", "True", "Unknown"});
  if (const auto seen = integerAt(condition, 0, "observedGeneration"); seen < 0)
    errors.invalid(path + ".observedGeneration", seen, "must be greater than or equal to zero");
  if (textAt(condition, "lastTransitionTime").empty())
    errors.required(path + ".lastTransitionTime");
  static const re2::RE2 pattern("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?");
  const auto reason = textAt(condition, "reason");
  if (reason.empty()) {
    errors.required(path + ".reason");
  } else if (!re2::RE2::FullMatch(reason, pattern)) {
    errors.invalid(path + ".reason", reason,
                   "a condition reason must start with alphabetic character, optionally followed "
                   "by a string of alphanumeric characters or '_,:', and must end with an "
                   "alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  "
                   "or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                   "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
  }
  if (reason.size() > kMaxReasonBytes) errors.tooLong(path + ".reason", kMaxReasonBytes);
  if (textAt(condition, "message").size() > kMaxMessageBytes)
    errors.tooLong(path + ".message", kMaxMessageBytes);
}

}  // namespace

void checkDnsLabelAt(std::string_view name, const std::string& path, FieldErrors& errors) {
  addInvalid(name, api::checkDnsLabel(name), path, errors);
}
void checkDnsSubdomainAt(std::string_view name, const std::string& path, FieldErrors& errors) {
  addInvalid(name, api::checkDnsSubdomain(name), path, errors);
}
void checkLabelNameAt(std::string_view name, const std::string& path, FieldErrors& errors) {
  addInvalid(name, api::checkQualifiedName(name), path, errors);
}
void checkLabelValueAt(std::string_view value, const std::string& path, FieldErrors& errors) {
  addInvalid(value, api::checkLabelValue(value), path, errors);
}

void validateDriverName(std::string_view name, const std::string& path, FieldErrors& errors) {
  if (name.empty()) {
    errors.required(path);
    return;
  }
  if (name.size() > api::kMaxDriverName) errors.tooLong(path, api::kMaxDriverName);
  addInvalid(name, api::checkDnsSubdomain(lowered(name)), path, errors);
}

void validatePoolName(std::string_view name, const std::string& path, FieldErrors& errors) {
  if (name.empty()) {
    errors.required(path);
    return;
  }
  if (name.size() > kMaxPoolBytes) errors.tooLong(path, kMaxPoolBytes);
  for (const auto part : partsOf(name)) checkDnsSubdomainAt(part, path, errors);
}

void validateUuid(std::string_view uid, const std::string& path, FieldErrors& errors) {
  static const re2::RE2 pattern("(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  if (!re2::RE2::FullMatch(uid, pattern)) {
    errors.invalid(
        path, uid,
        fmt::format("error validating uid: invalid UUID {}",
                    uid.size() == 36 ? "format" : fmt::format("length: {}", uid.size())));
  } else if (lowered(uid) != uid) {
    errors.invalid(path, uid,
                   "uid must be in RFC 4122 normalized form, "
                   "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters");
  }
}

void validateDeviceFieldName(std::string_view name, const std::string& path, FieldErrors& errors) {
  const auto parts = partsOf(name);
  if (parts.size() == 1) {
    validateIdentifier(parts[0], path, errors);
  } else if (parts.size() == 2) {
    if (parts[0].empty()) {
      errors.invalid(path, "", "the domain must not be empty");
    } else {
      validateDriverName(parts[0], path, errors);
    }
    if (parts[1].empty()) {
      errors.invalid(path, "", "the name must not be empty");
    } else {
      validateIdentifier(parts[1], path, errors);
    }
  }
}

void validateFullFieldName(std::string_view name, const std::string& path, FieldErrors& errors) {
  validateDeviceFieldName(name, path, errors);
  if (name.find('/') == std::string_view::npos)
    errors.invalid(path, name,
                   "a fully qualified name must be a domain and a name separated by a slash");
}

void validateDeviceSelectors(const json::value& owner, const std::string& path, bool stored,
                             FieldErrors& errors) {
  validateItems(owner, "selectors", path, kMaxDeviceSelectors, errors,
                [&](const json::value& selector, const std::string& at) {
                  const auto* cel = find(selector, "cel");
                  if (!cel) {
                    errors.required(at + ".cel");
                    return;
                  }
                  validateExpression(textAt(*cel, "expression"), stored, at + ".cel.expression",
                                     errors);
                });
}

void validateDeviceConfiguration(const json::value& owner, const std::string& path, bool stored,
                                 FieldErrors& errors) {
  const auto* opaque = find(owner, "opaque");
  if (!opaque) {
    errors.required(path + ".opaque");
    return;
  }
  validateDriverName(textAt(*opaque, "driver"), path + ".opaque.driver", errors);
  validateParameters(find(*opaque, "parameters"), path + ".opaque.parameters", stored,
                     kMaxParameterBytes, errors);
}

void validateParameters(const json::value* parameters, const std::string& path, bool stored,
                        std::size_t limit, FieldErrors& errors) {
  if (!parameters || parameters->is_null()) {
    errors.required(path);
  } else if (!stored && toJson(*parameters).size() > limit) {
    errors.tooLong(path, limit);
  } else if (!parameters->is_object()) {
    errors.invalid(path, "<value omitted>", "must be a valid JSON object");
  }
}

void validateDeviceTaint(const json::value& taint, const json::value* before,
                         const std::string& path, FieldErrors& errors) {
  checkLabelNameAt(textAt(taint, "key"), path + ".key", errors);
  if (const auto value = textAt(taint, "value"); !value.empty())
    checkLabelValueAt(value, path + ".value", errors);
  const auto effect = textAt(taint, "effect");
  if (before && textAt(*before, "effect") == effect) return;
  if (effect.empty()) {
    errors.required(path + ".effect");
  } else if (!isEffect(effect)) {
    errors.unsupported(path + ".effect", effect, effects());
  }
}

void validateDeviceTolerations(const json::value& owner, const std::string& path,
                               FieldErrors& errors) {
  validateItems(owner, "tolerations", path, api::kMaxDeviceTolerations, errors,
                [&](const json::value& toleration, const std::string& at) {
                  validateToleration(toleration, at, errors);
                });
}

void validateBindingConditions(const json::value& owner, const std::string& path,
                               FieldErrors& errors) {
  constexpr std::array<const char*, 2> kLists = {"bindingConditions", "bindingFailureConditions"};
  std::array<std::set<std::string>, 2> seen;
  for (const auto* list : kLists)
    validateItems(owner, list, path, kMaxBindingConditions, errors,
                  [&](const json::value& condition, const std::string& at) {
                    if (condition.is_string()) checkLabelNameAt(condition.get_string(), at, errors);
                  });
  for (std::size_t which = 0; which < kLists.size(); ++which) {
    const auto* list = arrayAt(owner, kLists[which]);
    for (std::size_t i = 0; list && i < list->size(); ++i) {
      const auto at = fmt::format("{}.{}[{}]", path, kLists[which], i);
      const std::string condition(textOf((*list)[i]));
      if (!seen[which].insert(condition).second) errors.duplicate(at, condition.c_str());
      if (which == 1 && seen[0].contains(condition))
        errors.invalid(at, condition.c_str(),
                       "bindingFailureConditions must not overlap with bindingConditions");
    }
  }
  for (std::size_t which = 0; which < kLists.size(); ++which)
    if (seen[which].empty() && !seen[1 - which].empty())
      errors.invalid(fmt::format("{}.{}", path, kLists[which]), nullptr,
                     fmt::format("{} are required to use {}", kLists[which], kLists[1 - which]));
}

void validateNodeSelector(const json::value& selector, const std::string& path,
                          FieldErrors& errors) {
  const auto* terms = arrayAt(selector, "nodeSelectorTerms");
  if (!terms || terms->empty()) {
    errors.required(path + ".nodeSelectorTerms", "must have at least one node selector term");
    return;
  }
  for (std::size_t i = 0; i < terms->size(); ++i)
    for (const auto* list : {"matchExpressions", "matchFields"})
      validateItems(
          (*terms)[i], list, fmt::format("{}.nodeSelectorTerms[{}]", path, i), std::string::npos,
          errors, [&](const json::value& requirement, const std::string& at) {
            validateRequirement(requirement, std::string_view(list) == "matchFields", at, errors);
          });
}

void validateConditions(const json::value& owner, const std::string& path, std::size_t limit,
                        FieldErrors& errors) {
  std::set<std::string> types;
  validateItems(owner, "conditions", path, limit, errors,
                [&](const json::value& condition, const std::string& at) {
                  const auto type = textAt(condition, "type");
                  if (!types.emplace(type).second) errors.duplicate(at + ".type", type);
                  validateCondition(condition, at, errors);
                });
}

}  // namespace koord::apiserver
