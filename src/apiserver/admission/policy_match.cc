#include "apiserver/admission/policy_match.h"

#include <fmt/format.h>

#include "api/codec.h"

namespace koord::apiserver {
namespace {

api::Selector selectorAt(const json::value& in, std::string_view name, std::string& problem) {
  const json::value& given = memberOf(in, name);
  if (!given.is_object()) return {};
  auto decoded = api::decode<api::LabelSelector>(given);
  auto compiled = decoded ? api::Selector::compile(*decoded)
                          : Result<api::Selector>(std::unexpected(decoded.error()));
  if (compiled) return *std::move(compiled);
  problem = fmt::format("{}: {}", name, compiled.error().message);
  return {};
}

std::vector<RequestRule> rulesAt(const json::value& in, std::string_view name) {
  std::vector<RequestRule> rules;
  const json::value& list = memberOf(in, name);
  if (!list.is_array()) return rules;
  for (const json::value& given : list.get_array()) {
    RequestRule& rule = rules.emplace_back();
    rule.rule.operations = textsAt(given, "operations");
    rule.rule.apiGroups = textsAt(given, "apiGroups");
    rule.rule.apiVersions = textsAt(given, "apiVersions");
    rule.rule.resources = textsAt(given, "resources");
    rule.rule.scope = textAt(given, "scope");
    rule.names = textsAt(given, "resourceNames");
  }
  return rules;
}

}  // namespace

std::vector<std::string> textsAt(const json::value& in, std::string_view name) {
  std::vector<std::string> texts;
  const json::value& list = memberOf(in, name);
  if (!list.is_array()) return texts;
  for (const json::value& item : list.get_array())
    if (item.is_string()) texts.emplace_back(item.get_string());
  return texts;
}

PolicyMatch PolicyMatch::compile(const json::value& resources, bool anyRules) {
  PolicyMatch match;
  match.anyRules_ = anyRules;
  if (!resources.is_object()) return match;
  match.rules_ = rulesAt(resources, "resourceRules");
  match.excluded_ = rulesAt(resources, "excludeResourceRules");
  match.anyRules_ = anyRules && match.rules_.empty();
  match.equivalent_ = textAt(resources, "matchPolicy") != "Exact";
  match.namespaceSelector_ = selectorAt(resources, "namespaceSelector", match.problem_);
  match.objectSelector_ = selectorAt(resources, "objectSelector", match.problem_);
  return match;
}

std::optional<ResourceForm> PolicyMatch::match(const AdmissionAttributes& a,
                                               const RequestForms& forms,
                                               const NamespaceLabels& labels) const {
  auto form = anyRules_ ? std::optional(ResourceForm{nullptr, a.version})
                        : matchedForm(rules_, equivalent_, a, forms);
  if (!form || matchedForm(excluded_, equivalent_, a, forms) ||
      !selectsNamespace(namespaceSelector_, a, labels) || !selectsObject(objectSelector_, a))
    return std::nullopt;
  return form;
}

}  // namespace koord::apiserver
