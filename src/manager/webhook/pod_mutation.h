#pragma once

// What happens to a pod when it is created: profiles, resource translation, the extended resource
// annotation, device resources. Pure: the caller brings what it takes to decide.

#include "manager/webhook/colocation_profile.h"
#include "model/extended_resource_spec.h"

namespace koord::manager {

struct PodMutationOptions {
  bool skipMutatingResources = false;        // gate ColocationProfileSkipMutatingResources
  bool disableExtendedResourceSpec = false;  // gate DisableExtendedResourceSpec
  bool disableDeviceResourceSpec = false;    // gate DisableDeviceResourceSpec
  model::ExtendedResources extendedResources =
      model::ExtendedResources::BatchOfContainers;  // gate ExtendedResourceSpecInFull
};

// Each step changes the pod or fails with what and where; a pod that a step failed on must not be
// used.
Result<> mutateByProfiles(const std::vector<ProfilePtr>& matching, const ProfileContext& context,
                          const PodMutationOptions& options, json::value& pod);
Result<> mutateExtendedResourceSpec(
    json::value& pod,
    model::ExtendedResources extent = model::ExtendedResources::BatchOfContainers);

}  // namespace koord::manager
