#pragma once

// The fields that the API server fills in if a client leaves them out.

#include "apiserver/registry/resource.h"
#include "base/json.h"

namespace koord::apiserver {

// Sets the defaults of an object of a built-in kind; does nothing for others. Idempotent.
void setDefaults(json::value& object, const Resource& resource);

// Guaranteed, Burstable or BestEffort, from cpu and memory of all containers.
std::string_view qosClassOf(const json::value& podSpec);

}  // namespace koord::apiserver
