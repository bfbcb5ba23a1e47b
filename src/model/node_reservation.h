#pragma once

// The node annotation node.koordinator.sh/reservation: what is kept for processes outside
// Kubernetes.

#include <optional>
#include <string>
#include <vector>

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

// What is wrong with the annotation, by field: it cannot be read, or says what cannot be.
std::vector<std::string> problemsOfReservation(const api::StringMap& annotations);

// The reserved amounts; nothing when the annotation is missing or cannot be read. Amounts below
// zero are none.
api::ResourceList reservedResources(const api::StringMap& annotations);

}  // namespace koord::model
