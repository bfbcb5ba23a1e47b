#pragma once

// The next actions of a kubelet for a pod, and the status that it would report: pure functions of
// the pod, its containers in the runtime, and the time. Init containers run in order; sidecars
// (init containers with restartPolicy Always) keep running alongside the others. Ended containers
// are restarted by the pod's restartPolicy, with a back-off from 10 s doubling to 5 min, counted in
// restarts.

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
  // The health of a running container by id; null: all are healthy.
  std::function<ContainerHealth(const std::string& id)> health = {};
  std::set<std::string> settingUp = {};         // ids: the postStart hook has not ended
  std::set<std::string> unhealthy = {};         // ids: killed by a probe, so they count as failed
  std::string waitsFor = {};                    // why its containers cannot start now
  std::map<std::string, int> lastGoodRun = {};  // from the previous plan
};

struct ContainerStart {
  const api::Container* container = nullptr;  // in the plan's pod
  int attempt = 0;
};

struct PodPlan {
  HostPodPtr pod;                      // the plan has pointers into it
  std::vector<ContainerStart> starts;  // now
  std::vector<std::string> stops;      // ids; the pod is over while these still run
  std::vector<std::string> forget;     // ids of dead containers that are not referenced
  std::optional<WallTime> wakeAt;      // when to plan again
  // By container: the number of the last run that was long enough to reset the back-off. That run
  // is deleted in time, so the caller keeps this.
  std::map<std::string, int> lastGoodRun;
  api::PodStatus status;
  std::vector<api::ContainerStatus> ephemeralStatuses;
};

PodPlan planPod(const PodObservation& seen);

// After `restarts` restarts: 0, 10 s, 20 s, ... 5 min.
Duration crashBackoff(int restarts);

}  // namespace koord::cluster
