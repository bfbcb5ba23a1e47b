#pragma once

// Defaults of the kinds of resource.k8s.io; used by defaults.cc.

#include "base/executor.h"
#include "base/json.h"

namespace koord::apiserver {

void setClaimDefaults(json::object& spec);          // of a ResourceClaim
void setClaimTemplateDefaults(json::object& spec);  // of a ResourceClaimTemplate
void setSliceDefaults(json::object& spec);

// Sets timeAdded of the taints that have none: in a ResourceSlice, and in a DeviceTaintRule, whose
// timeAdded also changes when its effect changes. `before` is null for a new object.
void setTaintTimes(json::value& object, const json::value* before, std::string_view plural,
                   WallTime now);

}  // namespace koord::apiserver
