#pragma once

// PersistentVolumes and claims: names, and which volumes match a claim. Shared by the scheduler and
// the volume controller, because both bind.

#include <string>
#include <string_view>
#include <vector>

#include "api/selector.h"
#include "api/storage.h"

namespace koord::model {

// Annotation of claims and volumes: the volume controller has chosen the other side.
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
// Annotation of a claim: claim and volume refer to each other.
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
// Annotation of a volume: the provisioner that created it.
inline constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";
// Annotation of a claim: the node where its first pod will run.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
// The provisioner of a class whose volumes users create.
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

// True if the volume controller has finished: claim and volume refer to each other.
inline bool isFullyBound(const api::PersistentVolumeClaim& claim) {
  return !claim.spec.volumeName.empty() && claim.metadata.annotations.contains(kBindCompleted);
}

Quantity requestedStorage(const api::PersistentVolumeClaim& claim);
Quantity storageOf(const api::PersistentVolume& volume);
// True if the volume's claimRef names the claim: by name, and by uid if the claimRef has a uid.
bool isReservedFor(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim);

// The claim's selector. nullopt if it has none; an invalid selector matches nothing.
std::optional<api::Selector> selectorOf(const api::PersistentVolumeClaim& claim);
// True if the claim can be bound to the volume, regardless of location. The volume must have the
// size and mode, and either be reserved for the claim by its claimRef, or be Available with the
// claim's class, access modes and labels.
bool suits(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
           const std::optional<api::Selector>& selector);
// Why a volume that the claim names cannot be bound to it; "" if it can. In the words of
// kube-controller-manager.
std::string whyUnsuitable(const api::PersistentVolume& volume,
                          const api::PersistentVolumeClaim& claim);

// The claims that a pod uses.
struct PodClaim {
  std::string name;        // "" if the volume does not name a claim
  bool ephemeral = false;  // created for this pod and owned by it
};
std::vector<PodClaim> claimsOf(const api::Pod& pod);

}  // namespace koord::model
