#pragma once

// metrics.k8s.io/v1beta1, as metrics-server would serve it through an APIService: what nodes and
// pods use, read from the NodeMetric objects that koordlets report. It is there as long as that
// kind is.

#include "apiserver/registry/registry.h"
#include "apiserver/server/call.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

inline constexpr std::string_view kMetricsGroup = "metrics.k8s.io";

// For discovery: nodes and pods of the group, or nothing without NodeMetrics.
std::vector<ResourcePtr> metricsResources(const Registry& registry);

// Answers a get or list of the group. A node or pod that nobody has reported yet is not found.
// Usage is known per pod: a pod of several containers has one entry that names them all
// ("main+sidecar").
Reply readMetrics(const Call& call, const Registry& registry, Store& store);

}  // namespace koord::apiserver
