#pragma once

// The QoS class of a pod: what its label says, and what holds when the label says nothing.

#include <string_view>

#include "api/pod.h"

namespace koord::model {

enum class Qos { None, LSE, LSR, LS, BE, System };

std::string_view textOf(Qos qos);  // "LSE", ..., "SYSTEM"; "" for None
// None for any other text; case matters.
Qos parseQos(std::string_view text);

// By the label koordinator.sh/qosClass alone.
Qos rawQos(const api::StringMap& labels);
inline Qos rawQos(const api::Pod& pod) {
  return rawQos(pod.metadata.labels);
}

enum class KubernetesQos { Guaranteed, Burstable, BestEffort };

std::string_view textOf(KubernetesQos qos);
// By requests and limits of cpu and memory, as the API server computes it.
KubernetesQos computeKubernetesQos(const api::PodSpec& spec);
// status.qosClass, or the computed one while that is empty.
KubernetesQos kubernetesQos(const api::Pod& pod);

// The label; without one Guaranteed means LSR, Burstable LS and BestEffort BE.
Qos qosWithDefault(const api::Pod& pod);
// Whether that is BE, without adding anything up.
bool isBestEffortByDefault(const api::Pod& pod);

}  // namespace koord::model
