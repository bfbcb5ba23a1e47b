#include "scheduler/plugins/nodevolumelimits/plugin.h"

#include <algorithm>

#include "scheduler/framework/storage.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kWantedVolumes = "NodeVolumeLimits/wanted";

std::map<std::string, std::int64_t> limitsOf(const api::CSINode& node) {
  std::map<std::string, std::int64_t> limits;
  for (const auto& driver : node.spec.drivers)
    if (driver.allocatable && driver.allocatable->count)
      limits[driver.name] = *driver.allocatable->count;
  return limits;
}

}  // namespace

// A claim without a volume counts as the volume that it will get. Unknown volumes are not counted.
void NodeVolumeLimits::addVolume(const std::string& namespace_, const std::string& claimName,
                                 Volumes& out) const {
  const auto claim = claims_.get({namespace_, claimName});
  if (!claim) return;
  if (!claim->spec.volumeName.empty()) {
    if (const auto volume = volumes_.get({"", claim->spec.volumeName})) {
      if (volume->spec.csi) out.emplace(volume->spec.csi->driver, volume->spec.csi->volumeHandle);
      return;
    }
  }
  const auto class_ = classes_.get({"", classNameOf(*claim)});
  if (class_) out.emplace(class_->provisioner, "claim " + namespace_ + "/" + claimName);
}

PreFilterResult NodeVolumeLimits::preFilter(CycleState& state, const PodInfo& pod) {
  const auto claims = claimsOf(*pod.pod);
  if (claims.empty()) return {Status::skip(), {}};
  const std::string& namespace_ = pod.pod->metadata.namespace_;
  Wanted wanted;
  for (const PodClaim& claim : claims) {
    if (wanted.missing.empty() && !claims_.get({namespace_, claim.name})) {
      wanted.missing = "looking up PVC " + namespace_ + "/" + claim.name +
                       ": persistentvolumeclaim \"" + claim.name + "\" not found";
    }
    addVolume(namespace_, claim.name, wanted.volumes);
  }
  state.put(kWantedVolumes, std::move(wanted));
  return {};
}

bool NodeVolumeLimits::exceeds(NodeId id, const Volumes& wanted) const {
  const NodeRow& node = cluster_.node(id);
  const auto csiNode = csiNodes_.get({"", node.name});
  if (!csiNode) return false;
  auto limits = limitsOf(*csiNode);
  std::erase_if(limits, [&](const auto& limit) {
    return std::ranges::none_of(wanted,
                                [&](const auto& volume) { return volume.first == limit.first; });
  });
  if (limits.empty()) return false;
  // Far from the limit no look-up is needed.
  const auto& attached = attachments_.on(node.name);
  const std::int64_t most =
      users_.usesOn(id) + static_cast<std::int64_t>(attached.size() + wanted.size());
  if (std::ranges::all_of(limits, [&](const auto& limit) { return most <= limit.second; }))
    return false;

  Volumes there;
  for (const PodPtr& pod : node.pods)
    for (const PodClaim& claim : claimsOf(*pod->pod))
      addVolume(pod->pod->metadata.namespace_, claim.name, there);
  for (const auto& [name, attachment] : attached)
    if (const auto volume = volumes_.get({"", attachment->spec.source.persistentVolumeName}))
      if (volume->spec.csi) there.emplace(volume->spec.csi->driver, volume->spec.csi->volumeHandle);
  const auto count = [](const Volumes& volumes, const std::string& driver) {
    return std::ranges::count(volumes, driver, &Volumes::value_type::first);
  };
  Volumes fresh;
  std::ranges::set_difference(wanted, there, std::inserter(fresh, fresh.end()));
  return std::ranges::any_of(limits, [&](const auto& limit) {
    const auto added = count(fresh, limit.first);
    return added > 0 && count(there, limit.first) + added > limit.second;
  });
}

Status NodeVolumeLimits::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const auto& [wanted, missing] = *state.get<Wanted>(kWantedVolumes);
  // Reported last, because VolumeBinding's message about a waiting claim is more precise.
  if (!missing.empty()) nodes.rejectAll(Code::UnschedulableAndUnresolvable, missing);
  if (wanted.empty()) return {};
  VerdictId full = kPasses;
  nodes.forEach([&](NodeId node) {
    if (!exceeds(node, wanted)) return;
    if (full == kPasses)
      full = nodes.rejection(Code::Unschedulable, {"node(s) exceed max volume count"});
    nodes.reject(node, full);
  });
  return {};
}

std::vector<EventRegistration> NodeVolumeLimits::eventsToRegister() const {
  return {{EventResource::CSINode, action::kAdd, "", {}},
          {EventResource::CSINode, action::kUpdate, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const auto before = limitsOf(*event.before<api::CSINode>());
             const auto after = limitsOf(*event.after<api::CSINode>());
             const bool grew = std::ranges::any_of(before, [&](const auto& limit) {
               const auto now = after.find(limit.first);
               return now == after.end() || now->second > limit.second;
             });
             return grew ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Pod, action::kDelete, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const bool held = event.oldPod && !event.oldPod->pod->spec.nodeName.empty() &&
                               !claimsOf(*event.oldPod->pod).empty();
             return held ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::PersistentVolumeClaim, action::kAdd, "", hintOwnClaim},
          {EventResource::VolumeAttachment, action::kDelete, "",
           [](const PodInfo& pod, const ClusterEvent&) {
             return claimsOf(*pod.pod).empty() ? Hint::Skip : Hint::Queue;
           }}};
}

}  // namespace koord::scheduler
