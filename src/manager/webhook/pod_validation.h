#pragma once

// Which pods are refused: reserved annotations, QoS and priority classes that do not go together,
// changes of what must not change.

#include <optional>
#include <string>

#include "api/pod.h"

namespace koord::manager {

struct PodValidationOptions {
  bool skipPriority = false;  // gate ColocationProfileSkipValidatingPriority
};

// Why the pod is refused; nothing when it is fine. `old` is null for a create.
std::optional<std::string> checkReservedAnnotation(const api::Pod& pod);
std::optional<std::string> checkQosAndPriority(const api::Pod& pod, const api::Pod* old,
                                               const PodValidationOptions& options);

}  // namespace koord::manager
