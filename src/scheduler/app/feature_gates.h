#pragma once

// --feature-gates. Every gate of Kubernetes and Koordinator is known, so that existing command
// lines keep working; none of them changes what is built so far.

#include <string>
#include <vector>

#include "base/result.h"
#include "net/metrics_page.h"

namespace koord::scheduler {

// "A=true,kube:B=false" -> all gates, by name, as they are then.
Result<std::vector<net::Feature>> readFeatureGates(const std::string& text);

}  // namespace koord::scheduler
