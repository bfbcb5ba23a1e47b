#include "apiserver/objects/validate_webhooks.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/objects/checks.h"
#include "apiserver/objects/edit.h"
#include "apiserver/objects/validate_match.h"
#include "apiserver/rules/match_conditions.h"
#include "base/split.h"

namespace koord::apiserver {
namespace {

constexpr std::int64_t kMaxTimeoutSeconds = 30;  // seconds

void validateMatchConditions(const json::value& webhook, const std::string& path,
                             FieldErrors& errors) {
  const auto* conditions = arrayAt(webhook, "matchConditions");
  if (!conditions) return;
  validateConditionNames(*conditions, path, errors);
  for (std::size_t i = 0; i < std::min(conditions->size(), kMaxMatchConditions); ++i) {
    const auto at = fmt::format("{}[{}].expression", path, i);
    const auto expression = textAt((*conditions)[i], "expression");
    if (trim(expression).empty()) {
      errors.required(at);
    } else if (const auto problem = MatchConditions::problemOf(expression); !problem.empty()) {
      errors.invalid(at, expression, problem);
    }
  }
}

void validateWebhook(const json::value& webhook, const json::value* before, const std::string& path,
                     FieldErrors& errors) {
  validateOneOf(webhook, path, "failurePolicy", {"Fail", "Ignore"}, false, errors);
  validateOneOf(webhook, path, "matchPolicy", {"Equivalent", "Exact"}, false, errors);
  validateOneOf(webhook, path, "reinvocationPolicy", {"IfNeeded", "Never"}, false, errors);
  if (const auto* seconds = find(webhook, "timeoutSeconds"); seconds && seconds->is_int64())
    if (seconds->get_int64() < 1 || seconds->get_int64() > kMaxTimeoutSeconds)
      errors.invalid(path + ".timeoutSeconds", *seconds,
                     "the timeout value must be between 1 and 30 seconds");
  const auto* rules = arrayAt(webhook, "rules");
  if (rules && (!before || memberOf(*before, "rules") != memberOf(webhook, "rules")))
    for (std::size_t i = 0; i < rules->size(); ++i)
      validateRequestRule((*rules)[i], fmt::format("{}.rules[{}]", path, i), errors);
  for (const char* selector : {"namespaceSelector", "objectSelector"})
    validateSelector(memberOf(webhook, selector), fmt::format("{}.{}", path, selector), errors);
  const auto& client = memberOf(webhook, "clientConfig");
  const bool url = !isMissing(membersOf(client), "url");
  if (url == !isMissing(membersOf(client), "service"))
    errors.required(path + ".clientConfig", "exactly one of url or service is required");
  if (!before || memberOf(*before, "matchConditions") != memberOf(webhook, "matchConditions"))
    validateMatchConditions(webhook, path + ".matchConditions", errors);
}

}  // namespace

void validateWebhooks(const json::value& configuration, const json::value* before,
                      FieldErrors& errors) {
  const auto* webhooks = arrayAt(configuration, "webhooks");
  const auto* old = before ? arrayAt(*before, "webhooks") : nullptr;
  for (std::size_t i = 0; webhooks && i < webhooks->size(); ++i) {
    const json::value& webhook = (*webhooks)[i];
    const auto path = fmt::format("webhooks[{}]", i);
    const auto name = textAt(webhook, "name");
    const auto sameName = [&](const json::value& other) { return textAt(other, "name") == name; };
    if (std::any_of(webhooks->begin(), webhooks->begin() + static_cast<std::ptrdiff_t>(i),
                    sameName))
      errors.duplicate(path + ".name", name);
    const json::value* was = nullptr;
    if (old)
      if (const auto it = std::ranges::find_if(*old, sameName); it != old->end()) was = it;
    validateWebhook(webhook, was, path, errors);
  }
}

}  // namespace koord::apiserver
