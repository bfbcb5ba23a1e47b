#include "model/volumes.h"

#include <algorithm>

namespace koord::model {

namespace {

const std::string kFilesystem = "Filesystem";

const std::string& modeOf(const std::string& mode) {
  return mode.empty() ? kFilesystem : mode;
}

Quantity storageIn(const api::ResourceList& list) {
  const auto it = list.find("storage");
  return it == list.end() ? Quantity() : it->second;
}

bool offersModes(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  return std::ranges::all_of(claim.spec.accessModes, [&](const std::string& mode) {
    return std::ranges::find(volume.spec.accessModes, mode) != volume.spec.accessModes.end();
  });
}

}  // namespace

Quantity requestedStorage(const api::PersistentVolumeClaim& claim) {
  return storageIn(claim.spec.resources.requests);
}

Quantity storageOf(const api::PersistentVolume& volume) {
  return storageIn(volume.spec.capacity);
}

bool isReservedFor(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  const auto& promise = volume.spec.claimRef;
  return promise && promise->name == claim.metadata.name &&
         promise->namespace_ == claim.metadata.namespace_ &&
         (promise->uid.empty() || promise->uid == claim.metadata.uid);
}

std::optional<api::Selector> selectorOf(const api::PersistentVolumeClaim& claim) {
  if (!claim.spec.selector) return std::nullopt;
  return api::Selector::compile(*claim.spec.selector).value_or(api::Selector::nothing());
}

bool suits(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
           const std::optional<api::Selector>& selector) {
  const api::PersistentVolumeSpec& spec = volume.spec;
  const bool reserved = isReservedFor(volume, claim);
  if (spec.claimRef && !reserved) return false;
  if (storageOf(volume) < requestedStorage(claim) ||
      modeOf(spec.volumeMode) != modeOf(claim.spec.volumeMode) ||
      spec.volumeAttributesClassName != claim.spec.volumeAttributesClassName ||
      volume.metadata.deletionTimestamp)
    return false;
  if (reserved) return true;
  return volume.status.phase == "Available" && classNameOf(volume) == classNameOf(claim) &&
         (!selector || selector->matches(volume.metadata.labels)) && offersModes(volume, claim);
}

std::string whyUnsuitable(const api::PersistentVolume& volume,
                          const api::PersistentVolumeClaim& claim) {
  if (storageOf(volume) < requestedStorage(claim)) return "requested PV is too small";
  if (classNameOf(volume) != classNameOf(claim)) return "storageClassName does not match";
  if (volume.spec.volumeAttributesClassName != claim.spec.volumeAttributesClassName)
    return "volumeAttributesClassName does not match";
  if (modeOf(volume.spec.volumeMode) != modeOf(claim.spec.volumeMode))
    return "incompatible volumeMode";
  if (!offersModes(volume, claim)) return "incompatible accessMode";
  return "";
}

std::vector<PodClaim> claimsOf(const api::Pod& pod) {
  std::vector<PodClaim> claims;
  for (const auto& volume : pod.spec.volumes) {
    if (volume.persistentVolumeClaim) {
      claims.push_back({volume.persistentVolumeClaim->claimName, false});
    } else if (!volume.ephemeral.is_null()) {
      claims.push_back({pod.metadata.name + "-" + volume.name, true});
    }
  }
  return claims;
}

}  // namespace koord::model
