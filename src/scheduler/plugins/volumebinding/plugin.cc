#include "scheduler/plugins/volumebinding/plugin.h"

#include <algorithm>

#include "scheduler/framework/storage.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kClaims = "VolumeBinding/claims";

bool ownedBy(const api::ObjectMeta& claim, const api::Pod& pod) {
  const auto* owner = api::controllerOf(claim);
  return owner && owner->uid == pod.metadata.uid;
}

// Why the claim cannot be used at all; "" if it can.
std::string problemOf(const PodClaim& used, const api::PersistentVolumeClaim* claim,
                      const api::Pod& pod) {
  if (!claim) {
    return (used.ephemeral
                ? "waiting for ephemeral volume controller to create the persistentvolumeclaim \"" +
                      used.name + "\""
                : "persistentvolumeclaim \"" + used.name + "\" not found");
  }
  if (claim->status.phase == "Lost") {
    return "persistentvolumeclaim \"" + used.name + "\" bound to non-existent persistentvolume \"" +
           claim->spec.volumeName + "\"";
  }
  if (claim->metadata.deletionTimestamp)
    return "persistentvolumeclaim \"" + used.name + "\" is being deleted";
  if (used.ephemeral && !ownedBy(claim->metadata, pod)) {
    const std::string& here = pod.metadata.namespace_;
    return "PVC " + here + "/" + used.name + " was not created for pod " + here + "/" +
           pod.metadata.name + " (pod is not owner)";
  }
  return "";
}

}  // namespace

PreFilterResult VolumeBinding::preFilter(CycleState& state, const PodInfo& pod) {
  const auto used = claimsOf(*pod.pod);
  if (used.empty()) return {Status::skip(), {}};
  const std::string& namespace_ = pod.pod->metadata.namespace_;
  std::vector<ClaimPtr> objects;
  for (const PodClaim& claim : used) {
    objects.push_back(claims_.get({namespace_, claim.name}));
    std::string problem = problemOf(claim, objects.back().get(), *pod.pod);
    if (!problem.empty()) return {Status::unresolvable(std::move(problem)), {}};
  }
  Claims claims;
  for (const ClaimPtr& claim : objects) {
    if (isFullyBound(*claim)) {
      VolumePtr volume = volumes_.get({"", claim->spec.volumeName});
      auto where = volume ? whereUsable(*volume) : std::nullopt;
      claims.bound.push_back({std::move(volume), std::move(where)});
      continue;
    }
    const std::string className = classNameOf(*claim);
    auto class_ = className.empty() ? nullptr : classes_.get({"", className});
    if (class_ && class_->volumeBindingMode.empty()) {
      return {Status::error("VolumeBindingMode not set for StorageClass \"" + className + "\""),
              {}};
    }
    if (!class_ || class_->volumeBindingMode != "WaitForFirstConsumer" ||
        !claim->spec.volumeName.empty())
      return {Status::unresolvable("pod has unbound immediate PersistentVolumeClaims"), {}};
    const auto* selected = api::findIn(claim->metadata.annotations, kSelectedNode);
    claims.delayed.push_back({claim, selected ? *selected : "", class_, {}, {}});
  }
  for (Delayed& delayed : claims.delayed) {
    if (!api::findIn(delayed.claim->metadata.annotations, kSelectedNode)) {
      delayed.options =
          OptionsByNode(cluster_, optionsFor(*delayed.claim, volumes_), claims.delayed.size());
    }
    delayed.nodesWithCapacity =
        nodesBelowVolumeLimit(cluster_, drivers_, capacities_, *delayed.class_, *delayed.claim);
  }
  // Small claims choose first, so that they leave the large volumes to the large claims.
  std::ranges::stable_sort(claims.delayed, [](const Delayed& a, const Delayed& b) {
    return requestedStorage(*a.claim) < requestedStorage(*b.claim);
  });
  state.put(kClaims, std::move(claims));
  return {};
}

VolumeBinding::Plan VolumeBinding::planFor(const Claims& claims, NodeId id) const {
  const NodeRow& node = cluster_.node(id);
  const api::StringMap& labels = node.object->metadata.labels;
  Plan plan;
  bool present = true, reachable = true, bindable = true, roomy = true;
  for (const Bound& bound : claims.bound) {
    present &= bound.volume != nullptr;
    reachable &= !bound.where || bound.where->matches(labels, node.name).value_or(false);
  }
  std::vector<const Delayed*> toProvision;
  for (const Delayed& delayed : claims.delayed) {
    if (!delayed.selectedNode.empty()) {
      bindable &= delayed.selectedNode == node.name;
      toProvision.push_back(&delayed);
      continue;
    }
    VolumePtr volume = delayed.options.first(id, [&](const VolumePtr& option) {
      return std::ranges::find(plan.bindings, option, &std::pair<ClaimPtr, VolumePtr>::second) ==
             plan.bindings.end();
    });
    if (volume) {
      plan.bindings.emplace_back(delayed.claim, std::move(volume));
    } else {
      toProvision.push_back(&delayed);
    }
  }
  for (const Delayed* delayed : bindable ? toProvision : std::vector<const Delayed*>()) {
    const api::StorageClass& class_ = *delayed->class_;
    if (class_.provisioner.empty() || class_.provisioner == "kubernetes.io/no-provisioner" ||
        !allowsTopology(class_.allowedTopologies, labels)) {
      bindable = false;
      break;
    }
    if (delayed->nodesWithCapacity && !delayed->nodesWithCapacity->contains(id)) {
      roomy = false;
      break;
    }
    plan.provisioning.push_back(delayed->claim);
  }
  if (!reachable)
    plan.reasons.emplace_back("node(s) didn't match PersistentVolume's node affinity");
  if (!bindable)
    plan.reasons.emplace_back("node(s) didn't find available persistent volumes to bind");
  if (!roomy) plan.reasons.emplace_back("node(s) did not have enough free storage");
  if (!present)
    plan.reasons.emplace_back(
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  return plan;
}

Status VolumeBinding::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const Claims& claims = *state.get<Claims>(kClaims);
  std::vector<std::pair<std::vector<std::string>, VerdictId>> known;  // few distinct ones
  nodes.forEach([&](NodeId node) {
    Plan plan = planFor(claims, node);
    if (plan.reasons.empty()) return;
    auto it = std::ranges::find(known, plan.reasons,
                                &std::pair<std::vector<std::string>, VerdictId>::first);
    if (it == known.end()) {
      const VerdictId verdict = nodes.rejection(Code::UnschedulableAndUnresolvable, plan.reasons);
      it = known.insert(known.end(), {std::move(plan.reasons), verdict});
    }
    nodes.reject(node, it->second);
  });
  return {};
}

Status VolumeBinding::reserve(CycleState& state, const PodPtr& pod, NodeId node) {
  const Claims* claims = state.get<Claims>(kClaims);
  // A unit that is not a pod reserves a place for pods that will use these volumes.
  if (!claims || pod->kind) return {};
  const Plan plan = planFor(*claims, node);
  AssumedVolumes assumed;
  for (const auto& [claim, volume] : plan.bindings) {
    if (isReservedFor(*volume, *claim) && !volume->spec.claimRef->uid.empty()) {
      assumed.volumes.push_back(volume);
      continue;
    }
    auto reserved = std::make_shared<api::PersistentVolume>(*volume);
    if (!volume->spec.claimRef)
      reserved->metadata.annotations["pv.kubernetes.io/bound-by-controller"] = "yes";
    api::ObjectReference reference;
    reference.kind = "PersistentVolumeClaim";
    reference.apiVersion = "v1";
    reference.namespace_ = claim->metadata.namespace_;
    reference.name = claim->metadata.name;
    reference.uid = claim->metadata.uid;
    reference.resourceVersion = claim->metadata.resourceVersion;
    reserved->spec.claimRef = std::move(reference);
    assumed.volumes.push_back(std::move(reserved));
  }
  for (const ClaimPtr& claim : plan.provisioning) {
    auto waiting = std::make_shared<api::PersistentVolumeClaim>(*claim);
    waiting->metadata.annotations[std::string(kSelectedNode)] = cluster_.node(node).name;
    assumed.provisioning.push_back(std::move(waiting));
  }
  if (assumed.volumes.empty() && assumed.provisioning.empty()) return {};
  cluster_.regrant(pod->uid(), ledger_.id(), VolumeLedger::grantOf(std::move(assumed)));
  return {};
}

std::vector<EventRegistration> VolumeBinding::eventsToRegister() const {
  using namespace action;
  const auto limitOf = [](const api::CSIStorageCapacity& capacity) {
    return capacity.maximumVolumeSize ? capacity.maximumVolumeSize : capacity.capacity;
  };
  return {{EventResource::PersistentVolumeClaim, kAdd | kUpdate, "", hintOwnClaim},
          {EventResource::StorageClass, kAdd, "", {}},
          {EventResource::StorageClass, kUpdate, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const auto before = event.before<api::StorageClass>();
             const auto after = event.after<api::StorageClass>();
             return before->allowedTopologies != after->allowedTopologies ? Hint::Queue
                                                                          : Hint::Skip;
           }},
          {EventResource::PersistentVolume, kAdd | kUpdate, "", {}},
          {EventResource::Node, kAdd | kUpdateNodeLabel | kUpdateNodeTaint, "", {}},
          {EventResource::CSINode, kAdd, "", {}},
          {EventResource::CSINode, kUpdate, "",
           [](const PodInfo&, const ClusterEvent& event) {
             // The annotation that says which plugins' volumes the node handles through CSI.
             const auto migrated = [](const api::CSINode& node) {
               const auto* plugins = api::findIn(node.metadata.annotations,
                                                 "storage.alpha.kubernetes.io/migrated-plugins");
               return plugins ? *plugins : std::string();
             };
             const bool changed =
                 migrated(*event.before<api::CSINode>()) != migrated(*event.after<api::CSINode>());
             return changed ? Hint::Queue : Hint::Skip;
           }},
          {EventResource::CSIDriver, kUpdate, "",
           [](const PodInfo&, const ClusterEvent& event) {
             const auto before = event.before<api::CSIDriver>();
             const auto after = event.after<api::CSIDriver>();
             return before->spec.storageCapacity && !after->spec.storageCapacity ? Hint::Queue
                                                                                 : Hint::Skip;
           }},
          {EventResource::CSIStorageCapacity, kAdd, "", {}},
          {EventResource::CSIStorageCapacity, kUpdate, "",
           [limitOf](const PodInfo&, const ClusterEvent& event) {
             const auto before = limitOf(*event.before<api::CSIStorageCapacity>());
             const auto after = limitOf(*event.after<api::CSIStorageCapacity>());
             return after && (!before || *after > *before) ? Hint::Queue : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler
