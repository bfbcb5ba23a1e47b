#include "descheduler/migration/futile_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "descheduler/migration/keys.h"

namespace koord::descheduler {

namespace {

// Returns true if the job timed out with an unscheduled Reservation of its own and without an
// eviction.
bool endedWithoutMove(const api::PodMigrationJob& job) {
  return job.status.phase == phase::kFailed && job.status.reason == reason::kTimeout &&
         isTrue(job.status, condition::kReservationCreated) &&
         !isTrue(job.status, condition::kReservationScheduled) &&
         !conditionOf(job.status, condition::kEviction) && job.spec.reservationOptions &&
         textAt(job.spec.reservationOptions->template_, "metadata", "labels", kLabelCreatedBy) ==
             kCreatedBy;
}

std::string durationText(Duration left) {
  return formatDuration(std::chrono::ceil<std::chrono::seconds>(left));
}

}  // namespace

void FutileMoves::changed(const JobPtr&, const JobPtr& after) {
  if (!after) return;
  if (const auto* looked = conditionOf(after->status, condition::kReservationScheduled)) {
    if (looked->lastTransitionTime) seenAt_ = std::max(seenAt_, *looked->lastTransitionTime);
    return;
  }
  const auto ttl = ttlOf(*after);
  const auto made = after->metadata.creationTimestamp;
  if (!made || !ttl || !*ttl || !endedWithoutMove(*after) || *made + **ttl <= unseen_.end) return;
  unseen_ = {after->metadata.name, *made + **ttl, **ttl};
}

std::string FutileMoves::refusal(const api::Pod& pod, WallTime now) const {
  if (unseen_.end > seenAt_ && now < unseen_.end + unseen_.took)
    return fmt::format(
        "no scheduler processed the Reservation of job {} within {}: does koord-scheduler run with "
        "its plugin Reservation? The next try is in {}",
        unseen_.job, formatDuration(unseen_.took), durationText(unseen_.end + unseen_.took - now));
  for (const JobPtr& job : jobs_.of(api::keyOf(pod.metadata), pod.metadata.uid)) {
    const auto ttl = ttlOf(*job);
    const auto made = job->metadata.creationTimestamp;
    if (job->spec.podRef.uid != pod.metadata.uid || !made || !ttl || !*ttl ||
        !endedWithoutMove(*job))
      continue;
    const WallTime again = *made + 2 * **ttl;
    if (now < again)
      return fmt::format("job {} found no place for it within {}; the next try is in {}",
                         job->metadata.name, formatDuration(**ttl), durationText(again - now));
  }
  return {};
}

std::set<std::string> FutileMoves::failedPredictions() const {
  std::set<std::string> nodes;
  for (const auto& [name, job] : jobs_.all()) {
    const auto planned = annotationOf(*job, kAnnotationPlannedNode);
    if (!planned.empty() && endedWithoutMove(*job) &&
        conditionOf(job->status, condition::kReservationScheduled))
      nodes.emplace(planned);
  }
  return nodes;
}

std::string FutileMoves::waitTarget(const api::PodMigrationJob& job,
                                    const api::PodMigrationJobStatus& status) {
  if (isPending(job)) return status.message;
  const auto* scheduled = conditionOf(status, condition::kReservationScheduled);
  const auto* evicting = conditionOf(status, condition::kEviction);
  if (evicting && evicting->status != "True") return "the pod was not evicted";
  if (evicting && conditionOf(status, condition::kBoundPodReady)) return "the new pod is not ready";
  if (evicting) return "no pod used the Reservation";
  if (isTrue(status, condition::kReservationCreated) && !scheduled)
    return "no scheduler processed the Reservation: does koord-scheduler run with its plugin "
           "Reservation?";
  if (scheduled && scheduled->status != "True")
    return "the Reservation found no node: " + scheduled->message;
  return status.reason == reason::kWaitingForTurn ? status.message : std::string();
}

}  // namespace koord::descheduler
