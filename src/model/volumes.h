#pragma once

// PersistentVolumes and claims: names, and which volume suits which claim. The scheduler and the
// volume controller answer this alike, since both bind.

#include <string>
#include <string_view>
#include <vector>

#include "api/selector.h"
#include "api/storage.h"

namespace koord::model {

// Annotations. On claims and volumes: the volume controller has chosen the other side.
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
// On a claim: both sides know each other.
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
// On a volume: who made it for its claim.
inline constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";
// On a claim: the node where its first pod is to run.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
// The provisioner of a class whose volumes are made by hand.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

inline std::string classNameOf(const api::PersistentVolumeClaim& claim) {
  if (const auto* old =
          api::findIn(claim.metadata.annotations, "volume.beta.kubernetes.io/storage-class"))
    return *old;
  return claim.spec.storageClassName.value_or("");
}
inline std::string classNameOf(const api::PersistentVolume& volume) {
  if (const auto* old =
          api::findIn(volume.metadata.annotations, "volume.beta.kubernetes.io/storage-class"))
    return *old;
  return volume.spec.storageClassName;
}

// The volume controller has finished: both sides know each other.
inline bool isFullyBound(const api::PersistentVolumeClaim& claim) {
  return !claim.spec.volumeName.empty() && claim.metadata.annotations.contains(kBindCompleted);
}

Quantity requestedStorage(const api::PersistentVolumeClaim& claim);
Quantity storageOf(const api::PersistentVolume& volume);
// By name, and by uid where the volume's claimRef has one.
bool isPromisedTo(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim);

// The claim's selector. nullopt if it has none; an invalid selector matches nothing.
std::optional<api::Selector> selectorOf(const api::PersistentVolumeClaim& claim);
// Whether the claim could be bound to the volume, apart from where it is: a volume of its size and
// mode that is promised to the claim, or is Available and of its class, access modes and labels.
bool suits(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
           const std::optional<api::Selector>& selector);
// Why a volume that the claim names cannot be its; "" when it can. Words of
// kube-controller-manager.
std::string whyUnsuitable(const api::PersistentVolume& volume,
                          const api::PersistentVolumeClaim& claim);

// The claims that a pod uses.
struct PodClaim {
  std::string name;        // "" for a volume that names none
  bool ephemeral = false;  // made for this pod and owned by it
};
std::vector<PodClaim> claimsOf(const api::Pod& pod);

}  // namespace koord::model
