#pragma once

// Mutations of a new pod: profiles, resource translation, the extended resource annotation, device
// resources. Pure: the caller passes all inputs.

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

// Each step changes the pod or fails with the error and its field. After a failure the pod must not
// be used.
Result<> mutateByProfiles(const std::vector<ProfilePtr>& matching, const ProfileContext& context,
                          const PodMutationOptions& options, json::value& pod);
Result<> mutateExtendedResourceSpec(
    json::value& pod,
    model::ExtendedResources extent = model::ExtendedResources::BatchOfContainers);

}  // namespace koord::manager
