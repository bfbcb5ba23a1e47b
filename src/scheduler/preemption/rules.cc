#include "scheduler/preemption/rules.h"

#include <algorithm>

namespace koord::scheduler {

bool terminatesByPreemption(const api::Pod& pod) {
  return pod.metadata.deletionTimestamp &&
         std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
           return condition.type == "DisruptionTarget" && condition.status == "True" &&
                  condition.reason == "PreemptionByScheduler";
         });
}

bool PreemptionRules::neverPreempts(const PodInfo& preemptor) {
  return preemptor.pod->spec.preemptionPolicy == "Never";
}

std::string PreemptionRules::preemptionBlockedReason(const PodInfo& preemptor) const {
  if (neverPreempts(preemptor)) return kNever;
  return preemptor.kind ? preemptor.kind->preemptionBlockedReason(preemptor) : std::string();
}

}  // namespace koord::scheduler
