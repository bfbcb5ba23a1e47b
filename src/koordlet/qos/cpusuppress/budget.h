#pragma once

// How much CPU BE pods may use: the node's ceiling minus what all other processes use now.
//
//   budget = capacity * threshold%  -  pods that are not BE  -  host applications that are not BE
//   -  system
//
// where the system is the use outside of pods, at least the reserved amount. The budget may be
// negative; the policies have their own minimum.

#include <cstdint>
#include <optional>
#include <vector>

#include "api/core.h"
#include "api/slo_strategies.h"
#include "model/qos.h"

namespace koord::koordlet::cpusuppress {

struct PodUsage {
  double cores = 0;
  bool bestEffort = false;  // by label or by Kubernetes QoS; one of an unknown pod is not
};
struct HostApplicationUsage {
  double cores = 0;
  bool bestEffort = false;  // QoS BE and below the besteffort cgroup
};

bool isBestEffort(model::Qos qos, model::KubernetesQos kubeQos);
bool isBestEffort(const api::HostApplicationSpec& application);

// CPU reserved from pods: the larger of capacity minus allocatable and the reservation annotation.
std::int64_t reservedMilli(const api::Node& node);

struct BudgetInput {
  std::int64_t capacityMilli = 0;
  std::int64_t reservedMilli = 0;
  double nodeCores = 0;  // in use
  std::vector<PodUsage> pods;
  std::vector<HostApplicationUsage> hostApplications;
  std::int64_t thresholdPercent = 0;
  std::optional<std::int64_t> minPercent;  // of capacity: the minimum for BE pods
};

struct Budget {               // all in milli-cores
  std::int64_t suppress = 0;  // what BE pods may use
  std::int64_t pods = 0;      // used by pods that are not BE
  std::int64_t hostApplications = 0;
  std::int64_t system = 0;
};
Budget computeBudget(const BudgetInput& input);

}  // namespace koord::koordlet::cpusuppress
