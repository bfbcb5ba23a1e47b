#pragma once

// What kubectl logs and kubectl exec answer for a container of a simulated node: that no process
// runs, the container's state, what the pod requests and uses, and the values that koordlet would
// set for it on a real node, computed by koordlet's own hooks.

#include <memory>
#include <string>

#include "api/core.h"
#include "api/slo.h"

namespace koord::cluster {

// The container must be one of the spec. `slo`: of the pod's node; nullptr if it has none. Several
// lines, each ends with a line break.
std::string describeSimulatedContainer(const std::shared_ptr<const api::Pod>& pod,
                                       const std::string& container, const api::NodeSLO* slo);

}  // namespace koord::cluster
