#pragma once

// What a kubelet would do next for a pod, and what it would say about it: pure functions of the
// pod, of the containers the runtime has for it, and of the time. Init containers run in order,
// sidecars (init containers with restartPolicy Always) keep running beside the rest, containers
// that ended come back by the pod's restartPolicy with a back-off of 10 s doubling to 5 min,
// counted in restarts.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/pod.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct PodObservation {
  const api::Pod& pod;
  const std::vector<RuntimeContainer>& containers;  // of this pod, in any order
  // Containers whose last start failed before anything ran, with the reason as a waiting state.
  const std::map<std::string, api::ContainerStateWaiting>& startFailures;
  WallTime now{};
  std::string hostIp;
};

struct ContainerStart {
  const api::Container* container = nullptr;  // in the pod
  int attempt = 0;
};

struct PodPlan {
  std::vector<ContainerStart> starts;  // now
  std::vector<std::string> stops;      // ids; the pod is over while these still run
  std::vector<std::string> forget;     // ids of dead containers that nothing refers to any more
  std::optional<WallTime> wakeAt;      // something becomes due then
  api::PodStatus status;
};

PodPlan planPod(const PodObservation& seen);

// After `restarts` restarts: nothing, 10 s, 20 s, ... 5 min.
Duration crashBackoff(int restarts);

// The variables of a container, "NAME=value": its env list with fieldRef and $(OTHER) expanded, on
// top of a plain PATH, HOME and HOSTNAME. Fails for a fieldRef that this node cannot give.
Result<std::vector<std::string>> environmentOf(const api::Pod& pod, const api::Container& container,
                                               const std::string& hostIp);
// $(NAME) in commands and arguments, from such an environment; unknown ones stay as written.
std::vector<std::string> expandVariables(const api::List<std::string>& texts,
                                         const std::vector<std::string>& environment);

}  // namespace koord::cluster
