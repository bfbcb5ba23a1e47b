#pragma once

// LimitRange objects at work: defaults for the resources of containers, and bounds on what
// containers, pods and volume claims ask for. Rules and messages are those of upstream's
// LimitRanger.

#include "apiserver/objects/failure.h"
#include "apiserver/registry/resource.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

// Gives the containers of a new pod the requests and limits that they lack. Idempotent.
void applyLimitDefaults(json::value& pod, std::string_view namespace_, Store& store);

// Refuses a new pod, or a new or changed claim, that is outside of any bound; other kinds pass.
Outcome<> checkLimits(const json::value& object, const json::value* old, const Resource& resource,
                      Store& store);

}  // namespace koord::apiserver
