#pragma once

// What a PodSpec may ask for and this node cannot give. A pod that needs it does not run, and is
// told why; nothing of a spec that changes what a pod does is passed over in silence
// (docs/one-machine.md lists every field).

#include <optional>
#include <string>

#include "cluster/hostnode/podspec/host_pod.h"

namespace koord::cluster {

// What a runtime can do beyond the rest.
struct RuntimeAbilities {
  bool terminals = false;  // tty
};

// Of a whole pod: it fails at once, as a pod does that a kubelet does not admit.
struct PodRefusal {
  std::string reason;  // of the pod's status: PodOSNotSupported
  std::string message;
};
std::optional<PodRefusal> podRefusal(const HostPod& pod);

// Of a pod's surroundings, where a kubelet would fail to make the sandbox and try again.
std::optional<std::string> sandboxRefusal(const HostPod& pod);

// Of one container; it waits with CreateContainerConfigError.
std::optional<std::string> containerRefusal(const HostPod& pod, const std::string& container,
                                            const RuntimeAbilities& runtime);

}  // namespace koord::cluster
