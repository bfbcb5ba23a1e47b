#pragma once

// The conventions of KWOK (Kubernetes WithOut Kubelet) that simulated nodes follow.

#include <optional>
#include <string_view>

#include "api/core.h"

namespace koord::cluster {

// As an annotation or a label of a node, with the value "fake".
inline constexpr std::string_view kKwokNode = "kwok.x-k8s.io/node";
// Annotations of a pod, or of a node for what is used on it outside of pods.
inline constexpr std::string_view kKwokUsageCpu = "kwok.x-k8s.io/usage-cpu";
inline constexpr std::string_view kKwokUsageMemory = "kwok.x-k8s.io/usage-memory";
// Annotation of a pod of a Job: it succeeds that long after its start ("30s"). Without it, it runs
// on.
inline constexpr std::string_view kKwokCompleteDelay = "pod-complete.stage.kwok.x-k8s.io/delay";

// Annotation of a pod: how long it takes to end after it was deleted. Without it, it ends at once.
inline constexpr std::string_view kKwokDeleteDelay = "pod-delete.stage.kwok.x-k8s.io/delay";

// Annotation of a simulated node for which koordlet itself runs (scenario/virtual/machines.h): it reports what is used.
inline constexpr std::string_view kMachine = "scenario.koordinator.sh/machine";

bool isSimulated(const api::Node& node);

struct Usage {
  std::int64_t cpuMilli = 0;
  std::int64_t memoryBytes = 0;
};
// By the annotations; a pod without them uses half of what it requests, in the resources of its
// priority class, and at least 1m and 1Mi.
Usage usageOf(const api::Pod& pod);
// By the annotations; 100m and 256Mi without them.
Usage systemUsageOf(const api::Node& node);
// What the pod requests, translated back from batch or mid resources.
Usage requestOf(const api::Pod& pod);

// When a pod that runs is over: nothing for a pod that is no Job's or has no delay.
std::optional<Duration> completionDelay(const api::Pod& pod);
Duration deletionDelay(const api::Pod& pod);

}  // namespace koord::cluster
