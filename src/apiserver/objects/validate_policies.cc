#include "apiserver/objects/validate_policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/rules/policy_program.h"

namespace koord::apiserver {

// Expressions that did not change passed the rules of their time.
void validatePolicy(const json::value& policy, const json::value* before, FieldErrors& errors) {
  const json::value& spec = memberOf(policy, "spec");
  if (before && memberOf(*before, "spec") == spec) return;
  validateOneOf(spec, "spec", "failurePolicy", {"Fail", "Ignore"}, false, errors);
  const auto* validations = arrayAt(spec, "validations");
  const auto* annotations = arrayAt(spec, "auditAnnotations");
  if ((!validations || validations->empty()) && (!annotations || annotations->empty()))
    errors.required("spec.validations",
                    "validations or auditAnnotations must contain at least one item");
  const json::value& constraints = memberOf(spec, "matchConstraints");
  const auto* rules = arrayAt(constraints, "resourceRules");
  if (!constraints.is_object()) {
    errors.required("spec.matchConstraints");
  } else if (!rules || rules->empty()) {
    errors.required("spec.matchConstraints.resourceRules");
  }
  for (std::size_t i = 0; validations && i < validations->size(); ++i)
    validateOneOf((*validations)[i], fmt::format("spec.validations[{}]", i), "reason",
                  {"Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"}, false, errors);
  const auto program = PolicyProgram::compile(spec);
  for (const std::string& problem : program->problems()) errors.told(problem);
}

void validatePolicyBinding(const json::value& binding, FieldErrors& errors) {
  const json::value& spec = memberOf(binding, "spec");
  if (textAt(spec, "policyName").empty()) errors.required("spec.policyName");
  const auto* actions = arrayAt(spec, "validationActions");
  if (!actions || actions->empty()) {
    errors.required("spec.validationActions", "at least one validation action is required");
    return;
  }
  for (std::size_t i = 0; i < actions->size(); ++i) {
    const json::value& action = (*actions)[i];
    if (action != "Audit" && action != "Deny" && action != "Warn")
      errors.unsupported(fmt::format("spec.validationActions[{}]", i), action,
                         {"Audit", "Deny", "Warn"});
  }
  if (std::ranges::count(*actions, json::value("Deny")) > 0 &&
      std::ranges::count(*actions, json::value("Warn")) > 0)
    errors.invalid("spec.validationActions", json::value(*actions),
                   "must not contain both Deny and Warn (repeating the same validation failure "
                   "information in the API response and headers serves no purpose)");
}

}  // namespace koord::apiserver
