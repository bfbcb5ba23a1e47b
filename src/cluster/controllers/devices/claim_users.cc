#include "cluster/controllers/devices/claim_users.h"

namespace koord::cluster {

void ClaimUsers::put(Index& index, const std::string& value, const api::ObjectKey& key,
                     bool present) {
  if (present) {
    index[value].insert(key);
    return;
  }
  const auto it = index.find(value);
  if (it == index.end()) return;
  it->second.erase(key);
  if (it->second.empty()) index.erase(it);
}

std::vector<api::ObjectKey> ClaimUsers::of(const Index& index, const std::string& value) {
  const auto it = index.find(value);
  if (it == index.end()) return {};
  return {it->second.begin(), it->second.end()};
}

void ClaimUsers::file(const api::Pod& pod, bool present) {
  const auto key = api::keyOf(pod.metadata);
  const auto& namespace_ = pod.metadata.namespace_;
  const api::PodClaimNames names(pod);
  for (const auto& entry : pod.spec.resourceClaims) {
    if (const auto* name = names.of(entry))
      put(byClaim_, api::ObjectKey{namespace_, *name}.toString(), key, present);
    if (entry.resourceClaimTemplateName)
      put(byTemplate_, api::ObjectKey{namespace_, *entry.resourceClaimTemplateName}.toString(), key,
          present);
  }
}

void ClaimUsers::add(const api::ResourceClaim& claim) {
  if (const auto* owner = api::controllerOf(claim.metadata))
    put(byOwner_, owner->uid, api::keyOf(claim.metadata), true);
}

void ClaimUsers::remove(const api::ResourceClaim& claim) {
  if (const auto* owner = api::controllerOf(claim.metadata))
    put(byOwner_, owner->uid, api::keyOf(claim.metadata), false);
}

std::vector<api::ObjectKey> ClaimUsers::podsOfClaim(const api::ObjectKey& claim) const {
  return of(byClaim_, claim.toString());
}
std::vector<api::ObjectKey> ClaimUsers::podsOfTemplate(const api::ObjectKey& claimTemplate) const {
  return of(byTemplate_, claimTemplate.toString());
}
std::vector<api::ObjectKey> ClaimUsers::claimsOfPod(const std::string& uid) const {
  return of(byOwner_, uid);
}

}  // namespace koord::cluster
