#pragma once

// What each container of a pod is taken to have used, of what was measured of the pod: in proportion to
// what they ask for. Where nobody asks for anything, and for a pod with one container, evenly.

#include <vector>

#include "api/pod.h"

namespace koord::manager {

struct ContainerUsage {
  std::string name;
  double cores = 0;
  double bytes = 0;
};

// usage has cpu and memory; what is missing counts as nothing used.
std::vector<ContainerUsage> shareUsage(const api::Pod& pod, const api::ResourceList& usage);

// The native amount that a container asks for, in cores or bytes: of batch and mid resources what they
// stand for.
double askedFor(const api::Container& container, std::string_view native);

}  // namespace koord::manager
