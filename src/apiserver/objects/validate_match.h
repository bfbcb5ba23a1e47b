#pragma once

// Which requests webhooks and policies are about: rules, selectors, and the names of match
// conditions.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

inline constexpr std::size_t kMaxMatchConditions = 64;  // Kubernetes' limit

// A RuleWithOperations. A rule that did not change need not be checked again.
void validateRequestRule(const json::value& rule, const std::string& path, FieldErrors& errors);
// A LabelSelector; null is valid.
void validateSelector(const json::value& selector, const std::string& path, FieldErrors& errors);
// The number of the conditions and their names, not their expressions.
void validateConditionNames(const json::array& conditions, const std::string& path,
                            FieldErrors& errors);

}  // namespace koord::apiserver
