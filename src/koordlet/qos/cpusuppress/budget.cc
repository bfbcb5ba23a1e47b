#include "koordlet/qos/cpusuppress/budget.h"

#include <algorithm>

#include "model/node_reservation.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::koordlet::cpusuppress {
namespace {

std::int64_t milli(double cores) {
  return static_cast<std::int64_t>(cores * 1000);
}

}  // namespace

bool isBestEffort(model::Qos qos, model::KubernetesQos kubeQos) {
  return qos == model::Qos::BE || kubeQos == model::KubernetesQos::BestEffort;
}

bool isBestEffort(const api::HostApplicationSpec& application) {
  return application.qos == "BE" && application.cgroupPath &&
         application.cgroupPath->base == "KubepodsBesteffort";
}

std::int64_t reservedMilli(const api::Node& node) {
  const std::int64_t capacity = model::amountOf(node.status.capacity, model::kCpu).milliValue();
  const std::int64_t allocatable =
      model::amountOf(node.status.allocatable, model::kCpu).milliValue();
  const auto annotated = model::reservedResources(node.metadata.annotations);
  return std::max(capacity - allocatable, model::amountOf(annotated, model::kCpu).milliValue());
}

Budget computeBudget(const BudgetInput& input) {
  double all = 0, pods = 0, applications = 0;
  for (const auto& pod : input.pods) {
    all += pod.cores;
    if (!pod.bestEffort) pods += pod.cores;
  }
  double allApplications = 0;
  for (const auto& application : input.hostApplications) {
    allApplications += application.cores;
    if (!application.bestEffort) applications += application.cores;
  }
  Budget budget;
  budget.pods = milli(pods);
  budget.hostApplications = milli(applications);
  budget.system =
      std::max(milli(std::max(input.nodeCores - all - allApplications, 0.0)), input.reservedMilli);
  budget.suppress = input.capacityMilli * input.thresholdPercent / 100 - budget.pods -
                    budget.hostApplications - budget.system;
  if (input.minPercent)
    budget.suppress = std::max(budget.suppress, input.capacityMilli * *input.minPercent / 100);
  return budget;
}

}  // namespace koord::koordlet::cpusuppress
