#include "apiserver/objects/validate_policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/names.h"
#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/validate_match.h"
#include "apiserver/rules/mutation_program.h"
#include "apiserver/rules/policy_program.h"
#include "base/ascii.h"
#include "base/split.h"

namespace koord::apiserver {
namespace {

constexpr std::size_t kMaxAuditAnnotations = 20;
constexpr std::size_t kMaxValueExpressionBytes = 5 << 10;
constexpr std::string_view kNoLabel =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

bool isDns1035Label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && isLower(text.front()) && text.back() != '-' &&
         std::ranges::all_of(text, [](char c) { return isLower(c) || isDigit(c) || c == '-'; });
}

bool isCelIdentifier(std::string_view name) {
  static const std::set<std::string_view> kReserved = {
      "true",     "false",   "null",      "in",       "as",  "break",  "const",
      "continue", "else",    "for",       "function", "if",  "import", "let",
      "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  const auto letter = [](char c) { return isLower(lowered(c)) || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || isDigit(c); }) &&
         !kReserved.contains(name);
}

bool hasLineBreaks(std::string_view text) {
  return text.find_first_of("\n\r") != std::string_view::npos;
}

void validateParamKind(const json::value& kind, FieldErrors& errors) {
  if (!kind.is_object()) return;
  const auto version = textAt(kind, "apiVersion"), name = textAt(kind, "kind");
  constexpr const char* kVersion = "spec.paramKind.apiVersion";
  if (version.empty()) {
    errors.required(kVersion);
  } else if (const auto parts = splitAll(version, '/'); parts.size() > 2) {
    errors.invalid(kVersion, version, fmt::format("unexpected GroupVersion string: {}", version));
  } else {
    if (parts.size() == 2 && !parts[0].empty())
      if (const auto wrong = api::checkDnsSubdomain(parts[0]); !wrong.empty())
        errors.invalid(kVersion, parts[0], wrong);
    if (parts.back().empty()) {
      errors.invalid(kVersion, version, "version must be specified");
    } else if (!isDns1035Label(parts.back())) {
      errors.invalid(kVersion, parts.back(), std::string(kNoLabel));
    }
  }
  if (name.empty()) {
    errors.required("spec.paramKind.kind");
  } else if (!isDns1035Label(lowered(name))) {
    errors.invalid("spec.paramKind.kind", name,
                   fmt::format("may have mixed case, but should otherwise match: {}", kNoLabel));
  }
}

void validateNamedRules(const json::value& match, const char* field, const std::string& path,
                        FieldErrors& errors) {
  const auto* rules = arrayAt(match, field);
  for (std::size_t i = 0; rules && i < rules->size(); ++i) {
    const auto at = fmt::format("{}.{}[{}]", path, field, i);
    const auto* names = arrayAt((*rules)[i], "resourceNames");
    std::set<std::string_view> seen;
    for (std::size_t j = 0; names && j < names->size(); ++j) {
      if (!(*names)[j].is_string()) continue;
      const std::string_view name = (*names)[j].get_string();
      const auto place = fmt::format("{}.resourceNames[{}]", at, j);
      if (const auto wrong = api::checkPathSegment(name); !wrong.empty())
        errors.invalid(place, name, wrong);
      if (!seen.insert(name).second) errors.duplicate(place, name);
    }
    validateRequestRule((*rules)[i], at, errors);
  }
}

void validateMatchResources(const json::value& match, const std::string& path,
                            FieldErrors& errors) {
  if (!match.is_object()) return;
  validateOneOf(match, path, "matchPolicy", {"Equivalent", "Exact"}, true, errors);
  for (const char* selector : {"namespaceSelector", "objectSelector"})
    validateSelector(memberOf(match, selector), fmt::format("{}.{}", path, selector), errors);
  for (const char* rules : {"resourceRules", "excludeResourceRules"})
    validateNamedRules(match, rules, path, errors);
}

// There is nothing to mutate in a deletion.
void validateMutableOperations(const json::value& match, const std::string& path,
                               FieldErrors& errors) {
  static const std::vector<std::string> kSupported = {"*", "CONNECT", "CREATE", "UPDATE"};
  const auto* rules = arrayAt(match, "resourceRules");
  for (std::size_t i = 0; rules && i < rules->size(); ++i)
    if (const auto* operations = arrayAt((*rules)[i], "operations"))
      for (const json::value& operation : *operations)
        if (operation.is_string() &&
            std::ranges::find(kSupported, std::string_view(operation.get_string())) ==
                kSupported.end())
          errors.unsupported(path + ".resourceRules.operations", operation, kSupported);
}

// What policies of both kinds have.
void validateCommon(const json::value& spec, FieldErrors& errors) {
  validateOneOf(spec, "spec", "failurePolicy", {"Fail", "Ignore"}, true, errors);
  validateParamKind(memberOf(spec, "paramKind"), errors);
  const json::value& constraints = memberOf(spec, "matchConstraints");
  const auto* rules = arrayAt(constraints, "resourceRules");
  if (!constraints.is_object()) {
    errors.required("spec.matchConstraints");
  } else {
    validateMatchResources(constraints, "spec.matchConstraints", errors);
    if (!rules || rules->empty()) errors.required("spec.matchConstraints.resourceRules");
  }
  if (const auto* conditions = arrayAt(spec, "matchConditions"))
    validateConditionNames(*conditions, "spec.matchConditions", errors);
  const auto* variables = arrayAt(spec, "variables");
  for (std::size_t i = 0; variables && i < variables->size(); ++i) {
    const auto name = textAt((*variables)[i], "name");
    const auto at = fmt::format("spec.variables[{}].name", i);
    if (trim(name).empty()) {
      errors.required(at, "name is not specified");
    } else if (!isCelIdentifier(name)) {
      errors.invalid(at, name, "must be a valid CEL identifier");
    }
  }
}

void validateMessages(const json::value& validation, const std::string& path, FieldErrors& errors) {
  for (const char* field : {"messageExpression", "message"})
    if (const auto text = textAt(validation, field); !text.empty() && trim(text).empty())
      errors.invalid(fmt::format("{}.{}", path, field), text, "must be non-empty if specified");
  if (const auto message = textAt(validation, "message"); hasLineBreaks(trim(message)))
    errors.invalid(path + ".message", message, "must not contain line breaks");
}

void validateAnnotations(const json::array& annotations, std::string_view policy,
                         FieldErrors& errors) {
  if (annotations.size() > kMaxAuditAnnotations)
    errors.invalid(
        "spec.auditAnnotations", json::value(annotations),
        fmt::format("must not have more than {} auditAnnotations", kMaxAuditAnnotations));
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    const auto at = fmt::format("spec.auditAnnotations[{}]", i);
    const auto key = textAt(annotations[i], "key");
    const auto whole = fmt::format("{}/{}", policy, key);
    if (const auto wrong = api::checkQualifiedName(whole); !wrong.empty())
      errors.invalid(at + ".key", std::string_view(whole), wrong);
    if (!keys.insert(key).second) errors.duplicate(at + ".key", key);
    if (trim(textAt(annotations[i], "valueExpression")).size() > kMaxValueExpressionBytes)
      errors.required(at + ".valueExpression",
                      fmt::format("must not exceed {} bytes in length", kMaxValueExpressionBytes));
  }
}

void validateMutation(const json::value& mutation, const std::string& path, FieldErrors& errors) {
  validateOneOf(mutation, path, "patchType", {"ApplyConfiguration", "JSONPatch"}, true, errors);
  const auto type = textAt(mutation, "patchType");
  const bool json = type == "JSONPatch";
  if (!json && type != "ApplyConfiguration") return;
  const char *own = json ? "jsonPatch" : "applyConfiguration",
             *other = json ? "applyConfiguration" : "jsonPatch";
  if (!memberOf(mutation, own).is_object())
    errors.required(fmt::format("{}.{}", path, own),
                    fmt::format("must be specified when patchType is {}", type));
  if (memberOf(mutation, other).is_object())
    errors.invalid(fmt::format("{}.{}", path, other),
                   std::string_view(fmt::format("{{{}}}", other)),
                   fmt::format("must not be specified when patchType is {}", type));
}

void validateParamRef(const json::value& ref, FieldErrors& errors) {
  if (!ref.is_object()) return;
  const auto name = textAt(ref, "name");
  const json::value& selector = memberOf(ref, "selector");
  validateSelector(selector, "spec.paramRef.selector", errors);
  if (const auto wrong = api::checkPathSegment(name); !name.empty() && !wrong.empty())
    errors.invalid("spec.paramRef.name", name, wrong);
  if (!name.empty() && selector.is_object())
    for (const char* field : {"name", "selector"})
      errors.forbidden(fmt::format("spec.paramRef.{}", field),
                       "name and selector are mutually exclusive");
  if (name.empty() && !selector.is_object())
    errors.required("spec.paramRef", "one of name or selector must be specified");
  validateOneOf(ref, "spec.paramRef", "parameterNotFoundAction", {"Allow", "Deny"}, true, errors);
}

void validateBinding(const json::value& spec, FieldErrors& errors) {
  if (const auto policy = textAt(spec, "policyName"); policy.empty()) {
    errors.required("spec.policyName");
  } else if (const auto wrong = api::checkDnsSubdomain(policy); !wrong.empty()) {
    errors.invalid("spec.policyName", policy, wrong);
  }
  validateParamRef(memberOf(spec, "paramRef"), errors);
  validateMatchResources(memberOf(spec, "matchResources"), "spec.matchResources", errors);
}

}  // namespace

// Expressions that did not change passed the rules of their time.
void validatePolicy(const json::value& policy, const json::value* before, FieldErrors& errors) {
  const json::value& spec = memberOf(policy, "spec");
  if (before && memberOf(*before, "spec") == spec) return;
  validateCommon(spec, errors);
  const auto* validations = arrayAt(spec, "validations");
  const auto* annotations = arrayAt(spec, "auditAnnotations");
  if ((!validations || validations->empty()) && (!annotations || annotations->empty()))
    for (const char* field : {"spec.validations", "spec.auditAnnotations"})
      errors.required(field, "validations or auditAnnotations must contain at least one item");
  for (std::size_t i = 0; validations && i < validations->size(); ++i) {
    const auto path = fmt::format("spec.validations[{}]", i);
    validateMessages((*validations)[i], path, errors);
    validateOneOf((*validations)[i], path, "reason",
                  {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"}, false, errors);
  }
  if (annotations) validateAnnotations(*annotations, textAt(policy, "metadata", "name"), errors);
  const auto program = PolicyProgram::compile(spec);
  for (const std::string& problem : program->problems()) errors.addText(problem);
}

void validateMutatingPolicy(const json::value& policy, const json::value* before,
                            FieldErrors& errors) {
  const json::value& spec = memberOf(policy, "spec");
  if (before && memberOf(*before, "spec") == spec) return;
  validateCommon(spec, errors);
  validateMutableOperations(memberOf(spec, "matchConstraints"), "spec.matchConstraints", errors);
  const auto* mutations = arrayAt(spec, "mutations");
  if (!mutations || mutations->empty())
    errors.required("spec.mutations", "mutations must contain at least one item");
  for (std::size_t i = 0; mutations && i < mutations->size(); ++i)
    validateMutation((*mutations)[i], fmt::format("spec.mutations[{}]", i), errors);
  validateOneOf(spec, "spec", "reinvocationPolicy", {"IfNeeded", "Never"}, true, errors);
  const auto program = MutationProgram::compile(spec);
  for (const std::string& problem : program->problems()) errors.addText(problem);
}

void validatePolicyBinding(const json::value& binding, FieldErrors& errors) {
  const json::value& spec = memberOf(binding, "spec");
  validateBinding(spec, errors);
  const auto* actions = arrayAt(spec, "validationActions");
  if (!actions || actions->empty()) {
    errors.required("spec.validationActions", "at least one validation action is required");
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < actions->size(); ++i) {
    const json::value& action = (*actions)[i];
    const auto at = fmt::format("spec.validationActions[{}]", i);
    if (action != "Audit" && action != "Deny" && action != "Warn")
      errors.unsupported(at, action, {"Audit", "Deny", "Warn"});
    if (!seen.insert(toJson(action)).second) errors.duplicate(at, action);
  }
  if (std::ranges::count(*actions, json::value("Deny")) > 0 &&
      std::ranges::count(*actions, json::value("Warn")) > 0)
    errors.invalid("spec.validationActions", json::value(*actions),
                   "must not contain both Deny and Warn (repeating the same validation failure "
                   "information in the API response and headers serves no purpose)");
}

void validateMutatingPolicyBinding(const json::value& binding, FieldErrors& errors) {
  const json::value& spec = memberOf(binding, "spec");
  validateBinding(spec, errors);
  validateMutableOperations(memberOf(spec, "matchResources"), "spec.matchResources", errors);
}

}  // namespace koord::apiserver
