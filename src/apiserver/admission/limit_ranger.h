#pragma once

// Applies LimitRange objects: defaults for the resources of containers, and bounds on the requests
// of containers, pods and volume claims. Rules and messages are those of upstream's LimitRanger.

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// Adds the missing requests and limits to the containers of a new pod. Idempotent.
void applyLimitDefaults(json::value& pod, std::string_view namespace_, Store& store);

// Rejects a new pod, or a new or changed claim, that violates a bound; other kinds pass.
Outcome<> checkLimits(const json::value& object, const json::value* old, const Resource& resource,
                      Store& store);

}  // namespace koord::apiserver
