#pragma once

// The QoS class of a pod: from its label, or the default without a label.

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
// Computed from requests and limits of cpu and memory, as in the API server.
KubernetesQos computeKubernetesQos(const api::PodSpec& spec);
// status.qosClass; the computed class while it is empty.
KubernetesQos kubernetesQos(const api::Pod& pod);

// The class of the label; without a label Guaranteed means LSR, Burstable LS and BestEffort BE.
Qos qosWithDefault(const api::Pod& pod);
// Returns true if qosWithDefault() is BE, without summing up resources.
bool isBestEffortByDefault(const api::Pod& pod);

}  // namespace koord::model
