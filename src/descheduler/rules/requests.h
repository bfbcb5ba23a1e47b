#pragma once

// Amounts by name of resource: cpu in milli-cores, all others in whole units; "pods" counts pods.

#include <string_view>

#include "descheduler/framework/nodes.h"

namespace koord::descheduler {

std::int64_t requestOf(const Pod& pod, std::string_view resource);
std::int64_t requestedOn(const NodePods& pods, std::string_view resource);
std::int64_t amountOf(const api::ResourceList& amounts, std::string_view resource);
inline std::int64_t allocatableOf(const api::Node& node, std::string_view resource) {
  return amountOf(node.status.allocatable, resource);
}

}  // namespace koord::descheduler
