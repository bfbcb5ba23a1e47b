#include "api/codec.h"
#include "api/schema/builtin.h"
#include "golden/checkers.h"
#include "manager/webhook/device_resources.h"
#include "manager/webhook/pod_mutation.h"

namespace koord::golden {
namespace {

// What the vectors' cluster holds.
struct ProfileCluster {
  api::SchemaSet types = api::builtinTypes();
  api::Map<api::PriorityClass> priorityClasses;
  api::Map<api::StringMap> namespaces{{"default", {{"colocation", "true"}}}, {"other", {}}};

  ProfileCluster() {
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

Result<std::vector<manager::ProfilePtr>> matchingProfiles(const ProfileCluster& cluster,
                                                          const json::object& testCase) {
  std::vector<manager::ProfilePtr> profiles;
  for (const auto& document : testCase.at("profiles").as_array()) {
    auto profile = api::decode<api::ClusterColocationProfile>(document);
    if (!profile) return fail(profile.error());
    profiles.push_back(std::make_shared<const api::ClusterColocationProfile>(*std::move(profile)));
  }
  const auto decoded = api::decode<api::Pod>(testCase.at("pod"));
  if (!decoded) return fail(decoded.error());
  return manager::matchProfiles(profiles, cluster.namespaces.at(decoded->metadata.namespace_),
                                decoded->metadata.labels);
}

Result<json::object> mutate(const ProfileCluster& cluster, const json::object& testCase) {
  const auto found = matchingProfiles(cluster, testCase);
  if (!found) return fail(found.error());
  const auto& matching = *found;
  const json::value& before = testCase.at("pod");
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
  manager::expandDeviceResources(pod);
  return json::object{{"valid", true}, {"mutated", pod != before}, {"result", pod}};
}

// A pod that reads the same before and after was not mutated.
std::optional<json::value> visiblyMutated(const json::object& testCase, std::string_view field) {
  const json::value* result = testCase.if_contains("result");
  if (field != "mutated" || !result || *result != testCase.at("pod")) return std::nullopt;
  return json::value(false);
}

// Labels and annotations as profiles make them when only keys that are there are copied, written
// down plainly.
class PlainMaps {
 public:
  explicit PlainMaps(const api::ObjectMeta& meta)
      : labels_(meta.labels), annotations_(meta.annotations) {}

  void apply(const api::ClusterColocationProfileSpec& spec) {
    for (const auto& [key, value] : spec.labels) labels_[key] = value;
    for (const auto& [key, value] : spec.annotations) annotations_[key] = value;
    copy(spec.labelKeysMapping, labels_);
    copy(spec.annotationKeysMapping, annotations_);
    for (const auto& [key, suffix] : spec.labelSuffixes)
      if (labels_.contains(key)) labels_[key] += suffix;
    if (!spec.qosClass.empty()) labels_["koordinator.sh/qosClass"] = spec.qosClass;
    if (spec.koordinatorPriority)
      labels_["koordinator.sh/priority"] = std::to_string(*spec.koordinatorPriority);
  }
  // Upstream's pod without the empty texts that it has for keys that were not there.
  json::value correct(json::value pod) const {
    correctOne(pod, "labels", labels_);
    correctOne(pod, "annotations", annotations_);
    return pod;
  }

 private:
  static void copy(const api::StringMap& mapping, api::StringMap& values) {
    for (const auto& [from, to] : mapping)
      if (values.contains(from)) {
        const std::string value = values[from];
        values[to] = value;
      }
  }
  static void correctOne(json::value& pod, std::string_view name, const api::StringMap& right) {
    json::value* metadata = find(pod, "metadata");
    json::value* member = metadata ? find(*metadata, name) : nullptr;
    if (!member || !member->is_object()) return;
    json::object kept;
    for (const auto& entry : member->get_object()) {
      const auto own = right.find(std::string(entry.key()));
      if (own != right.end()) kept[entry.key()] = own->second;
      if (own == right.end() && entry.value() != "") kept[entry.key()] = entry.value();
    }
    if (kept.empty()) {
      metadata->get_object().erase(name);
    } else {
      *member = std::move(kept);
    }
  }

  api::StringMap labels_;
  api::StringMap annotations_;
};

// Upstream copies keys that are not there as "".
std::optional<json::value> copiedWhatIsThere(const json::object& testCase, std::string_view field) {
  static const ProfileCluster cluster;
  const json::value* result = testCase.if_contains("result");
  const auto matching = matchingProfiles(cluster, testCase);
  const auto before = api::decode<api::Pod>(testCase.at("pod"));
  if (field != "result" || !result || !matching || !before) return std::nullopt;
  PlainMaps maps(before->metadata);
  for (const auto& profile : *matching) {
    const auto& chance = profile->spec.probability;
    const bool never = chance && (chance->isText ? chance->text == "0%" : chance->number == 0);
    if (!never) maps.apply(profile->spec);
  }
  json::value right = maps.correct(*result);
  if (right == *result) return std::nullopt;
  return right;
}

}  // namespace

Checker profileChecker() {
  return {.file = "profile",
          .inputs = {"pod", "profiles"},
          .open = [](const json::array&) -> Result<Evaluate> {
            auto cluster = std::make_shared<const ProfileCluster>();
            return [cluster](const json::object& testCase) { return mutate(*cluster, testCase); };
          },
          .oracles = {{"the pods differ as documents", visiblyMutated},
                      {"what is there is copied", copiedWhatIsThere}}};
}

}  // namespace koord::golden
