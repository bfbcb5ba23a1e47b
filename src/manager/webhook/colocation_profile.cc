#include "manager/webhook/colocation_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/patch/strategic_patch.h"
#include "api/selector.h"
#include "manager/webhook/pod_edit.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

Result<bool> selects(const std::optional<api::LabelSelector>& selector,
                     const api::StringMap& labels) {
  if (!selector) return true;
  auto compiled = api::Selector::compile(*selector);
  if (!compiled) return fail(std::move(compiled.error()));
  return compiled->matches(labels);
}

Result<bool> matches(const api::ClusterColocationProfile& profile,
                     const api::StringMap& namespaceLabels, const api::StringMap& podLabels) {
  auto namespaceMatches = selects(profile.spec.namespaceSelector, namespaceLabels);
  if (!namespaceMatches)
    return fail(std::move(namespaceMatches.error()).within("spec.namespaceSelector"));
  auto podMatches = selects(profile.spec.selector, podLabels);
  if (!podMatches) return fail(std::move(podMatches.error()).within("spec.selector"));
  return *namespaceMatches && *podMatches;
}

// The percentage of pods to mutate.
Result<int> probabilityOf(const api::ClusterColocationProfile& profile) {
  const auto& probability = profile.spec.probability;
  if (!probability) return 100;
  if (!probability->isText) return probability->number;
  const std::string& text = probability->text;
  int percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error == std::errc{} && end + 1 == text.data() + text.size() && *end == '%') return percent;
  return fail(ErrorCode::Invalid,
              fmt::format("spec.probability: \"{}\" is neither an integer nor a percentage", text));
}

void setAll(json::object& target, const api::StringMap& values) {
  for (const auto& [key, value] : values) target[key] = textValue(value);
}

// Copies values to other keys of the object's labels or annotations, in the order of the keys that
// they come from.
void copyKeys(json::value& object, std::string_view labelsOrAnnotations,
              const api::StringMap& mapping) {
  json::value* metadata = find(object, "metadata");
  json::value* member = metadata ? find(*metadata, labelsOrAnnotations) : nullptr;
  if (!member || !member->is_object()) return;
  json::object& values = member->get_object();
  for (const auto& [from, to] : mapping) {
    const json::value* value = values.if_contains(from);
    if (!value) continue;
    const json::value copy = *value;
    values[to] = copy;
  }
}

// The pod spec in the object; nullptr if it has none.
json::object* podSpecIn(json::value& object, ProfileTarget target) {
  if (target != ProfileTarget::Reservation) return &specOf(object);
  json::value* podTemplate = specOf(object).if_contains("template");
  if (!podTemplate || !podTemplate->is_object()) return nullptr;
  return &objectIn(podTemplate->get_object(), "spec");
}

Result<> setPriorityClass(std::string_view name, const PriorityClassLookup& lookup,
                          json::object& spec) {
  const api::PriorityClass* priorityClass = lookup(name);
  if (!priorityClass)
    return fail(ErrorCode::NotFound,
                fmt::format("spec.priorityClassName: PriorityClass {} does not exist", name));
  spec["priorityClassName"] = textValue(name);
  spec["priority"] = priorityClass->value;
  if (priorityClass->preemptionPolicy) {
    spec["preemptionPolicy"] = textValue(*priorityClass->preemptionPolicy);
  } else {
    spec.erase("preemptionPolicy");
  }
  return {};
}

// Sets scheduler and priority of the pods.
Result<> setScheduling(const api::ClusterColocationProfileSpec& spec, const ProfileContext& context,
                       json::value& object) {
  if (spec.schedulerName.empty() && spec.priorityClassName.empty()) return {};
  json::object* podSpec = podSpecIn(object, context.target);
  if (!podSpec) return {};
  if (!spec.schedulerName.empty()) (*podSpec)["schedulerName"] = textValue(spec.schedulerName);
  if (spec.priorityClassName.empty()) return {};
  return setPriorityClass(spec.priorityClassName, context.priorityClass, *podSpec);
}

}  // namespace

Result<> applyProfile(const api::ClusterColocationProfileSpec& spec, const ProfileContext& context,
                      json::value& object) {
  if (!spec.labels.empty()) setAll(labelsOf(object), spec.labels);
  if (!spec.annotations.empty()) setAll(annotationsOf(object), spec.annotations);
  copyKeys(object, "labels", spec.labelKeysMapping);
  copyKeys(object, "annotations", spec.annotationKeysMapping);
  for (const auto& [key, suffix] : spec.labelSuffixes) {
    json::object& labels = labelsOf(object);
    json::value* label = labels.if_contains(key);
    if (label && label->is_string()) label->get_string().append(suffix);
  }
  if (!spec.qosClass.empty()) labelsOf(object)[model::kLabelQos] = textValue(spec.qosClass);
  if (context.target != ProfileTarget::ExistingPod)
    if (auto set = setScheduling(spec, context, object); !set) return set;
  if (spec.koordinatorPriority)
    labelsOf(object)[model::kLabelSubPriority] =
        textValue(std::to_string(*spec.koordinatorPriority));
  if (spec.patch.is_null()) return {};
  auto patched = api::applyStrategicPatch(object, spec.patch, context.schema);
  if (!patched) return fail(std::move(patched.error()).within("spec.patch"));
  object = *std::move(patched);
  return {};
}

Result<bool> passesProbability(const api::ClusterColocationProfile& profile, Random& random) {
  const auto percent = probabilityOf(profile);
  if (!percent) return fail(percent.error());
  return *percent >= 100 || static_cast<int>(random.below(100)) < *percent;
}

namespace {

template <class Matches>
std::vector<ProfilePtr> matching(const std::vector<ProfilePtr>& profiles, Matches matches,
                                 std::vector<std::string>* broken) {
  std::vector<ProfilePtr> found;
  for (const auto& profile : profiles) {
    const auto match = matches(*profile);
    if (match && *match) found.push_back(profile);
    if (!match && broken)
      broken->push_back(fmt::format("{}: {}", profile->metadata.name, match.error().message));
  }
  std::ranges::sort(found, {},
                    [](const ProfilePtr& p) -> const std::string& { return p->metadata.name; });
  return found;
}

}  // namespace

std::vector<ProfilePtr> matchProfiles(const std::vector<ProfilePtr>& profiles,
                                      const api::StringMap& namespaceLabels,
                                      const api::StringMap& podLabels,
                                      std::vector<std::string>* broken) {
  return matching(
      profiles, [&](const auto& profile) { return matches(profile, namespaceLabels, podLabels); },
      broken);
}

std::vector<ProfilePtr> matchProfilesByLabels(const std::vector<ProfilePtr>& profiles,
                                              const api::StringMap& labels,
                                              std::vector<std::string>* broken) {
  return matching(
      profiles,
      [&](const auto& profile) -> Result<bool> {
        auto selected = selects(profile.spec.selector, labels);
        if (!selected) return fail(std::move(selected.error()).within("spec.selector"));
        return *selected;
      },
      broken);
}

bool dependsOnNamespace(const std::vector<ProfilePtr>& profiles, const api::StringMap& podLabels) {
  return std::ranges::any_of(profiles, [&](const ProfilePtr& profile) {
    const auto& selector = profile->spec.namespaceSelector;
    if (!selector || (selector->matchLabels.empty() && selector->matchExpressions.empty()))
      return false;
    const auto podMatches = selects(profile->spec.selector, podLabels);
    return podMatches && *podMatches;
  });
}

Result<ProfileOutcome> applyProfiles(const std::vector<ProfilePtr>& matching,
                                     const ProfileContext& context, json::value& object) {
  ProfileOutcome outcome;
  for (const auto& profile : matching) {
    const std::string where = fmt::format("ClusterColocationProfile {}", profile->metadata.name);
    if (profile->metadata.annotations.contains(model::kAnnotationSkipUpdateResources))
      outcome.skipResources = true;
    const auto mine = passesProbability(*profile, context.random);
    if (!mine) return fail(Error(mine.error()).within(where));
    if (!*mine) continue;
    if (auto applied = applyProfile(profile->spec, context, object); !applied)
      return fail(std::move(applied.error()).within(where));
  }
  return outcome;
}

}  // namespace koord::manager
