#pragma once

// Network bandwidth of QoS classes and pods, all in bits per second; who writes something else
// converts once.

#include <cstdint>
#include <optional>

#include "api/slo_strategies.h"
#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {

// What a class is promised and held to; absent: nothing said.
struct Bandwidth {
  std::optional<std::int64_t> ingressMin, ingressMax, egressMin, egressMax;
};
struct NodeBandwidth {
  std::int64_t total = 0;
  Bandwidth ls;
  Bandwidth be;
};
// A number is a percentage of the node's total, a text a quantity. Values that make no sense, and
// classes that are off, say nothing; nothing is more than the total.
NodeBandwidth nodeBandwidth(const EffectiveSlo& slo);

// Of the annotation koordinator.sh/networkQOS: {"ingressLimit": "80M", "egressLimit": "80M"}.
struct PodBandwidth {
  std::int64_t ingress = 0;  // 0: no limit
  std::int64_t egress = 0;
};
std::optional<PodBandwidth> podBandwidth(const PodView& pod, std::int64_t total);

// How much a pod's traffic matters: 0 the system's, 1 latency-sensitive, 2 best effort.
int networkLevel(const PodView& pod);

// The policy of NodeSLO: "tc" unless it says otherwise.
bool usesNetPolicy(const EffectiveSlo& slo, std::string_view policy);

}  // namespace koord::koordlet
