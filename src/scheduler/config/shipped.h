#pragma once

// The configurations that Koordinator ships: deploy/manifests/scheduler-config.yaml, which is upstream's, and
// deploy/recommended/scheduler-config.yaml. Upstream's leaves out no node for its load, lets no gang preempt and heeds
// no network topology; the recommended one does all three.

#include <string>
#include <vector>

namespace koord::scheduler {

enum class Shipped {
  Upstream,
  Recommended,
  RecommendedOnOneMachine,  // no load keeps pods off it, for there is nowhere else to go
};

// With a profile for each of these schedulers.
std::string shippedConfiguration(const std::vector<std::string>& schedulerNames, Shipped which);

}  // namespace koord::scheduler
