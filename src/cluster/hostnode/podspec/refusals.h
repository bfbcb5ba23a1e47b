#pragma once

// Fields of a PodSpec that this node does not support. A pod that needs one does not run, and its
// status says why: no field that affects a pod is ignored silently (docs/one-machine.md lists every
// field).

#include <optional>
#include <string>

#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

// Optional abilities of a runtime.
struct RuntimeAbilities {
  bool images = false;  // containers have the files, command, variables and user of their image
};

// For a whole pod: it fails at once, like a pod that a kubelet does not admit.
struct PodRefusal {
  std::string reason;  // of the pod's status: PodOSNotSupported
  std::string message;
};
std::optional<PodRefusal> podRefusal(const HostPod& pod);

// For a pod's sandbox, which a kubelet would fail to create and retry.
std::optional<std::string> sandboxRefusal(const HostPod& pod);

// For one container, which waits with CreateContainerConfigError. `imageRunsAsRoot`: what its image
// says of its user.
std::optional<std::string> containerRefusal(const HostPod& pod, const std::string& container,
                                            const RuntimeAbilities& runtime,
                                            bool imageRunsAsRoot = true);

}  // namespace koord::cluster
