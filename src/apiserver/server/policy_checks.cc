#include "apiserver/server/policy_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "api/group_version.h"
#include "apiserver/admission/policy_match.h"
#include "apiserver/objects/edit.h"
#include "apiserver/rules/policy_types.h"
#include "apiserver/server/server.h"
#include "base/log.h"

namespace koord::apiserver {
namespace {

constexpr const char* kPolicyTable = "validatingadmissionpolicies.admissionregistration.k8s.io";
// As Kubernetes: a rule with so many kinds is the last that is checked.
constexpr std::size_t kMaxKinds = 10;

// The texts of a list, sorted. nullopt if one is a wildcard.
std::optional<std::vector<std::string>> plainTexts(const json::value& rule, const char* name) {
  auto texts = textsAt(rule, name);
  const auto isWildcard = [](const std::string& text) { return text.contains('*'); };
  if (std::ranges::any_of(texts, isWildcard)) return std::nullopt;
  std::ranges::sort(texts);
  return texts;
}

struct CheckedKind {
  ResourcePtr resource;  // owns the schema
  const api::Schema* schema = nullptr;
};
using CheckedKinds = std::map<std::tuple<std::string, std::string, std::string>, CheckedKind>;

// Adds the kinds that a rule names without wildcards and subresources, by group, version and kind.
// Returns false if there are no more to be added, from no rule.
bool addKinds(const Registry& registry, const json::value& rule, CheckedKinds& kinds) {
  const auto groups = plainTexts(rule, "apiGroups"), versions = plainTexts(rule, "apiVersions");
  auto resources = textsAt(rule, "resources");
  std::ranges::sort(resources);
  if (!groups || !versions) return true;
  std::size_t count = 0;
  for (const std::string& group : *groups)
    for (const std::string& version : *versions)
      for (const std::string& plural : resources) {
        const auto resource = registry.find(group, version, plural);
        if (!resource) continue;
        kinds[{group, version, resource->kind}] = {resource, resource->version(version)->schema};
        if (++count == kMaxKinds) return false;
      }
  return true;
}

CheckedKinds kindsOf(const Registry& registry, const json::value& spec) {
  CheckedKinds kinds;
  if (const auto* rules = arrayAt(memberOf(spec, "matchConstraints"), "resourceRules"))
    for (const json::value& rule : *rules)
      if (!addKinds(registry, rule, kinds)) break;
  return kinds;
}

CheckedKind paramsOf(const Registry& registry, const json::value& kind) {
  const auto [group, versionName] = api::splitApiVersion(textAt(kind, "apiVersion"));
  const auto resource = registry.findByKind(group, textAt(kind, "kind"));
  const auto* version = resource ? resource->version(versionName) : nullptr;
  return {resource, version ? version->schema : nullptr};
}

}  // namespace

void PolicyChecks::start(const std::string& name) {
  if (running_.insert(name).second) tasks_.spawn(run(name));
}

Task<json::value> PolicyChecks::check(const json::value& policy, std::int64_t generation) {
  const json::value& spec = memberOf(policy, "spec");
  const Registry& registry = server_.registry();
  const CheckedKind params = paramsOf(registry, memberOf(spec, "paramKind"));
  PolicyTypeCheck types(spec, params.schema, *registry.builtinSchemas()->find("ObjectMeta"));
  for (const auto& [name, kind] : kindsOf(registry, spec)) {
    if (!kind.schema) continue;
    const auto& [group, version, kindName] = name;
    types.check(fmt::format("{}/{}, Kind={}", group, version, kindName), *kind.schema);
    auto yield = sleepFor(server_.executor(), Duration::zero());
    co_await yield;
  }
  auto warnings = types.warnings();
  json::value list = warnings.empty() ? json::value() : json::value(std::move(warnings));
  co_return json::value{{"observedGeneration", generation},
                        {"typeChecking", {{"expressionWarnings", std::move(list)}}}};
}

Task<void> PolicyChecks::run(std::string name) {
  for (;;) {
    // Never runs on the stack of the call that writes the policy.
    auto waiting = sleepFor(server_.executor(), Duration::zero());
    co_await waiting;
    const auto entry = server_.store().table(kPolicyTable).find(name);
    const auto policy = entry ? parseJson(entry->text) : Result<json::value>(json::value());
    if (!policy || !policy->is_object()) break;
    const auto generation = integerAt(*policy, 0, "metadata", "generation");
    if (integerAt(*policy, 0, "status", "observedGeneration") >= generation) break;
    auto checking = check(*policy, generation);
    json::value status = co_await checking;
    Call call;
    call.user = {"system:apiserver", "", {"system:masters"}, {}};
    call.ofServer = true;
    call.request.verb = kube::Verb::Patch;
    call.request.patchType = kube::PatchType::Merge;
    call.request.group = "admissionregistration.k8s.io";
    call.request.version = "v1";
    call.request.resource = "validatingadmissionpolicies";
    call.request.subresource = "status";
    call.request.name = name;
    call.request.query["fieldManager"] = "validatingadmissionpolicy-status-controller";
    call.request.body =
        toJson(json::object{{"metadata", {{"resourceVersion", std::to_string(entry->version)}}},
                            {"status", std::move(status)}});
    auto patching = server_.serve(std::move(call));
    const auto reply = co_await patching;
    // After a conflict there is a newer version. Another error stays until the next write.
    if (!reply.error || reply.error->code == ErrorCode::Conflict) continue;
    log::v(2, "the types of the policy {} are not checked: {}", name, reply.error->message);
    break;
  }
  running_.erase(name);
}

}  // namespace koord::apiserver
