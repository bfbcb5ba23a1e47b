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

// Copies values to other keys; the value of a missing one is "".
void copyKeys(json::object& target, const api::StringMap& mapping) {
  for (const auto& [from, to] : mapping) {
    const json::value* value = target.if_contains(from);
    const json::value copy = value ? *value : json::value("");
    target[to] = copy;
  }
}

Result<> setPriorityClass(std::string_view name, const PriorityClassLookup& lookup,
                          json::value& pod) {
  const api::PriorityClass* priorityClass = lookup(name);
  if (!priorityClass)
    return fail(ErrorCode::NotFound,
                fmt::format("spec.priorityClassName: there is no PriorityClass {}", name));
  json::object& spec = specOf(pod);
  spec["priorityClassName"] = textValue(name);
  spec["priority"] = priorityClass->value;
  if (priorityClass->preemptionPolicy) {
    spec["preemptionPolicy"] = textValue(*priorityClass->preemptionPolicy);
  } else {
    spec.erase("preemptionPolicy");
  }
  return {};
}

Result<> applyProfile(const api::ClusterColocationProfileSpec& spec, const ProfileContext& context,
                      json::value& pod) {
  if (!spec.labels.empty()) setAll(labelsOf(pod), spec.labels);
  if (!spec.annotations.empty()) setAll(annotationsOf(pod), spec.annotations);
  if (!spec.labelKeysMapping.empty()) copyKeys(labelsOf(pod), spec.labelKeysMapping);
  if (!spec.annotationKeysMapping.empty()) copyKeys(annotationsOf(pod), spec.annotationKeysMapping);
  for (const auto& [key, suffix] : spec.labelSuffixes) {
    json::object& labels = labelsOf(pod);
    json::value* label = labels.if_contains(key);
    if (label && label->is_string()) label->get_string().append(suffix);
  }
  if (!spec.schedulerName.empty()) specOf(pod)["schedulerName"] = textValue(spec.schedulerName);
  if (!spec.qosClass.empty()) labelsOf(pod)[model::kLabelQos] = textValue(spec.qosClass);
  if (!spec.priorityClassName.empty())
    if (auto set = setPriorityClass(spec.priorityClassName, context.priorityClass, pod); !set)
      return set;
  if (spec.koordinatorPriority)
    labelsOf(pod)[model::kLabelSubPriority] = textValue(std::to_string(*spec.koordinatorPriority));
  if (spec.patch.is_null()) return {};
  auto patched = api::applyStrategicPatch(pod, spec.patch, context.podSchema);
  if (!patched) return fail(std::move(patched.error()).within("spec.patch"));
  pod = *std::move(patched);
  return {};
}

}  // namespace

std::vector<ProfilePtr> matchProfiles(const std::vector<ProfilePtr>& profiles,
                                      const api::StringMap& namespaceLabels,
                                      const api::StringMap& podLabels,
                                      std::vector<std::string>* broken) {
  std::vector<ProfilePtr> matching;
  for (const auto& profile : profiles) {
    const auto match = matches(*profile, namespaceLabels, podLabels);
    if (match && *match) matching.push_back(profile);
    if (!match && broken)
      broken->push_back(fmt::format("{}: {}", profile->metadata.name, match.error().message));
  }
  std::ranges::sort(matching, {},
                    [](const ProfilePtr& p) -> const std::string& { return p->metadata.name; });
  return matching;
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
                                     const ProfileContext& context, json::value& pod) {
  ProfileOutcome outcome;
  for (const auto& profile : matching) {
    const std::string where = fmt::format("ClusterColocationProfile {}", profile->metadata.name);
    if (profile->metadata.annotations.contains(model::kAnnotationSkipUpdateResources))
      outcome.skipResources = true;
    const auto percent = probabilityOf(*profile);
    if (!percent) return fail(Error(percent.error()).within(where));
    if (*percent < 100 && static_cast<int>(context.random.below(100)) >= *percent) continue;
    if (auto applied = applyProfile(profile->spec, context, pod); !applied)
      return fail(std::move(applied.error()).within(where));
  }
  return outcome;
}

}  // namespace koord::manager
