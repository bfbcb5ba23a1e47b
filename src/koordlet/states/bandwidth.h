#pragma once

// Network bandwidth of QoS classes and pods, all in bits per second. Writers of other units
// convert.

#include <cstdint>
#include <optional>

#include "api/slo_strategies.h"
#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

// Guaranteed and maximum bandwidth of a class; absent if NodeSLO does not set it.
struct Bandwidth {
  std::optional<std::int64_t> ingressMin, ingressMax, egressMin, egressMax;
};
struct NodeBandwidth {
  std::int64_t total = 0;
  Bandwidth ls;
  Bandwidth be;
};
// Reads NodeSLO: a number is a percentage of the node's total, a text a quantity. Ignores invalid
// values and disabled classes. Values are capped at the total.
NodeBandwidth nodeBandwidth(const EffectiveSlo& slo);

// From the annotation koordinator.sh/networkQOS: {"ingressLimit": "80M", "egressLimit": "80M"}.
struct PodBandwidth {
  std::int64_t ingress = 0;  // 0: no limit
  std::int64_t egress = 0;
};
std::optional<PodBandwidth> podBandwidth(const PodView& pod, std::int64_t total);

// The priority of a pod's traffic: 0 system, 1 LS, 2 BE.
int networkLevel(const PodView& pod);

// Returns true if NodeSLO has that network policy; the default is "tc".
bool usesNetPolicy(const EffectiveSlo& slo, std::string_view policy);

}  // namespace koord::koordlet
