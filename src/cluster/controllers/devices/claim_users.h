#pragma once

// Which pods use a ResourceClaim or a ResourceClaimTemplate, and which claims belong to a pod. Kept
// up to date by the caller, from the events of informers; O(log n) per event and entry.

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/resource_claims.h"

namespace koord::cluster {

class ClaimUsers {
 public:
  void add(const api::Pod& pod) { file(pod, true); }
  void remove(const api::Pod& pod) { file(pod, false); }
  void add(const api::ResourceClaim& claim);
  void remove(const api::ResourceClaim& claim);

  // The keys of pods that use the claim, by name or generated from a template.
  std::vector<api::ObjectKey> podsOfClaim(const api::ObjectKey& claim) const;
  std::vector<api::ObjectKey> podsOfTemplate(const api::ObjectKey& claimTemplate) const;
  // The keys of claims whose controller is the pod with this UID.
  std::vector<api::ObjectKey> claimsOfPod(const std::string& uid) const;

 private:
  using Index = std::unordered_map<std::string, std::set<api::ObjectKey>>;

  void file(const api::Pod& pod, bool present);
  static void put(Index& index, const std::string& value, const api::ObjectKey& key, bool present);
  static std::vector<api::ObjectKey> of(const Index& index, const std::string& value);

  Index byClaim_;
  Index byTemplate_;
  Index byOwner_;
};

}  // namespace koord::cluster
