#pragma once

// What a ResourceClaim uses under the quota names of extended resources that device classes back:
// "requests.deviceclass.resource.kubernetes.io/CLASS" and "requests.RESOURCE" of a class with
// spec.extendedResourceName. The claim of a pod for its extended resources is not charged for what
// the pod is charged for already.

#include <functional>

#include "api/meta.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"
#include "base/executor.h"

namespace koord::apiserver {

// `devices` is the claim's usage by class (usage.h). Reads classes, pods and other claims.
api::ResourceList extendedUsage(const json::value& claim, const api::ResourceList& devices,
                                Store& store, const Registry& registry, WallTime now);

// Calls fn(key, claim) for the claims of the namespace that are for extended resources of a pod of
// this name. O(claims of the namespace).
void forEachExtendedClaim(Store& store, std::string_view namespace_, std::string_view pod,
                          const std::function<void(const std::string&, const json::value&)>& fn);

}  // namespace koord::apiserver
