#include "descheduler/migration/scavenger.h"

#include <algorithm>

#include "api/reservation.h"
#include "base/log.h"
#include "descheduler/migration/keys.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

constexpr Duration kPeriod = std::chrono::minutes(1);
constexpr Duration kBeyondTtl = std::chrono::minutes(5);
constexpr Duration kWithoutTtl = std::chrono::minutes(30);

}  // namespace

Duration Scavenger::lifeOf(const api::PodMigrationJob& job) const {
  const auto ttl = ttlOf(job);
  const Duration life = ttl && *ttl ? **ttl + kBeyondTtl : kWithoutTtl;
  return std::max(life, args_.landing.noReturnPeriod);
}

Task<void> Scavenger::runForever() {
  for (;;) {
    auto sweeping = sweep();
    auto swept = co_await sweeping;
    if (!swept)
      log::warn("old PodMigrationJobs could not be deleted yet: {}", swept.error().message);
    auto pause = sleepFor(handle_.executor(), kPeriod);
    co_await pause;
  }
}

Task<Result<>> Scavenger::sweep() {
  const WallTime now = handle_.executor().wallNow();
  std::vector<JobPtr> old;
  for (const auto& [name, job] : jobs_.all())
    if (job->metadata.creationTimestamp && now - *job->metadata.creationTimestamp >= lifeOf(*job))
      old.push_back(job);
  // A failed deletion must not stop the others.
  Result<> failed;
  for (const JobPtr& job : old) {
    const auto& options = job->spec.reservationOptions;
    // A Reservation of a user is not deleted.
    if (options && options->reservationRef &&
        textAt(options->template_, "metadata", "labels", kLabelCreatedBy) == kCreatedBy) {
      const api::ObjectKey key{"", options->reservationRef->name};
      auto deleting = kube::deleteObject(handle_.api(), api::Reservation::kType, key);
      auto deleted = co_await deleting;
      if (!deleted && deleted.error().code != ErrorCode::NotFound) {
        failed = fail(std::move(deleted.error()));
        continue;
      }
    }
    kube::DeleteOptions deleteOptions{.uid = job->metadata.uid};
    auto deleting = kube::deleteObject(handle_.api(), api::PodMigrationJob::kType,
                                       api::keyOf(job->metadata), deleteOptions);
    auto deleted = co_await deleting;
    if (!deleted && deleted.error().code != ErrorCode::NotFound)
      failed = fail(std::move(deleted.error()));
  }
  co_return failed;
}

}  // namespace koord::descheduler
