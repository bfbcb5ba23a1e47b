#include "scheduler/plugins/volumerestrictions/plugin.h"

#include <algorithm>

#include "scheduler/framework/storage.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kSoleClaims =
    "VolumeRestrictions/soleClaims";  // ReadWriteOncePod, by name
using SoleClaims = std::vector<std::string>;

bool isDisk(const api::Volume& volume) {
  return !volume.gcePersistentDisk.is_null() || !volume.awsElasticBlockStore.is_null() ||
         !volume.rbd.is_null() || !volume.iscsi.is_null();
}

bool readOnly(const json::value& source) {
  const json::value* flag = at(source, "readOnly");
  return flag && flag->is_bool() && flag->get_bool();
}

bool shareMonitor(const json::value& a, const json::value& b) {
  const json::value* ours = at(a, "monitors");
  const json::value* theirs = at(b, "monitors");
  if (!ours || !theirs || !ours->is_array() || !theirs->is_array()) return false;
  return std::ranges::any_of(ours->get_array(), [&](const json::value& monitor) {
    return std::ranges::find(theirs->get_array(), monitor) != theirs->get_array().end();
  });
}

// Returns true if both would be the same disk on one node, in a way that the disk does not support.
bool conflict(const api::Volume& a, const api::Volume& b) {
  const auto both = [&](json::value api::Volume::* source) {
    return !(a.*source).is_null() && !(b.*source).is_null();
  };
  const auto same = [](const json::value& x, const json::value& y, std::string_view field) {
    return textAt(x, field) == textAt(y, field);
  };
  const auto oneWrites = [](const json::value& x, const json::value& y) {
    return !readOnly(x) || !readOnly(y);
  };
  if (both(&api::Volume::gcePersistentDisk)) {
    const auto &x = a.gcePersistentDisk, &y = b.gcePersistentDisk;
    if (same(x, y, "pdName") && oneWrites(x, y)) return true;
  }
  if (both(&api::Volume::awsElasticBlockStore) &&
      same(a.awsElasticBlockStore, b.awsElasticBlockStore, "volumeID"))
    return true;
  if (both(&api::Volume::iscsi) && same(a.iscsi, b.iscsi, "iqn") && oneWrites(a.iscsi, b.iscsi))
    return true;
  if (!both(&api::Volume::rbd)) return false;
  const auto poolOf = [](const json::value& rbd) {
    const std::string_view pool = textAt(rbd, "pool");
    return pool.empty() ? std::string_view("rbd") : pool;
  };
  return shareMonitor(a.rbd, b.rbd) && poolOf(a.rbd) == poolOf(b.rbd) &&
         same(a.rbd, b.rbd, "image") && oneWrites(a.rbd, b.rbd);
}

bool anyConflict(const api::Pod& a, const api::Pod& b) {
  for (const auto& ours : a.spec.volumes)
    for (const auto& theirs : b.spec.volumes)
      if (conflict(ours, theirs)) return true;
  return false;
}

}  // namespace

PreFilterResult VolumeRestrictions::preFilter(CycleState& state, const PodInfo& pod) {
  const api::Pod& object = *pod.pod;
  if (object.spec.volumes.empty()) return {Status::skip(), {}};
  SoleClaims sole;
  bool inUse = false;
  for (const auto& volume : object.spec.volumes) {
    if (!volume.persistentVolumeClaim) continue;
    const std::string& name = volume.persistentVolumeClaim->claimName;
    const auto claim = claims_.get({object.metadata.namespace_, name});
    if (!claim)
      return {Status::unresolvable("persistentvolumeclaim \"" + name + "\" not found"), {}};
    if (std::ranges::find(claim->spec.accessModes, "ReadWriteOncePod") ==
        claim->spec.accessModes.end())
      continue;
    sole.push_back(name);
    inUse |= users_.inUse(object.metadata.namespace_, name);
  }
  if (!inUse && std::ranges::none_of(object.spec.volumes, isDisk)) return {Status::skip(), {}};
  state.put(kSoleClaims, std::move(sole));
  return {};
}

Status VolumeRestrictions::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  if (std::ranges::any_of(pod.pod->spec.volumes, isDisk)) {
    nodes.forEach([&](NodeId node) {
      const bool taken = std::ranges::any_of(cluster_.node(node).pods, [&](const PodPtr& other) {
        return anyConflict(*pod.pod, *other->pod);
      });
      if (taken) nodes.reject(node, Code::Unschedulable, "node(s) had no available disk");
    });
  }
  const bool inUse = std::ranges::any_of(
      *state.get<SoleClaims>(kSoleClaims),
      [&](const std::string& claim) { return users_.inUse(pod.pod->metadata.namespace_, claim); });
  if (inUse) {
    nodes.rejectAll(Code::Unschedulable,
                    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                    "mode already "
                    "in-use by another pod");
  }
  return {};
}

std::vector<EventRegistration> VolumeRestrictions::eventsToRegister() const {
  return {{EventResource::Pod, action::kDelete, "",
           [](const PodInfo& pod, const ClusterEvent& event) {
             if (!event.oldPod) return Hint::Skip;
             const api::Pod& gone = *event.oldPod->pod;
             // kube-scheduler does not wake pods of other namespaces here, even those that wait for
             // the disk itself.
             if (anyConflict(*pod.pod, gone)) return Hint::Queue;
             if (gone.metadata.namespace_ != pod.pod->metadata.namespace_) return Hint::Skip;
             const auto ours = claimsOf(*pod.pod);
             const bool shared = std::ranges::any_of(claimsOf(gone), [&](const PodClaim& claim) {
               return std::ranges::find(ours, claim.name, &PodClaim::name) != ours.end();
             });
             return shared ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::Node, action::kAdd | action::kUpdateNodeTaint, "", {}},
          {EventResource::PersistentVolumeClaim, action::kAdd | action::kUpdate, "", hintOwnClaim}};
}

}  // namespace koord::scheduler
