#pragma once

// How much CPU best effort may use: the node's ceiling minus what everybody else uses now.
//
//   budget = capacity * threshold%  -  pods that are not BE  -  host applications that are not BE
//   -  system
//
// where the system is what no pod accounts for, at least what is reserved for it. It may be
// negative; the policies have their own floors.

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

// What is kept from pods: the larger of capacity minus allocatable and the reservation annotation.
std::int64_t reservedMilli(const api::Node& node);

struct BudgetInput {
  std::int64_t capacityMilli = 0;
  std::int64_t reservedMilli = 0;
  double nodeCores = 0;  // in use
  std::vector<PodUsage> pods;
  std::vector<HostApplicationUsage> hostApplications;
  std::int64_t thresholdPercent = 0;
  std::optional<std::int64_t> minPercent;  // of capacity: the least best effort gets
};

struct Budget {               // all in milli-cores
  std::int64_t suppress = 0;  // what best effort may use
  std::int64_t pods = 0;      // used by pods that are not best effort
  std::int64_t hostApplications = 0;
  std::int64_t system = 0;
};
Budget computeBudget(const BudgetInput& input);

}  // namespace koord::koordlet::cpusuppress
