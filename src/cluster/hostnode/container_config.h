#pragma once

// The configuration of a container for a runtime: its part of the PodSpec, with variables expanded.

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
