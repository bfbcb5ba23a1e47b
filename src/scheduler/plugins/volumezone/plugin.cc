#include "scheduler/plugins/volumezone/plugin.h"

#include <algorithm>
#include <array>

#include "scheduler/engine/pod_claims.h"
#include "scheduler/framework/storage.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kTopologies = "VolumeZone/topologies";
constexpr std::string_view kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr std::string_view kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr std::array kLabels{kBetaZone, kBetaRegion, kZone, kRegion};

// A volume may be in several zones: "a__b".
std::vector<std::string> splitValues(std::string_view text) {
  std::vector<std::string> values;
  for (std::size_t from = 0;;) {
    const std::size_t at = text.find("__", from);
    values.emplace_back(text.substr(from, at - from));
    if (at == std::string_view::npos) return values;
    from = at + 2;
  }
}

}  // namespace

PreFilterResult VolumeZone::preFilter(CycleState& state, const PodInfo& pod) {
  const std::string& namespace_ = pod.pod->metadata.namespace_;
  std::vector<Topology> topologies;
  for (const auto& volume : pod.pod->spec.volumes) {
    if (!volume.persistentVolumeClaim) continue;
    const std::string& name = volume.persistentVolumeClaim->claimName;
    if (name.empty()) return {Status::unresolvable("PersistentVolumeClaim had no name"), {}};
    const auto claim = claims_.get({namespace_, name});
    if (!claim)
      return {Status::unresolvable("persistentvolumeclaim \"" + name + "\" not found"), {}};
    if (claim->spec.volumeName.empty()) {
      const std::string className = classNameOf(*claim);
      if (className.empty()) {
        return {
            Status::unresolvable("PersistentVolumeClaim had no pv name and storageClassName name"),
            {}};
      }
      const auto class_ = classes_.get({"", className});
      if (!class_) {
        return {Status::unresolvable("storageclass.storage.k8s.io \"" + className + "\" not found"),
                {}};
      }
      if (class_->volumeBindingMode.empty()) {
        return {Status::unresolvable("VolumeBindingMode not set for StorageClass \"" + className +
                                     "\""),
                {}};
      }
      if (class_->volumeBindingMode == "WaitForFirstConsumer")
        continue;  // VolumeBinding handles it
      return {Status::unresolvable("PersistentVolume had no name"), {}};
    }
    const auto bound = volumes_.get({"", claim->spec.volumeName});
    if (!bound) {
      return {Status::unresolvable("persistentvolume \"" + claim->spec.volumeName + "\" not found"),
              {}};
    }
    for (const std::string_view label : kLabels)
      if (const auto* value = api::findIn(bound->metadata.labels, label))
        topologies.push_back({std::string(label), splitValues(*value)});
  }
  if (topologies.empty()) return {Status::skip(), {}};
  state.put(kTopologies, std::move(topologies));
  return {};
}

Status VolumeZone::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const auto& topologies = *state.get<std::vector<Topology>>(kTopologies);
  VerdictId elsewhere = kPasses;
  nodes.forEach([&](NodeId id) {
    const api::StringMap& labels = cluster_.node(id).object->metadata.labels;
    const bool constrained = std::ranges::any_of(
        kLabels, [&](std::string_view label) { return api::findIn(labels, label) != nullptr; });
    if (!constrained) return;
    for (const Topology& topology : topologies) {
      const auto* value = api::findIn(labels, topology.key);
      // An old label of the volume may match the new label of the node.
      if (!value && topology.key == kBetaZone) value = api::findIn(labels, kZone);
      if (!value && topology.key == kBetaRegion) value = api::findIn(labels, kRegion);
      if (value && std::ranges::find(topology.values, *value) != topology.values.end()) continue;
      if (elsewhere == kPasses) {
        elsewhere = nodes.rejection(Code::UnschedulableAndUnresolvable,
                                    {"node(s) had no available volume zone"});
      }
      return nodes.reject(id, elsewhere);
    }
  });
  return {};
}

std::vector<EventRegistration> VolumeZone::eventsToRegister() const {
  return {{EventResource::StorageClass, action::kAdd, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const auto class_ = event.after<api::StorageClass>();
             return class_ && class_->volumeBindingMode == "WaitForFirstConsumer" ? Hint::Queue
                                                                                  : Hint::Skip;
           }},
          {EventResource::Node,
           action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeTaint,
           "",
           {}},
          {EventResource::PersistentVolumeClaim, action::kAdd | action::kUpdate, "", hintOwnClaim},
          {EventResource::PersistentVolume, action::kAdd, "", {}},
          {EventResource::PersistentVolume, action::kUpdate, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const auto before = event.before<api::PersistentVolume>();
             const auto after = event.after<api::PersistentVolume>();
             const bool moved = std::ranges::any_of(kLabels, [&](std::string_view label) {
               const auto* was = api::findIn(before->metadata.labels, label);
               const auto* is = api::findIn(after->metadata.labels, label);
               return (was == nullptr) != (is == nullptr) || (was && *was != *is);
             });
             return moved ? Hint::Queue : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler
