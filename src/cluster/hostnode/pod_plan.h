#pragma once

// What a kubelet would do next for a pod, and what it would say about it: pure functions of the
// pod, of the containers the runtime has for it, and of the time. Init containers run in order,
// sidecars (init containers with restartPolicy Always) keep running beside the rest, containers
// that ended come back by the pod's restartPolicy with a back-off of 10 s doubling to 5 min,
// counted in restarts.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/hostnode/podspec/host_pod.h"
#include "cluster/hostnode/probes/probes.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct PodObservation {
  HostPodPtr pod;
  const std::vector<RuntimeContainer>& containers;  // of this pod, in any order
  // Containers whose last start failed before anything ran, with the reason as a waiting state.
  const std::map<std::string, api::ContainerStateWaiting>& startFailures;
  WallTime now{};
  std::string hostIp;
  // How a running container is, by id; without: well.
  std::function<ContainerHealth(const std::string& id)> health = {};
  std::set<std::string> settingUp = {};  // ids: the postStart hook has not ended
  std::set<std::string> unhealthy =
      {};                     // ids: killed by a probe, so they have failed however they ended
  std::string waitsFor = {};  // why none of its containers can be started now
  std::map<std::string, int> lastGoodRun = {};  // what the plan before said of that
};

struct ContainerStart {
  const api::Container* container = nullptr;  // in the plan's pod
  int attempt = 0;
};

struct PodPlan {
  HostPodPtr pod;                      // what it was made from, and what it points into
  std::vector<ContainerStart> starts;  // now
  std::vector<std::string> stops;      // ids; the pod is over while these still run
  std::vector<std::string> forget;     // ids of dead containers that nothing refers to any more
  std::optional<WallTime> wakeAt;      // something becomes due then
  // By container: the number of the last run that was long enough to end a crash loop. That run is
  // forgotten by and by, so whoever asks for plans keeps this.
  std::map<std::string, int> lastGoodRun;
  api::PodStatus status;
};

PodPlan planPod(const PodObservation& seen);

// After `restarts` restarts: nothing, 10 s, 20 s, ... 5 min.
Duration crashBackoff(int restarts);

}  // namespace koord::cluster
