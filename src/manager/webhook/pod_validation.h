#pragma once

// Validates pods: reserved annotations, invalid combinations of QoS and priority class, changes of
// immutable fields.

#include <optional>
#include <string>

#include "api/pod.h"

namespace koord::manager {

struct PodValidationOptions {
  bool skipPriority = false;  // gate ColocationProfileSkipValidatingPriority
  bool checkDevices = false;  // gate ValidatePodDeviceResource
};

// Why the pod is refused; nullopt if it is admitted. `old` is nullptr for a create.
std::optional<std::string> checkReservedAnnotation(const api::Pod& pod);
std::optional<std::string> checkQosAndPriority(const api::Pod& pod, const api::Pod* old,
                                               const PodValidationOptions& options);

// Checks for requests of partial or shared GPUs that no device can satisfy.
std::optional<std::string> checkDeviceResources(const api::Pod& pod);

}  // namespace koord::manager
