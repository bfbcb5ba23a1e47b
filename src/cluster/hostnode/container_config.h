#pragma once

// What a runtime is told about a container: the part of a PodSpec that is its own, with variables
// filled in.

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct ContainerInputs {
  int attempt = 0;
  std::vector<std::string> environment;
  std::vector<MountSpec> mounts;
};
ContainerConfig configOf(const HostPod& pod, const PodRef& reference,
                         const api::Container& container, ContainerInputs inputs);

SandboxOptions sandboxOf(const HostPod& pod);

}  // namespace koord::cluster
