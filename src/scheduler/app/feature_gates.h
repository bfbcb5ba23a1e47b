#pragma once

// The feature gates of Kubernetes and koord-scheduler, so that existing command lines work. Plugins
// query theirs with Handle::enabled. The .cc file lists the gates that have an effect.

#include <vector>

#include "base/flags/feature_gates.h"
#include "net/metrics_page.h"

namespace koord::scheduler {

flags::FeatureGates featureGates();

// All gates with their states, for the metrics.
std::vector<net::Feature> featuresOf(const flags::FeatureGates& gates);

}  // namespace koord::scheduler
