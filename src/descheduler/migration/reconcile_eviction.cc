#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "descheduler/framework/pod.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/keys.h"
#include "descheduler/migration/reconciler_work.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

// Retry after a refused eviction, nearly always because of a budget.
constexpr Duration kRetryAfter = std::chrono::seconds(3);

std::shared_ptr<const api::Pod> shared(api::Pod pod) {
  return std::make_shared<const api::Pod>(std::move(pod));
}

}  // namespace

// Reads the pod from the watch, or from the API if the watch lacks it, because it may lag. nullptr
// if the pod does not exist.
Task<Result<PodPtr>> Reconciler::readPod(api::ObjectKey key) {
  if (PodPtr known = handle_.stores().pod(key)) co_return known;
  auto reading = kube::get<Pod>(handle_.api(), key);
  auto pod = co_await reading;
  if (pod) co_return std::make_shared<const Pod>(*std::move(pod));
  if (pod.error().code == ErrorCode::NotFound) co_return PodPtr();
  co_return fail(std::move(pod.error()));
}

Reconciler::Outcome Reconciler::missingPod(const Work& work, const std::string& why) {
  std::string message = fmt::format("Abort job caused by missing Pod {}", work.podText());
  if (!why.empty()) message += ": " + why;
  return Outcome::failed(reason::kMissingPod, std::move(message));
}

std::string Reconciler::laggingJob(const Work& work, bool& broken) const {
  const std::string group(annotationOf(*work.job, kAnnotationMoveTogether));
  const auto it = byGroup_.find(group);
  if (group.empty() || it == byGroup_.end()) return {};
  std::string lagging;
  bool begun = false, over = false;
  for (const std::string& name : it->second) {
    const JobPtr other = jobs_.get(name);
    if (!other || name == work.name()) continue;
    begun |= conditionOf(other->status, condition::kEviction) != nullptr;
    if (isOver(*other)) {
      over |= other->status.phase != phase::kSucceeded;
    } else if (!isRunning(*other) || (!work.evictsDirectly(args_) &&
                                      !isTrue(other->status, condition::kReservationScheduled))) {
      lagging = fmt::format("pod {} of its gang, job {}, is not ready to move",
                            podKeyOf(*other).toString(), name);
    }
  }
  // After the first eviction of the group the rest must follow.
  if (begun) return {};
  broken = over;
  const std::string size(annotationOf(*work.job, kAnnotationMoveTogetherSize));
  if (lagging.empty() && size != std::to_string(it->second.size()))
    lagging = fmt::format("{1} of {0} migration jobs of its gang exist", size, it->second.size());
  return lagging;
}

Reconciler::Step Reconciler::evict(Work* work) {
  if (isTrue(work->status, condition::kEviction)) co_return evictionEnded(*work);
  const std::string uid = work->job->spec.podRef.uid;
  const bool begun = conditionOf(work->status, condition::kEviction) != nullptr;
  // While the pod is known to be terminating, no read is needed.
  const PodPtr known = handle_.stores().pod(podKeyOf(*work->job));
  if (begun && known && known->metadata.uid == uid &&
      (known->metadata.deletionTimestamp || isSoftEvicted(*known)))
    co_return Outcome::wait();
  // Nor before its turn.
  if (known && known->metadata.uid == uid) {
    if (const Duration wait = rateLimitDelay(*work, *known); wait > Duration::zero()) {
      wakeups_.in(work->name(), wait);
      co_return waitWithReason(work, "the rate limit of evictions (objectLimiters) is reached");
    }
  }
  const api::ObjectKey key = podKeyOf(*work->job);
  auto reading = kube::get<api::Pod>(handle_.api(), key);
  auto pod = co_await reading;
  if (!pod && pod.error().code != ErrorCode::NotFound) co_return fail(std::move(pod.error()));
  if (pod && pod->metadata.uid == uid) {
    auto evicting = evictPresent(work, shared(*std::move(pod)));
    co_return co_await evicting;
  }
  if (!begun) co_return missingPod(*work);
  const std::string message = fmt::format("Pod {} has been evicted", work->podText());
  work->set(condition::kEviction, true, reason::kEvictComplete, message);
  auto saving = save(work);
  auto saved = co_await saving;
  if (!saved) co_return fail(std::move(saved.error()));
  writer_.recordEvent(*work->job, "Normal", reason::kEvictComplete, message);
  co_return evictionEnded(*work);
}

Reconciler::Outcome Reconciler::evictionEnded(const Work& work) const {
  if (!work.evictsDirectly(args_)) return Outcome::proceed();
  return Outcome::succeeded(fmt::format("Pod {} has been evicted", work.podText())).withoutEvent();
}

// The time until the rate limits allow the eviction, and those of the pods that move with it. 0
// after the first eviction has begun, and for a gang, which moves at once.
Duration Reconciler::rateLimitDelay(const Work& work, const api::Pod& pod) {
  const bool together = !annotationOf(*work.job, kAnnotationMoveTogether).empty();
  const bool exempt = conditionOf(work.status, condition::kEviction) != nullptr ||
                      api::findIn(work.job->metadata.annotations, kAnnotationEvict) != nullptr ||
                      (together && (!gangOf(pod).empty() || groupHasBegun(work)));
  if (exempt) return {};
  Duration wait = limiter_.wait(pod, workloads_.of(pod).key);
  if (!together) return wait;
  std::vector<ObjectLimiter::Eviction> evictions;
  for (const PodPtr& each : podsMovingWith(work)) {
    const auto workload = workloads_.of(*each);
    if (gangOf(*each).empty()) evictions.push_back({each, workload.key, workload.replicas});
  }
  return std::max(wait, limiter_.waitForAll(evictions));
}

bool Reconciler::groupHasBegun(const Work& work) const {
  const std::string group(annotationOf(*work.job, kAnnotationMoveTogether));
  return !group.empty() && std::ranges::any_of(jobs_.inGroup(group), [&](const JobPtr& job) {
    return conditionOf(job->status, condition::kEviction) != nullptr ||
           starting_.contains(job->metadata.name);
  });
}

// Including its own pod, if the watch has delivered it.
std::vector<PodPtr> Reconciler::podsMovingWith(const Work& work) const {
  std::vector<PodPtr> pods;
  for (const JobPtr& job :
       jobs_.inGroup(std::string(annotationOf(*work.job, kAnnotationMoveTogether))))
    if (const PodPtr pod = handle_.stores().pod(podKeyOf(*job));
        pod && pod->metadata.uid == job->spec.podRef.uid)
      pods.push_back(pod);
  return pods;
}

// `beneficiary`: the annotation of the job.
Task<Result<bool>> Reconciler::stillWaits(std::string beneficiary) {
  const std::size_t name = beneficiary.find('/'), uid = beneficiary.rfind('/');
  if (name == uid) co_return false;
  const api::ObjectKey key{beneficiary.substr(0, name),
                           beneficiary.substr(name + 1, uid - name - 1)};
  auto reading = kube::get<api::Pod>(handle_.api(), key);
  const auto pod = co_await reading;
  if (!pod && pod.error().code != ErrorCode::NotFound) co_return fail(pod.error());
  co_return pod && pod->metadata.uid == beneficiary.substr(uid + 1) &&
      !pod->metadata.deletionTimestamp && pod->spec.nodeName.empty();
}

// Checks before the first eviction of the pods that move together what may have changed since the
// jobs were made: the pod that they help still waits, and budgets allow all of the evictions.
Reconciler::Step Reconciler::checkPlan(Work* work) {
  if (conditionOf(work->status, condition::kEviction) || groupHasBegun(*work))
    co_return Outcome::proceed();
  const std::string helped(annotationOf(*work->job, kAnnotationBeneficiary));
  if (!helped.empty()) {
    auto asking = stillWaits(helped);
    auto waits = co_await asking;
    if (!waits) co_return fail(std::move(waits.error()));
    if (!*waits)
      co_return Outcome::failed(
          reason::kForbidden,
          fmt::format("Pod \"{}\" does not wait for a node", helped.substr(0, helped.rfind('/'))));
  }
  if (args_.evictionPolicy != "Eviction") co_return Outcome::proceed();
  auto asking = budgets_.refusal(podsMovingWith(*work));
  std::string why = co_await asking;
  if (why.empty()) co_return Outcome::proceed();
  wakeups_.in(work->name(), kRetryAfter);
  co_return waitWithReason(work, std::move(why));
}

// Writes the reason to the status, once, because its numbers change.
Reconciler::Outcome Reconciler::waitWithReason(Work* work, std::string why) {
  if (work->status.reason == reason::kWaitingForTurn) return Outcome::wait();
  work->status.reason = reason::kWaitingForTurn;
  work->status.message = std::move(why);
  work->changed = true;
  return Outcome::wait();
}

// The watch's state of the Reservation may be outdated, and the pod must not be evicted without a
// new place.
Reconciler::Step Reconciler::verifyReservation(Work* work) {
  if (!work->reservation) co_return Outcome::proceed();
  const api::ObjectKey key{"", work->reservationName()};
  auto reading = kube::get<api::Reservation>(handle_.api(), key);
  auto now = co_await reading;
  if (!now && now.error().code != ErrorCode::NotFound) co_return fail(std::move(now.error()));
  if (!now) {
    co_return Outcome::failed(
        reason::kMissingReservation,
        fmt::format("Abort job caused by missing Reservation \"/{}\"", work->reservationName()));
  }
  work->reservation = std::make_shared<const api::Reservation>(*std::move(now));
  if (work->reservation->status.phase == "Succeeded")
    co_return Outcome::failed(reason::kForbidden, "Reservation is already bound by another Pod");
  co_return reservationOutcome(*work->reservation);
}

// Checks all conditions of the eviction.
Reconciler::Step Reconciler::evictPresent(Work* work, std::shared_ptr<const api::Pod> pod) {
  const bool begun = conditionOf(work->status, condition::kEviction) != nullptr;
  if (pod->metadata.deletionTimestamp || (begun && isSoftEvicted(*pod))) {
    if (begun) co_return Outcome::wait();
    co_return missingPod(*work, "another client is deleting it");
  }
  auto asking = verifyReservation(work);
  auto held = co_await asking;
  if (!held || !held->proceeds()) co_return held;
  bool broken = false;
  if (const std::string lag = laggingJob(*work, broken); broken) {
    co_return Outcome::failed(reason::kGangBroken, "Other pods of its gang cannot be migrated");
  } else if (!lag.empty()) {
    co_return waitWithReason(work, lag);
  }
  auto checking = checkPlan(work);
  const auto checked = co_await checking;
  if (!checked || !checked->proceeds()) co_return checked;
  const bool alone = annotationOf(*work->job, kAnnotationMoveTogether).empty();
  if (std::string busy = arrivals_.refusal(*work->job, starting_);
      alone && !begun && !busy.empty()) {
    co_return waitWithReason(work, std::move(busy));
  }
  Duration wait = rateLimitDelay(*work, *pod);
  if (wait == Duration::zero()) wait = evictor_.takeToken();
  if (wait > Duration::zero()) {
    wakeups_.in(work->name(), wait);
    co_return Outcome::wait();
  }
  auto calling = callEvictor(work, std::move(pod));
  co_return co_await calling;
}

Reconciler::Step Reconciler::callEvictor(Work* work, std::shared_ptr<const api::Pod> pod) {
  const std::string message =
      fmt::format("Pod {} evicted from node \"{}\" by the reason \"{}\"", work->podText(),
                  pod->spec.nodeName, evictReasonOf(*work->job));
  // Before the call: see reconciler.h.
  const bool begun = conditionOf(work->status, condition::kEviction) != nullptr;
  if (!begun) {
    const auto workload = workloads_.of(*pod);
    limiter_.spend(pod->metadata.namespace_, workload.key, workload.replicas);
  }
  work->set(condition::kEviction, false, reason::kEvicting, message);
  // Meanwhile other jobs must count this job as evicting.
  starting_.insert(work->name());
  auto saving = save(work);
  auto saved = co_await saving;
  starting_.erase(work->name());
  if (!saved) co_return fail(std::move(saved.error()));
  auto evicting = evictor_.evict(work->job, pod);
  auto evicted = co_await evicting;
  if (!evicted) {
    writer_.recordEvent(
        *work->job, "Warning", reason::kEvicting,
        fmt::format("Failed evict Pod {} caused by {}", work->podText(), evicted.error().message));
    log::v(2, "job {}: {}", work->name(), evicted.error().message);
    wakeups_.in(work->name(), kRetryAfter);
    co_return Outcome::wait();
  }
  writer_.recordEvent(*work->job, "Normal", reason::kEvicting, message);
  co_return Outcome::wait();
}

}  // namespace koord::descheduler
