#include "scheduler/framework/events.h"

#include <algorithm>
#include <array>
#include <utility>

namespace koord::scheduler {

namespace {

bool sameTolerations(const api::List<api::Toleration>& a, const api::List<api::Toleration>& b) {
  return std::ranges::equal(a, b, [](const api::Toleration& x, const api::Toleration& y) {
    return x.key == y.key && x.operator_ == y.operator_ && x.value == y.value &&
           x.effect == y.effect;
  });
}

bool sameTaints(const api::List<api::Taint>& a, const api::List<api::Taint>& b) {
  return std::ranges::equal(a, b, [](const api::Taint& x, const api::Taint& y) {
    return x.key == y.key && x.value == y.value && x.effect == y.effect;
  });
}

bool sameConditions(const api::Node& a, const api::Node& b) {
  api::StringMap before;
  api::StringMap after;
  for (const auto& condition : a.status.conditions) before[condition.type] = condition.status;
  for (const auto& condition : b.status.conditions) after[condition.type] = condition.status;
  return before == after;
}

std::string_view nameOf(EventResource resource) {
  static constexpr std::array<std::string_view, 16> kNames{"Pod",
                                                           "AssignedPod",
                                                           "UnschedulablePod",
                                                           "Node",
                                                           "PersistentVolumeClaim",
                                                           "PersistentVolume",
                                                           "storage.k8s.io/StorageClass",
                                                           "storage.k8s.io/CSINode",
                                                           "storage.k8s.io/CSIDriver",
                                                           "storage.k8s.io/CSIStorageCapacity",
                                                           "storage.k8s.io/VolumeAttachment",
                                                           "resource.k8s.io/ResourceClaim",
                                                           "resource.k8s.io/ResourceSlice",
                                                           "resource.k8s.io/DeviceClass",
                                                           "",
                                                           "*"};
  return kNames[static_cast<std::size_t>(resource)];
}

std::string nameOf(Actions actions) {
  using namespace action;
  static constexpr std::pair<Actions, std::string_view> kNames[] = {
      {kAdd, "Add"},
      {kDelete, "Delete"},
      {kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
      {kUpdateNodeLabel, "UpdateNodeLabel"},
      {kUpdateNodeTaint, "UpdateNodeTaint"},
      {kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
      {kUpdateNodeCondition, "UpdateNodeCondition"},
      {kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
      {kUpdatePodLabel, "UpdatePodLabel"},
      {kUpdatePodScaleDown, "UpdatePodScaleDown"},
      {kUpdatePodToleration, "UpdatePodToleration"},
      {kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
      {kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"},
      {kUpdate, "Update"}};
  for (const auto& [bits, name] : kNames)
    if (actions == bits) return std::string(name);
  return "Update";
}

}  // namespace

std::string labelOf(const ClusterEvent& event) {
  if (event.resource == EventResource::Wildcard) return event.name;
  const std::string_view resource =
      event.resource == EventResource::Custom ? event.customResource : nameOf(event.resource);
  return std::string(resource) + nameOf(event.actions);
}

bool matches(const EventRegistration& registration, const ClusterEvent& event) {
  if (registration.resource == EventResource::Wildcard) return !event.statusOnly;
  const bool pod = registration.resource == EventResource::Pod &&
                   (event.resource == EventResource::AssignedPod ||
                    event.resource == EventResource::UnscheduledPod);
  if (!pod && registration.resource != event.resource) return false;
  if (event.resource == EventResource::Custom &&
      registration.customResource != event.customResource)
    return false;
  return event.actions != 0 && (event.actions & ~registration.actions) == 0;
}

std::vector<Actions> nodeActions(const api::Node& before, const api::Node& after) {
  std::vector<Actions> actions;
  if ((before.spec.unschedulable && !after.spec.unschedulable) ||
      !sameTaints(before.spec.taints, after.spec.taints)) {
    actions.push_back(action::kUpdateNodeTaint);
  }
  if (before.status.allocatable != after.status.allocatable)
    actions.push_back(action::kUpdateNodeAllocatable);
  if (before.metadata.labels != after.metadata.labels) actions.push_back(action::kUpdateNodeLabel);
  if (!sameConditions(before, after)) actions.push_back(action::kUpdateNodeCondition);
  if (before.metadata.annotations != after.metadata.annotations)
    actions.push_back(action::kUpdateNodeAnnotation);
  if (before.status.declaredFeatures != after.status.declaredFeatures)
    actions.push_back(action::kUpdateNodeDeclaredFeature);
  return actions;
}

std::vector<Actions> podActions(const PodInfo& before, const PodInfo& after) {
  std::vector<Actions> actions;
  const api::Pod& old = *before.pod;
  const api::Pod& now = *after.pod;
  if (old.metadata.labels != now.metadata.labels) actions.push_back(action::kUpdatePodLabel);
  bool smaller = false;
  before.request.forEach([&](ResourceId id, std::int64_t amount) {
    if (after.request.amount(id) < amount) smaller = true;
  });
  if (smaller) actions.push_back(action::kUpdatePodScaleDown);
  if (!old.spec.schedulingGates.empty() && now.spec.schedulingGates.empty())
    actions.push_back(action::kUpdatePodSchedulingGatesEliminated);
  // Compares contents. Upstream compares the number only and so misses a replaced toleration.
  if (!sameTolerations(old.spec.tolerations, now.spec.tolerations))
    actions.push_back(action::kUpdatePodToleration);
  if (old.status.resourceClaimStatuses != now.status.resourceClaimStatuses)
    actions.push_back(action::kUpdatePodGeneratedResourceClaim);
  if (actions.empty()) actions.push_back(action::kUpdate);
  return actions;
}

bool onlyStatusDiffers(const api::Pod& before, const api::Pod& after) {
  const api::ObjectMeta& old = before.metadata;
  const api::ObjectMeta& now = after.metadata;
  return old.generation > 0 && old.generation == now.generation && old.labels == now.labels &&
         old.annotations == now.annotations && old.finalizers == now.finalizers &&
         old.ownerReferences == now.ownerReferences &&
         old.deletionTimestamp == now.deletionTimestamp;
}

}  // namespace koord::scheduler
