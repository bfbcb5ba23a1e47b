#pragma once

// Kubernetes' limits on what CEL expressions of users may cost and produce.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace koord::apiserver {

inline constexpr std::uint64_t kEvaluationCostLimit = 1'000'000;  // of one expression
// Of all rules for an object, or all validations of a policy for a request.
inline constexpr std::uint64_t kRulesCostLimit = 10'000'000;
inline constexpr std::uint64_t kConditionsCostLimit = 2'500'000;  // of all match conditions
inline constexpr std::size_t kMaxMessageBytes = 5 << 10;          // of a messageExpression's result
inline constexpr std::string_view kOutOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";

}  // namespace koord::apiserver
