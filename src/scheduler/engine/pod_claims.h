#pragma once

// The PersistentVolumeClaims of a pod.

#include <string>
#include <vector>

#include "api/pod.h"

namespace koord::scheduler {

struct PodClaim {
  std::string name;        // "" for a volume that names none
  bool ephemeral = false;  // made for this pod and owned by it
};

inline std::vector<PodClaim> claimsOf(const api::Pod& pod) {
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

}  // namespace koord::scheduler
