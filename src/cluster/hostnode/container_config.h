#pragma once

// The configuration of a container for a runtime: its part of the PodSpec, with variables expanded.

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct ContainerInputs {
  int attempt = 0;
  std::vector<std::string> environment;
  std::vector<MountSpec> mounts;
  std::string pidsOf;    // see ContainerConfig
  bool hasImage = true;  // false: the runtime does not know the image's command
};
// A container for a user at a terminal. If no command is known, it runs a shell of the host.
bool isShell(const spec::Container& container);
ContainerConfig configOf(const HostPod& pod, const PodRef& reference,
                         const api::Container& container, ContainerInputs inputs);

SandboxOptions sandboxOf(const HostPod& pod);

}  // namespace koord::cluster
