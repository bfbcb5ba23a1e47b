#pragma once

// The NodeMetric status that a koordlet would report for a simulated node, whose usage is constant
// over every window.

#include <memory>
#include <vector>

#include "api/slo.h"
#include "cluster/simnode/kwok.h"

namespace koord::cluster {

api::NodeMetricStatus nodeMetricStatus(const api::Node& node,
                                       const std::vector<std::shared_ptr<const api::Pod>>& pods,
                                       const api::NodeMetricSpec& spec, WallTime now);

// The interval of the spec: default 60 s, at least 30 s.
Duration reportInterval(const api::NodeMetricSpec& spec);

}  // namespace koord::cluster
