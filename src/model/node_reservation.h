#pragma once

// The node annotation node.koordinator.sh/reservation: resources reserved for processes outside
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

// nullopt if the node lacks the annotation.
Result<std::optional<NodeReservation>> readNodeReservation(const api::StringMap& annotations);

// The problems of the annotation, by field: unreadable text and invalid values.
std::vector<std::string> problemsOfReservation(const api::StringMap& annotations);

// The reserved amounts; empty if the annotation is missing or unreadable. Ignores negative amounts.
api::ResourceList reservedResources(const api::StringMap& annotations);

}  // namespace koord::model
