#include "manager/colocationprofile/missed_profiles.h"

#include <algorithm>

#include "model/well_known.h"

namespace koord::manager {

namespace {

// The shipped webhooks are not called for pods of such namespaces, and kubelets create mirror pods
// from files.
bool isSubject(const api::Pod& pod, const api::StringMap& namespaceLabels) {
  const std::string& ns = pod.metadata.namespace_;
  return ns != "kube-system" && ns != "koordinator-system" && pod.status.phase != "Succeeded" &&
         pod.status.phase != "Failed" && !pod.metadata.deletionTimestamp &&
         !pod.metadata.annotations.contains(model::kAnnotationMirrorPod) &&
         !namespaceLabels.contains(model::kLabelControlPlane);
}

bool anyIsIn(const api::StringMap& marks, const api::StringMap& has) {
  return std::ranges::any_of(marks, [&](const auto& mark) {
    const auto* value = api::findIn(has, mark.first);
    return value && *value == mark.second;
  });
}

// Times of objects are whole seconds: within one second the order is unknown.
bool isNewer(const api::Pod& pod, const api::ClusterColocationProfile& profile) {
  const auto& made = pod.metadata.creationTimestamp;
  return made && profile.metadata.creationTimestamp && *made > *profile.metadata.creationTimestamp;
}

Result<api::Selector> selectorOf(const std::optional<api::LabelSelector>& selector) {
  return selector ? api::Selector::compile(*selector) : api::Selector();
}

}  // namespace

MissedProfiles::MissedProfiles(const std::vector<ProfilePtr>& profiles, const Broken& broken) {
  for (const auto& profile : profiles) {
    const auto& spec = profile->spec;
    auto namespaces = selectorOf(spec.namespaceSelector);
    auto pods = selectorOf(spec.selector);
    if (!namespaces && broken)
      broken(*profile, Error(namespaces.error()).within("spec.namespaceSelector"));
    if (!pods && broken) broken(*profile, Error(pods.error()).within("spec.selector"));
    if (!namespaces || !pods) continue;
    Entry entry{profile, *std::move(namespaces), *std::move(pods), spec.labels,
                spec.probability.has_value()};
    if (!spec.qosClass.empty()) entry.labels[std::string(model::kLabelQos)] = spec.qosClass;
    if (spec.koordinatorPriority)
      entry.labels[std::string(model::kLabelSubPriority)] =
          std::to_string(*spec.koordinatorPriority);
    const bool leavesMarks =
        !entry.labels.empty() || !spec.annotations.empty() || !spec.priorityClassName.empty();
    if (leavesMarks) entries_.push_back(std::move(entry));
  }
  std::ranges::sort(entries_, {}, [](const Entry& entry) -> const std::string& {
    return entry.profile->metadata.name;
  });
}

bool MissedProfiles::hasMarksOf(const Entry& entry, const api::Pod& pod) {
  const auto& spec = entry.profile->spec;
  return (!spec.priorityClassName.empty() &&
          pod.spec.priorityClassName == spec.priorityClassName) ||
         anyIsIn(entry.labels, pod.metadata.labels) ||
         anyIsIn(spec.annotations, pod.metadata.annotations);
}

std::vector<std::string> MissedProfiles::of(const api::Pod& pod,
                                            const api::StringMap& namespaceLabels,
                                            Older older) const {
  std::vector<std::string> missed;
  if (!isSubject(pod, namespaceLabels)) return missed;
  for (const auto& entry : entries_) {
    if (!entry.pods.matches(pod.metadata.labels) || !entry.namespaces.matches(namespaceLabels))
      continue;
    if (hasMarksOf(entry, pod)) return {};
    if (!entry.hasProbability && (older == Older::Count || isNewer(pod, *entry.profile)))
      missed.push_back(entry.profile->metadata.name);
  }
  return missed;
}

}  // namespace koord::manager
