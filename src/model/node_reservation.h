#pragma once

// The node annotation node.koordinator.sh/reservation: what is kept for processes outside
// Kubernetes.

#include <optional>
#include <string>

#include "api/core.h"
#include "base/result.h"

namespace koord::model {

struct NodeReservation {
  api::ResourceList resources;
  std::string reservedCPUs;  // a CPU list; replaces resources[cpu] by the number of CPUs
  std::string applyPolicy;   // Default, ReservedCPUsOnly
};

// Nothing when the node has no such annotation.
Result<std::optional<NodeReservation>> readNodeReservation(const api::StringMap& annotations);

// The reserved amounts; nothing when the annotation is missing or cannot be read.
api::ResourceList reservedResources(const api::StringMap& annotations);

}  // namespace koord::model
