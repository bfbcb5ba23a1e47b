#include "scheduler/plugins/coscheduling/pod_group_status.h"

namespace koord::scheduler {

namespace {

constexpr Duration kForgotten = std::chrono::hours(48);

}  // namespace

bool isSettled(const api::PodGroup& group) {
  const api::PodGroupStatus& status = group.status;
  if (status.phase == "Finished" || status.phase == "Failed") return true;
  const auto created = group.metadata.creationTimestamp;
  return status.scheduled == group.spec.minMember && status.running == 0 &&
         status.scheduleStartTime && created && *status.scheduleStartTime - *created > kForgotten;
}

api::PodGroupStatus podGroupStatus(const api::PodGroup& group, const GangPods& pods, WallTime now) {
  api::PodGroupStatus status = group.status;
  const int minimum = group.spec.minMember;
  if (status.phase.empty()) {
    status.phase = "Pending";
    return status;
  }
  if (status.phase == "Pending") {
    if (minimum > 0 && pods.pods >= minimum) {
      status.phase = "PreScheduling";
      if (!pods.owners.empty()) status.occupiedBy = pods.owners;
    }
    return status;
  }
  if (pods.pods == 0) {
    status.phase = "Pending";
    return status;
  }
  status.scheduled = pods.scheduled;
  status.running = pods.running;
  status.succeeded = pods.succeeded;
  status.failed = pods.failed;
  if (pods.scheduled < minimum) {
    status.phase = "Scheduling";
    if (!status.scheduleStartTime) status.scheduleStartTime = now;
  } else {
    status.phase = pods.running + pods.succeeded >= minimum ? "Running" : "Scheduled";
  }
  if (pods.failed != 0 && pods.failed + pods.running + pods.succeeded >= minimum)
    status.phase = "Failed";
  if (pods.succeeded >= minimum) status.phase = "Finished";
  return status;
}

}  // namespace koord::scheduler
