#pragma once

// Splits a pod's measured usage among its containers, in proportion to their requests. Without
// requests, evenly.

#include <vector>

#include "api/pod.h"

namespace koord::manager {

struct ContainerUsage {
  std::string name;
  double cores = 0;
  double bytes = 0;
};

// usage has cpu and memory; a missing one counts as 0.
std::vector<ContainerUsage> shareUsage(const api::Pod& pod, const api::ResourceList& usage);

// A container's request in cores or bytes of the native resource; includes batch and mid resources.
double requestedAmount(const api::Container& container, std::string_view native);

}  // namespace koord::manager
