#pragma once

// The scale subresource: the replicas of an object as a Scale of autoscaling/v1.

#include "apiserver/registry/resource.h"
#include "base/json.h"

namespace koord::apiserver {

json::value scaleOf(const json::value& object, const ScalePaths& paths);

}  // namespace koord::apiserver
