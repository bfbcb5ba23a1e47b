#include "simulation/plain_volumes.h"

#include <algorithm>
#include <set>

#include "api/selector.h"

namespace koord::simulation {

using scheduler::testing::Model;

namespace {

constexpr const char* kUnusable = "claims cannot be used";
constexpr const char* kElsewhere = "node(s) didn't match PersistentVolume's node affinity";
constexpr const char* kNothingToBind = "node(s) didn't find available persistent volumes to bind";
constexpr const char* kOtherZone = "node(s) had no available volume zone";

std::vector<std::string> claimsOf(const api::Pod& pod) {
  std::vector<std::string> names;
  for (const auto& volume : pod.spec.volumes)
    if (volume.persistentVolumeClaim)
      names.push_back(pod.metadata.namespace_ + "/" + volume.persistentVolumeClaim->claimName);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

// Judges one pod's volumes on one node.
class Judge {
 public:
  Judge(const StorageModel& storage, const std::set<std::string>& used, const Model& model,
        const api::Pod& pod, const api::Node& node)
      : storage_(storage),
        used_(used),
        model_(model),
        pod_(pod),
        node_(node),
        claims_(claimsOf(pod)) {}

  std::vector<std::string> reasons() const {
    for (const auto& name : claims_)
      if (!usable(name)) return {kUnusable};
    if (sharesDisk()) return {"node(s) had no available disk"};
    if (sharesClaim()) return {"claim is another pod's alone"};
    if (tooMany()) return {"node(s) exceed max volume count"};
    if (auto found = unbindable(); !found.empty()) return found;
    if (otherZone()) return {kOtherZone};
    return {};
  }

 private:
  using Claim = api::PersistentVolumeClaim;
  using Volume = api::PersistentVolume;

  const Claim& claim(const std::string& name) const { return *storage_.claims.at(name); }
  const Volume* volumeOf(const Claim& claim) const {
    const auto it = storage_.volumes.find(claim.spec.volumeName);
    return it == storage_.volumes.end() ? nullptr : it->second.get();
  }
  const api::StorageClass* classOf(const Claim& claim) const {
    const auto it = storage_.classes.find(claim.spec.storageClassName.value_or(""));
    return it == storage_.classes.end() ? nullptr : it->second.get();
  }
  static bool bound(const Claim& claim) {
    return !claim.spec.volumeName.empty() &&
           claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed");
  }

  bool usable(const std::string& name) const {
    const auto it = storage_.claims.find(name);
    if (it == storage_.claims.end()) return false;
    const Claim& claim = *it->second;
    if (claim.metadata.deletionTimestamp || claim.status.phase == "Lost") return false;
    if (!claim.spec.volumeName.empty() && !volumeOf(claim)) return false;
    const auto* class_ = classOf(claim);
    return bound(claim) || (claim.spec.volumeName.empty() && class_ &&
                            class_->volumeBindingMode == "WaitForFirstConsumer");
  }

  bool sharesDisk() const {
    const auto disksOf = [](const api::Pod& pod) {
      std::vector<std::pair<std::string, bool>> disks;  // and whether it is read-only
      for (const auto& volume : pod.spec.volumes) {
        const json::value* flag = at(volume.gcePersistentDisk, "readOnly");
        if (!volume.gcePersistentDisk.is_null())
          disks.emplace_back(textAt(volume.gcePersistentDisk, "pdName"),
                             flag && flag->is_bool() && flag->get_bool());
      }
      return disks;
    };
    for (const auto& [uid, other] : model_.pods) {
      if (other->spec.nodeName != node_.metadata.name) continue;
      for (const auto& [theirs, theyRead] : disksOf(*other))
        for (const auto& [ours, weRead] : disksOf(pod_))
          if (ours == theirs && !(weRead && theyRead)) return true;
    }
    return false;
  }

  bool sharesClaim() const {
    const auto sole = [&](const std::string& name) {
      return contains(claim(name).spec.accessModes, "ReadWriteOncePod");
    };
    // Upstream skips claims without users, unless the pod has disks to check.
    const bool disks = std::ranges::any_of(
        pod_.spec.volumes, [](const auto& volume) { return !volume.gcePersistentDisk.is_null(); });
    if (!disks && std::ranges::none_of(claims_, [&](const auto& name) {
          return sole(name) && used_.contains(name);
        }))
      return false;
    for (const auto& [uid, other] : model_.pods)
      for (const auto& name : claimsOf(*other))
        if (contains(claims_, name) && sole(name)) return true;
    return false;
  }

  // A claim's volume, or its future volume, by driver.
  std::set<std::pair<std::string, std::string>> attachedFor(const api::Pod& pod) const {
    std::set<std::pair<std::string, std::string>> found;
    for (const auto& name : claimsOf(pod)) {
      const auto it = storage_.claims.find(name);
      if (it == storage_.claims.end()) continue;
      if (const Volume* volume = volumeOf(*it->second)) {
        if (volume->spec.csi)
          found.emplace(volume->spec.csi->driver, volume->spec.csi->volumeHandle);
      } else if (const auto* class_ = classOf(*it->second)) {
        found.emplace(class_->provisioner, name);
      }
    }
    return found;
  }
  bool tooMany() const {
    const auto limits = storage_.limits.find(node_.metadata.name);
    if (limits == storage_.limits.end()) return false;
    std::set<std::pair<std::string, std::string>> there;
    for (const auto& [uid, other] : model_.pods)
      if (other->spec.nodeName == node_.metadata.name) there.merge(attachedFor(*other));
    const auto wanted = attachedFor(pod_);
    for (const auto& [driver, limit] : limits->second) {
      std::int64_t before = 0, added = 0;
      for (const auto& volume : there) before += volume.first == driver;
      for (const auto& volume : wanted) added += volume.first == driver && !there.contains(volume);
      if (added > 0 && before + added > limit) return true;
    }
    return false;
  }

  bool reaches(const Volume& volume) const {
    if (!volume.spec.nodeAffinity || !volume.spec.nodeAffinity->required) return true;
    return api::NodeSelectorMatcher::compileLazily(*volume.spec.nodeAffinity->required)
        .matches(node_.metadata.labels, node_.metadata.name)
        .value_or(false);
  }

  static bool promised(const Volume& volume, const Claim& claim) {
    const auto& to = volume.spec.claimRef;
    return to && to->namespace_ == claim.metadata.namespace_ && to->name == claim.metadata.name &&
           (to->uid.empty() || to->uid == claim.metadata.uid);
  }
  static bool suits(const Volume& volume, const Claim& claim) {
    const auto sizeIn = [](const api::ResourceList& list) { return list.at("storage").value(); };
    if (volume.spec.storageClassName != claim.spec.storageClassName ||
        sizeIn(volume.spec.capacity) < sizeIn(claim.spec.resources.requests) ||
        volume.metadata.deletionTimestamp)
      return false;
    if (promised(volume, claim)) return true;
    return !volume.spec.claimRef && volume.status.phase == "Available" &&
           std::ranges::all_of(claim.spec.accessModes, [&](const auto& mode) {
             return contains(volume.spec.accessModes, mode);
           });
  }

  // Claims choose one after the other, the smallest volumes first, without backtracking.
  std::vector<std::string> unbindable() const {
    std::set<std::string> reasons;
    std::set<const Volume*> taken;
    for (const auto& name : claims_) {
      const Claim& wanting = claim(name);
      if (bound(wanting)) {
        if (!reaches(*volumeOf(wanting))) reasons.insert(kElsewhere);
        continue;
      }
      const std::string& provisioner = classOf(wanting)->provisioner;
      const bool provisions = provisioner != "kubernetes.io/no-provisioner";
      if (const auto* selected =
              api::findIn(wanting.metadata.annotations, "volume.kubernetes.io/selected-node")) {
        if (*selected != node_.metadata.name || !provisions) reasons.insert(kNothingToBind);
        continue;
      }
      const Volume* chosen = nullptr;
      const Volume* only = nullptr;
      for (const auto& [key, volume] : storage_.volumes) {
        if (!suits(*volume, wanting)) continue;
        if (promised(*volume, wanting)) only = volume.get();
        if (taken.contains(volume.get()) || !reaches(*volume)) continue;
        const auto size = [](const Volume& of) { return of.spec.capacity.at("storage").value(); };
        if (!chosen || size(*volume) < size(*chosen)) chosen = volume.get();
      }
      if (only) chosen = !taken.contains(only) && reaches(*only) ? only : nullptr;
      if (chosen) {
        taken.insert(chosen);
      } else if (!provisions) {
        reasons.insert(kNothingToBind);
      }
    }
    return {reasons.begin(), reasons.end()};
  }

  bool otherZone() const {
    constexpr const char* kZone = "topology.kubernetes.io/zone";
    const auto* here = api::findIn(node_.metadata.labels, kZone);
    if (!here) return false;  // without a zone: every node matches
    return std::ranges::any_of(claims_, [&](const auto& name) {
      const Volume* volume = volumeOf(claim(name));
      const auto* zone = volume ? api::findIn(volume->metadata.labels, kZone) : nullptr;
      return zone && ("__" + *zone + "__").find("__" + *here + "__") == std::string::npos;
    });
  }

  const StorageModel& storage_;
  const std::set<std::string>& used_;
  const Model& model_;
  const api::Pod& pod_;
  const api::Node& node_;
  const std::vector<std::string> claims_;
};

}  // namespace

StorageModel::StorageModel(scheduler::Stores& stores) {
  stores.assumed<api::PersistentVolumeClaim>().forEach(
      [&](const auto& claim) { claims[api::keyOf(claim->metadata).toString()] = claim; });
  stores.assumed<api::PersistentVolume>().forEach(
      [&](const auto& volume) { volumes[volume->metadata.name] = volume; });
  for (const auto& [key, object] : stores.of<api::StorageClass>().all()) classes[key.name] = object;
  for (const auto& [key, object] : stores.of<api::CSINode>().all())
    for (const auto& driver : object->spec.drivers)
      if (driver.allocatable && driver.allocatable->count)
        limits[key.name][driver.name] = *driver.allocatable->count;
}

void addStorage(Model& model, StorageModel storage) {
  std::set<std::string> used;
  for (const auto& [uid, pod] : model.pods)
    for (auto& name : claimsOf(*pod)) used.insert(std::move(name));
  model.volumes = [storage = std::make_shared<const StorageModel>(std::move(storage)),
                   used = std::move(used)](const Model& now, const api::Pod& pod,
                                           const api::Node& node) {
    return Judge(*storage, used, now, pod, node).reasons();
  };
}

bool isLasting(const std::string& reason) {
  return reason == kUnusable || reason == kElsewhere || reason == kNothingToBind ||
         reason == kOtherZone;
}

}  // namespace koord::simulation
