#include "apiserver/server/policy_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/group_version.h"
#include "apiserver/objects/edit.h"
#include "apiserver/rules/policy_types.h"
#include "apiserver/server/server.h"
#include "base/log.h"

namespace koord::apiserver {
namespace {

constexpr const char* kPolicyTable = "validatingadmissionpolicies.admissionregistration.k8s.io";
constexpr std::size_t kMostKinds = 10;  // Kubernetes' limit, for each rule

// The texts of a list. nullopt if one is a wildcard.
std::optional<std::vector<std::string>> plainTexts(const json::value& rule, const char* name) {
  std::vector<std::string> texts;
  if (const auto* list = arrayAt(rule, name))
    for (const json::value& item : *list) {
      if (!item.is_string() || std::string_view(item.get_string()).contains('*'))
        return std::nullopt;
      texts.emplace_back(item.get_string());
    }
  std::ranges::sort(texts);
  return texts;
}

// The kinds that a rule names without wildcards and subresources, by group, version and kind.
void addKinds(const Registry& registry, const json::value& rule,
              std::map<std::string, const api::Schema*>& kinds) {
  const auto groups = plainTexts(rule, "apiGroups"), versions = plainTexts(rule, "apiVersions");
  const auto* resources = arrayAt(rule, "resources");
  if (!groups || !versions || !resources) return;
  std::size_t count = 0;
  for (const std::string& group : *groups)
    for (const std::string& version : *versions)
      for (const json::value& plural : *resources) {
        if (!plural.is_string()) continue;
        const auto resource = registry.find(group, version, plural.get_string());
        if (!resource) continue;
        kinds[fmt::format("{}/{}, Kind={}", group, version, resource->kind)] =
            resource->version(version)->schema;
        if (++count == kMostKinds) return;
      }
}

const api::Schema* paramSchema(const Registry& registry, const json::value& kind) {
  const auto [group, versionName] = api::splitApiVersion(textAt(kind, "apiVersion"));
  const auto resource = registry.findByKind(group, textAt(kind, "kind"));
  const auto* version = resource ? resource->version(versionName) : nullptr;
  return version ? version->schema : nullptr;
}

json::value statusOf(const Registry& registry, const json::value& policy, std::int64_t generation) {
  const json::value& spec = memberOf(policy, "spec");
  std::map<std::string, const api::Schema*> byName;
  if (const auto* rules = arrayAt(memberOf(spec, "matchConstraints"), "resourceRules"))
    for (const json::value& rule : *rules) addKinds(registry, rule, byName);
  std::vector<PolicyKind> kinds;
  for (const auto& [name, schema] : byName) kinds.push_back({name, schema});
  auto warnings =
      expressionWarnings(spec, kinds, paramSchema(registry, memberOf(spec, "paramKind")),
                         *registry.builtinSchemas()->find("ObjectMeta"));
  json::value list = warnings.empty() ? json::value() : json::value(std::move(warnings));
  return {{"observedGeneration", generation},
          {"typeChecking", {{"expressionWarnings", std::move(list)}}}};
}

}  // namespace

void PolicyChecks::start(const std::string& name) {
  if (running_.insert(name).second) tasks_.spawn(run(name));
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
                            {"status", statusOf(server_.registry(), *policy, generation)}});
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
