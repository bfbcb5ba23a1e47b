#include "apiserver/admission/policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/codec.h"

namespace koord::apiserver {
namespace {

std::vector<std::string> textsAt(const json::value& in, std::string_view name) {
  std::vector<std::string> texts;
  if (const auto* list = find(in, name); list && list->is_array())
    for (const auto& item : list->get_array())
      if (item.is_string()) texts.emplace_back(item.get_string());
  return texts;
}

api::Selector selectorAt(const json::value& in, std::string_view name, std::string& problem) {
  const auto* given = find(in, name);
  if (!given || !given->is_object()) return {};
  auto decoded = api::decode<api::LabelSelector>(*given);
  auto compiled = decoded ? api::Selector::compile(*decoded)
                          : Result<api::Selector>(std::unexpected(decoded.error()));
  if (compiled) return *std::move(compiled);
  problem = fmt::format("{}: {}", name, compiled.error().message);
  return {};
}

int statusOf(std::string_view reason) {
  if (reason == "Unauthorized") return 401;
  if (reason == "Forbidden") return 403;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

// The reason of a Status, which outlives it.
std::string_view reasonOf(std::string_view reason) {
  for (const std::string_view known : {"Unauthorized", "Forbidden", "RequestEntityTooLarge"})
    if (reason == known) return known;
  return "Invalid";
}

}  // namespace

AdmissionPolicies::Match AdmissionPolicies::matchOf(const json::value* in, bool anyRules) {
  Match match;
  match.anyRules = anyRules;
  if (!in || !in->is_object()) return match;
  const auto rulesAt = [&](std::string_view name) {
    std::vector<Match::Rule> rules;
    if (const auto* list = find(*in, name); list && list->is_array())
      for (const auto& given : list->get_array()) {
        Match::Rule& rule = rules.emplace_back();
        rule.rule.operations = textsAt(given, "operations");
        rule.rule.apiGroups = textsAt(given, "apiGroups");
        rule.rule.apiVersions = textsAt(given, "apiVersions");
        rule.rule.resources = textsAt(given, "resources");
        rule.rule.scope = textAt(given, "scope");
        rule.names = textsAt(given, "resourceNames");
      }
    return rules;
  };
  match.rules = rulesAt("resourceRules");
  match.excluded = rulesAt("excludeResourceRules");
  match.anyRules = anyRules && match.rules.empty();
  match.equivalent = textAt(*in, "matchPolicy") != "Exact";
  match.namespaceSelector = selectorAt(*in, "namespaceSelector", match.problem);
  match.objectSelector = selectorAt(*in, "objectSelector", match.problem);
  return match;
}

void AdmissionPolicies::setPolicy(const std::string& name, const json::value* policy) {
  policies_.erase(name);
  if (!policy) return;
  const json::value& spec = memberOf(*policy, "spec");
  policies_[name] = {matchOf(find(spec, "matchConstraints"), false), PolicyProgram::compile(spec),
                     memberOf(spec, "paramKind"), textAt(spec, "failurePolicy") == "Ignore"};
}

void AdmissionPolicies::setBinding(const std::string& name, const json::value* binding) {
  bindings_.erase(name);
  if (!binding) return;
  const json::value& spec = memberOf(*binding, "spec");
  const auto actions = textsAt(spec, "validationActions");
  bindings_[name] = {std::string(textAt(spec, "policyName")),
                     matchOf(find(spec, "matchResources"), true), memberOf(spec, "paramRef"),
                     std::ranges::count(actions, "Deny") > 0,
                     std::ranges::count(actions, "Warn") > 0};
}

bool AdmissionPolicies::matches(const std::vector<Match::Rule>& rules, const Match& match,
                                const AdmissionAttributes& a) {
  return std::ranges::any_of(rules, [&](const Match::Rule& rule) {
    if (!rule.names.empty() && std::ranges::count(rule.names, a.name) == 0) return false;
    if (matchesRule(rule.rule, a, *a.resource, a.version)) return true;
    return match.equivalent &&
           std::ranges::any_of(a.resource->versions, [&](const ResourceVersion& version) {
             return version.served && matchesRule(rule.rule, a, *a.resource, version.name);
           });
  });
}

bool AdmissionPolicies::matches(const Match& match, const AdmissionAttributes& a) const {
  if (!match.anyRules && !matches(match.rules, match, a)) return false;
  if (matches(match.excluded, match, a)) return false;
  return selectsNamespace(match.namespaceSelector, a, host_.namespaceLabels) &&
         selectsObject(match.objectSelector, a);
}

bool AdmissionPolicies::wants(const AdmissionAttributes& a) const {
  // Policies do not apply to their own kinds, so that they cannot block their repair.
  if (a.resource->group == "admissionregistration.k8s.io") return false;
  return std::ranges::any_of(bindings_, [&](const auto& entry) {
    const auto policy = policies_.find(entry.second.policy);
    return policy != policies_.end() &&
           matches(policy->second.match.rules, policy->second.match, a);
  });
}

std::vector<PolicyProgram::Denial> AdmissionPolicies::denialsOf(
    const Policy& policy, const Binding& binding, const AdmissionAttributes& a) const {
  const auto misconfigured = [](const char* what, std::string_view why) {
    return std::vector<PolicyProgram::Denial>{
        {0, fmt::format("failed to configure {}: {}", what, why), "Invalid", true}};
  };
  if (!policy.match.problem.empty()) return misconfigured("policy", policy.match.problem);
  if (!binding.match.problem.empty()) return misconfigured("binding", binding.match.problem);
  std::vector<json::value> params{nullptr};
  if (policy.paramKind.is_object() && binding.paramRef.is_object()) {
    auto found = host_.params(policy.paramKind, binding.paramRef, a.namespace_);
    if (!found) return misconfigured("binding", found.error().message);
    if (found->empty() && textAt(binding.paramRef, "parameterNotFoundAction") != "Allow")
      return misconfigured(
          "binding", "no params found for policy binding with `Deny` parameterNotFoundAction");
    params = *std::move(found);
  }
  const UserAuthorizer authorizer(host_.authorize, a.user);
  const json::value request = requestOf(a, {nullptr, a.version});
  const bool inNamespace = !a.namespace_.empty() && !a.resource->isCore("namespaces");
  const json::value space = inNamespace && host_.namespaceObject
                                ? host_.namespaceObject(a.namespace_)
                                : json::value(nullptr);
  std::vector<PolicyProgram::Denial> all;
  for (const json::value& param : params)
    for (auto& denial :
         policy.program->evaluate({a.object, a.oldObject, request, space, param, authorizer}))
      all.push_back(std::move(denial));
  return all;
}

Outcome<> AdmissionPolicies::check(const AdmissionAttributes& a,
                                   std::vector<std::string>& warnings) const {
  std::optional<Failure> denied;
  for (const auto& [name, binding] : bindings_) {
    const auto found = policies_.find(binding.policy);
    if (found == policies_.end()) continue;
    const Policy& policy = found->second;
    if (!matches(policy.match, a) || !matches(binding.match, a)) continue;
    for (const auto& denial : denialsOf(policy, binding, a)) {
      if (denial.isError && policy.ignoresErrors) continue;
      if (binding.warns)
        warnings.push_back(fmt::format(
            "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
            binding.policy, name, denial.message));
      if (!binding.denies || denied) continue;
      const std::string why =
          fmt::format("ValidatingAdmissionPolicy '{}' with binding '{}' denied request: {}",
                      binding.policy, name, denial.message);
      denied = Failure(ErrorCode::Forbidden, fmt::format("{} \"{}\" is forbidden: {}",
                                                         a.resource->qualified(), a.name, why));
      denied->causes.push_back({"", why, ""});
      denied->status = statusOf(denial.reason);
      denied->reason = reasonOf(denial.reason);
    }
  }
  if (denied) return refuse(*std::move(denied));
  return {};
}

}  // namespace koord::apiserver
