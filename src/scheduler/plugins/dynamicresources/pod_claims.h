#pragma once

// The current resource claims of a pod.

#include <string>
#include <vector>

#include "scheduler/plugins/dynamicresources/claim_table.h"

namespace koord::scheduler {

struct ClaimsOfPod {
  std::vector<ResourceClaimPtr> claims;  // entries that need no claim have none
  std::string problem;                   // why the pod cannot have them now; "" if it can
};
ClaimsOfPod claimsOfPod(const api::Pod& pod, const ClaimTable& table);

// Returns true if the pod already uses the claim, or one more pod may use it.
bool mayUse(const api::ResourceClaim& claim, const api::Pod& pod);

// The state of devices that must be prepared before a pod may be bound (binding conditions).
struct BindingReadiness {
  bool ready = true;
  std::string failure;  // a failure condition that is true; "" if none is
};
BindingReadiness readinessOf(const api::ResourceClaim& claim);
// Returns true if the devices had `timeout` to become ready.
bool bindingTimedOut(const api::ResourceClaim& claim, Duration timeout, WallTime now);
bool hasBindingConditions(const api::ResourceClaim& claim);

}  // namespace koord::scheduler
