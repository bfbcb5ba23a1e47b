#pragma once

// metrics.k8s.io/v1beta1, as metrics-server serves it through an APIService: the usage of nodes and
// pods, from the NodeMetric objects that koordlets report. Served only while the kind NodeMetric
// is.

#include "apiserver/registry/registry.h"
#include "apiserver/server/call.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

inline constexpr std::string_view kMetricsGroup = "metrics.k8s.io";

// The resources nodes and pods of the group, for discovery; empty without NodeMetrics.
std::vector<ResourcePtr> metricsResources(const Registry& registry);

// Answers a get or list of the group. A node or pod without a report is not found. Usage is known
// per pod: a pod with several containers has one entry that names them all ("main+sidecar").
Reply readMetrics(const Call& call, const Registry& registry, Store& store);

}  // namespace koord::apiserver
