#pragma once

// The ResourceClaims of pods: spec.resourceClaims, their use by containers, and what controllers
// and the scheduler report in the status.

#include "apiserver/objects/failure.h"

namespace koord::apiserver {

// `path` is that of the pod's spec.
void validatePodResourceClaims(const json::value& spec, const std::string& path,
                               FieldErrors& errors);
// status.resourceClaimStatuses and status.extendedResourceClaimStatus.
void validatePodClaimStatuses(const json::value& pod, FieldErrors& errors);

}  // namespace koord::apiserver
