#pragma once

// Which pods are refused: reserved annotations, QoS and priority classes that do not go together,
// changes of what must not change.

#include <optional>
#include <string>

#include "api/pod.h"

namespace koord::manager {

struct PodValidationOptions {
  bool skipPriority = false;  // gate ColocationProfileSkipValidatingPriority
  bool checkDevices = false;  // gate ValidatePodDeviceResource
};

// Why the pod is refused; nothing when it is fine. `old` is null for a create.
std::optional<std::string> checkReservedAnnotation(const api::Pod& pod);
std::optional<std::string> checkQosAndPriority(const api::Pod& pod, const api::Pod* old,
                                               const PodValidationOptions& options);

// GPUs that are asked for in parts or shares which no device can give.
std::optional<std::string> checkDeviceResources(const api::Pod& pod);

}  // namespace koord::manager
