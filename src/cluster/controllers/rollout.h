#pragma once

// The arithmetic of rollouts: how many replicas each ReplicaSet of a Deployment should have next.
// Pure functions.

#include <vector>

#include "api/workloads.h"

namespace koord::cluster {

// A percentage ("25%") or number of `total`.
int resolveIntOrPercent(const api::IntOrString& value, int total, bool roundUp);

struct RolloutSet {
  int replicas = 0;  // current spec.replicas
  int available = 0;
};
struct RolloutLimits {
  int desired = 0;
  int maxSurge = 0;
  int maxUnavailable = 0;

  int most() const { return desired > 0 ? desired + maxSurge : 0; }
};
// The percentages of the strategy resolved: surge is rounded up, unavailable down, never both 0.
RolloutLimits rolloutLimits(const api::DeploymentSpec& spec);
int rollForward(const RolloutLimits& limits, const RolloutSet& fresh,
                const std::vector<RolloutSet>& old);
std::vector<int> scaleDownOld(const RolloutLimits& limits, const RolloutSet& fresh,
                              const std::vector<RolloutSet>& old);

// If a Deployment is scaled during a rollout, its ReplicaSets share the change in proportion to
// their sizes.
struct SharedSet {
  int replicas = 0;
  int previousMax = 0;  // the Deployment's maximum when this set was last scaled
  WallTime created{};
};
std::vector<int> distributeReplicas(const RolloutLimits& limits,
                                    const std::vector<SharedSet>& sets);

}  // namespace koord::cluster
