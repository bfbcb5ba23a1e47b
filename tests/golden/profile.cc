#include "api/codec.h"
#include "api/schema/builtin.h"
#include "golden/checkers.h"
#include "manager/webhook/device_resources.h"
#include "manager/webhook/pod_mutation.h"

namespace koord::golden {
namespace {

// What the vectors' cluster holds.
struct Cluster {
  api::SchemaSet types = api::builtinTypes();
  api::Map<api::PriorityClass> priorityClasses;
  api::Map<api::StringMap> namespaces{{"default", {{"colocation", "true"}}}, {"other", {}}};

  Cluster() {
    const auto add = [&](std::string name, std::int32_t value,
                         std::optional<std::string> preemption) {
      api::PriorityClass priorityClass;
      priorityClass.metadata.name = name;
      priorityClass.value = value;
      priorityClass.preemptionPolicy = std::move(preemption);
      priorityClasses[name] = std::move(priorityClass);
    };
    add("koord-prod", 9000, std::nullopt);
    add("koord-mid", 7000, "PreemptLowerPriority");
    add("koord-batch", 5000, "Never");
    add("koord-free", 3000, std::nullopt);
  }
};

Result<json::object> mutate(const Cluster& cluster, const json::object& testCase) {
  std::vector<manager::ProfilePtr> profiles;
  for (const auto& document : testCase.at("profiles").as_array()) {
    auto profile = api::decode<api::ClusterColocationProfile>(document);
    if (!profile) return fail(profile.error());
    profiles.push_back(std::make_shared<const api::ClusterColocationProfile>(*std::move(profile)));
  }
  const json::value& before = testCase.at("pod");
  const auto decoded = api::decode<api::Pod>(before);
  if (!decoded) return fail(decoded.error());

  const auto matching = manager::matchProfiles(
      profiles, cluster.namespaces.at(decoded->metadata.namespace_), decoded->metadata.labels);
  Random random(1);  // the probabilities of the vectors leave nothing to chance
  const manager::ProfileContext context{[&](std::string_view name) -> const api::PriorityClass* {
                                          const auto it = cluster.priorityClasses.find(name);
                                          return it == cluster.priorityClasses.end() ? nullptr
                                                                                     : &it->second;
                                        },
                                        *cluster.types.find("Pod"), random};
  json::value pod = before;
  if (!manager::mutateByProfiles(matching, context, {}, pod)) return json::object{{"valid", false}};
  if (!manager::mutateExtendedResourceSpec(pod)) return json::object{{"valid", false}};
  manager::spellOutDeviceResources(pod);
  return json::object{{"valid", true}, {"mutated", pod != before}, {"result", pod}};
}

// A pod that reads the same before and after was not mutated.
std::optional<json::value> visiblyMutated(const json::object& testCase, std::string_view field) {
  const json::value* result = testCase.if_contains("result");
  if (field != "mutated" || !result || *result != testCase.at("pod")) return std::nullopt;
  return json::value(false);
}

}  // namespace

Checker profileChecker() {
  return {.file = "profile",
          .inputs = {"pod", "profiles"},
          .open = [](const json::array&) -> Result<Evaluate> {
            auto cluster = std::make_shared<const Cluster>();
            return [cluster](const json::object& testCase) { return mutate(*cluster, testCase); };
          },
          .oracles = {{"the pods differ as documents", visiblyMutated}}};
}

}  // namespace koord::golden
