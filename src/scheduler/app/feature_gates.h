#pragma once

// The gates of Kubernetes and koord-scheduler, so that existing command lines keep working. Plugins ask
// for theirs with Handle::enabled; which of them change anything is a list in the .cc file.

#include <vector>

#include "base/flags/feature_gates.h"
#include "net/metrics_page.h"

namespace koord::scheduler {

flags::FeatureGates featureGates();

// All of them as they are, for the metrics.
std::vector<net::Feature> featuresOf(const flags::FeatureGates& gates);

}  // namespace koord::scheduler
