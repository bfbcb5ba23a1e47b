#pragma once

// The cgroup of a pod, and the values that a kubelet with the cgroupfs driver writes to it. A
// kubelet ignores batch resources: a pod that has only those is BestEffort here, and koordlet sets
// the rest.

#include <string>

#include "api/pod.h"
#include "cluster/hostnode/cgroups.h"
#include "model/qos.h"

namespace koord::cluster {

inline constexpr const char* kPodsRoot = "kubepods";

// "kubepods", "kubepods/burstable", "kubepods/besteffort"
std::string qosCgroup(model::KubernetesQos qos);
// "kubepods/besteffort/pod<uid>"
std::string podCgroup(const api::Pod& pod);

CgroupValues podValues(const api::PodSpec& spec);
CgroupValues containerValues(const api::Container& container);

std::int64_t sharesOfMilliCpu(std::int64_t milli);
// Microseconds per 100 ms; at least 1 ms.
std::int64_t quotaOfMilliCpu(std::int64_t milli);

// The id of the empty cgroup that represents the pod's sandbox. It is derived from the uid, so it
// needs no record. koordlet takes the one folder that does not belong to a container for the
// sandbox.
std::string sandboxIdOf(const std::string& podUid);

}  // namespace koord::cluster
