#pragma once

// The conventions of KWOK (Kubernetes WithOut Kubelet) that simulated nodes follow.

#include <optional>
#include <string_view>

#include "api/core.h"

namespace koord::cluster {

// As an annotation or a label of a node, with the value "fake".
inline constexpr std::string_view kKwokNode = "kwok.x-k8s.io/node";
// Annotations of a pod, or of a node for the usage outside of pods.
inline constexpr std::string_view kKwokUsageCpu = "kwok.x-k8s.io/usage-cpu";
inline constexpr std::string_view kKwokUsageMemory = "kwok.x-k8s.io/usage-memory";
// Annotation of a pod of a Job: it succeeds that long after its start ("30s"). Without it, it runs
// without limit.
inline constexpr std::string_view kKwokCompleteDelay = "pod-complete.stage.kwok.x-k8s.io/delay";

// Annotation of a pod: how long it takes to end after its deletion. Without it, it ends at once.
inline constexpr std::string_view kKwokDeleteDelay = "pod-delete.stage.kwok.x-k8s.io/delay";

// Annotation of a simulated node with a real koordlet (scenario/virtual/machines.h), which reports
// the usage.
inline constexpr std::string_view kMachine = "scenario.koordinator.sh/machine";

bool isSimulated(const api::Node& node);

struct Usage {
  std::int64_t cpuMilli = 0;
  std::int64_t memoryBytes = 0;
};
// The usage by the annotations. A pod without them uses half of its requests, in the resources of
// its priority class, and at least 1m and 1Mi.
Usage usageOf(const api::Pod& pod);
// The system usage by the annotations; 100m and 256Mi without them.
Usage systemUsageOf(const api::Node& node);
// The pod's requests, converted back from batch or mid resources.
Usage requestOf(const api::Pod& pod);

// When a running pod succeeds; nullopt for a pod without a Job or delay.
std::optional<Duration> completionDelay(const api::Pod& pod);
Duration deletionDelay(const api::Pod& pod);

}  // namespace koord::cluster
