#pragma once

// The configurations that Koordinator ships: deploy/manifests/scheduler-config.yaml, which is
// upstream's, and deploy/recommended/scheduler-config.yaml. The recommended one also filters nodes
// by load, lets gangs preempt and uses the network topology.

#include <string>
#include <vector>

namespace koord::scheduler {

enum class Shipped {
  Upstream,
  Recommended,
  RecommendedOnOneMachine,  // no filter by load, because there is no other node
};

// The configuration with a profile for each of these schedulers.
std::string shippedConfiguration(const std::vector<std::string>& schedulerNames, Shipped which);

}  // namespace koord::scheduler
