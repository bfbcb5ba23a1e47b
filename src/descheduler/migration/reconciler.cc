#include "descheduler/migration/reconciler.h"

#include <fmt/format.h>

#include "base/log.h"
#include "descheduler/migration/futile_moves.h"
#include "descheduler/migration/keys.h"
#include "descheduler/migration/reconciler_work.h"
#include "kube/client.h"

namespace koord::descheduler {

namespace {

// Interval of passes without an event, in case a change was missed.
constexpr Duration kRecheckAfter = std::chrono::seconds(60);

void changeIndex(auto& index, const auto& key, const std::string& name, bool add) {
  if (add) {
    index[key].insert(name);
    return;
  }
  const auto it = index.find(key);
  if (it == index.end()) return;
  it->second.erase(name);
  if (it->second.empty()) index.erase(it);
}

}  // namespace

Reconciler::Reconciler(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs,
                       Workloads& workloads, const ArrivalLimit& arrivals, ObjectLimiter& limiter)
    : args_(args),
      handle_(handle),
      jobs_(jobs),
      workloads_(workloads),
      arrivals_(arrivals),
      limiter_(limiter),
      evictor_(args, handle),
      budgets_(handle, Duration::zero()),
      writer_(handle, jobs),
      reservations_(handle.stores().of<api::Reservation>()),
      creator_(creator(handle)),
      queue_(
          handle.executor(), "podmigrationjob",
          [this](std::string name) { return reconcile(std::move(name)); },
          static_cast<std::size_t>(args.maxConcurrentReconciles)),
      wakeups_(handle.executor(), [this](const std::string& name) { wake(name); }) {}

Reconciler::~Reconciler() = default;

std::string Reconciler::creator(const Handle& handle) {
  return handle.profile();
}

bool Reconciler::isOurs(const api::PodMigrationJob& job) const {
  const auto by = annotationOf(job, kAnnotationJobCreatedBy);
  return by.empty() || by == creator_;
}

void Reconciler::wake(const std::string& name) {
  queue_.add(name);
}

void Reconciler::wakeJobsOf(const api::Pod& pod) {
  const api::ObjectKey key = api::keyOf(pod.metadata);
  for (const JobPtr& job : jobs_.of(key, pod.metadata.uid))
    if (isRunning(*job)) wake(job->metadata.name);
  if (const auto it = byBoundPod_.find(key); it != byBoundPod_.end())
    for (const std::string& name : it->second) wake(name);
}

// Called when a job is over: the arrival limit of its node has a free place.
void Reconciler::wakeWaitingFor(const api::PodMigrationJob& over) {
  const auto node = ArrivalLimit::nodeOf(over);
  if (!arrivals_.limited() || node.empty()) return;
  for (const std::string& name : jobs_.open())
    if (ArrivalLimit::nodeOf(*jobs_.get(name)) == node) wake(name);
}

void Reconciler::start() {
  handle_.stores().pods().addHandler(
      {[this](const PodPtr& pod) { wakeJobsOf(*pod); },
       [this](const PodPtr&, const PodPtr& after) { wakeJobsOf(*after); },
       [this](const PodPtr& last) { wakeJobsOf(*last); }});
  using ReservationPtr = std::shared_ptr<const api::Reservation>;
  const auto wakeFor = [this](const ReservationPtr& reservation) {
    const auto it = byReservation_.find(reservation->metadata.name);
    if (it == byReservation_.end()) return;
    for (const std::string& name : it->second) wake(name);
  };
  reservations_.addHandler(
      {wakeFor, [wakeFor](const ReservationPtr&, const ReservationPtr& after) { wakeFor(after); },
       wakeFor});
  queue_.start();
}

void Reconciler::jobChanged(const JobPtr& before, const JobPtr& after) {
  const auto index = [&](const JobPtr& job, bool add) {
    const std::string& name = job->metadata.name;
    const auto& options = job->spec.reservationOptions;
    if (options && options->reservationRef && !isOver(*job))
      changeIndex(byReservation_, options->reservationRef->name, name, add);
    if (job->status.podRef && !isOver(*job))
      changeIndex(byBoundPod_,
                  api::ObjectKey{job->status.podRef->namespace_, job->status.podRef->name}, name,
                  add);
    if (const auto group = annotationOf(*job, kAnnotationMoveTogether); !group.empty())
      changeIndex(byGroup_, std::string(group), name, add);
  };
  if (before) index(before, false);
  if (after) index(after, true);
  const JobPtr& job = after ? after : before;
  if (after && !isOver(*after)) {
    wake(after->metadata.name);
  } else {
    wakeups_.forget(job->metadata.name);
    wakeWaitingFor(*job);
  }
  if (!after && isOurs(*before)) tasks_.spawn(dropOrphan(before));
  // Jobs that move together wait for each other.
  const auto group = byGroup_.find(std::string(annotationOf(*job, kAnnotationMoveTogether)));
  if (group == byGroup_.end()) return;
  for (const std::string& name : group->second)
    if (const JobPtr other = jobs_.get(name); other && other != after && isRunning(*other))
      wake(name);
}

Task<Result<>> Reconciler::reconcile(std::string name) {
  const JobPtr job = jobs_.get(name);
  if (!job || isOver(*job) || !isOurs(*job) || job->metadata.deletionTimestamp)
    co_return Result<>();
  Work work(job);
  work.now = handle_.executor().wallNow();
  auto running = run(&work);
  auto done = co_await running;
  if (!done) {
    // Another client changed it: the watch delivers the change.
    if (done.error().code == ErrorCode::Conflict || done.error().code == ErrorCode::NotFound) {
      wakeups_.in(name, std::chrono::seconds(1));
      co_return Result<>();
    }
    co_return done;
  }
  auto saving = save(&work);
  auto saved = co_await saving;
  if (const JobPtr after = jobs_.get(name); after && isRunning(*after))
    wakeups_.in(name, kRecheckAfter);
  if (!saved && saved.error().code == ErrorCode::Conflict) co_return Result<>();
  co_return saved;
}

Task<Result<>> Reconciler::save(Work* work) {
  if (!work->changed) co_return Result<>();
  work->changed = false;
  auto writing = writer_.setStatus(work->job, work->status);
  auto written = co_await writing;
  if (!written) co_return fail(std::move(written.error()));
  work->job = *std::move(written);
  work->status = work->job->status;
  co_return Result<>();
}

Task<Result<>> Reconciler::run(Work* work) {
  if (work->job->spec.paused) co_return Result<>();
  // Each step checks whether it has already been done.
  static constexpr Step (Reconciler::* kSteps[])(Work*) = {
      &Reconciler::checkTime, &Reconciler::begin,          &Reconciler::ensureReservation,
      &Reconciler::evict,     &Reconciler::waitForBinding, &Reconciler::waitForReady,
  };
  for (const auto step : kSteps) {
    auto taking = (this->*step)(work);
    auto outcome = co_await taking;
    if (!outcome) co_return fail(std::move(outcome.error()));
    if (outcome->proceeds()) continue;
    if (outcome->kind() == Outcome::Kind::Wait) break;
    auto finishing = finish(work, *std::move(outcome));
    co_return co_await finishing;
  }
  co_return Result<>();
}

Reconciler::Step Reconciler::checkTime(Work* work) {
  const SpecError defect = specErrorOf(*work->job);
  if (!defect.message.empty()) co_return Outcome::failed(defect.reason, defect.message);
  const auto ttl = ttlOf(*work->job);
  if (!ttl || !*ttl || !work->job->metadata.creationTimestamp) co_return Outcome::proceed();
  const Duration left = *work->job->metadata.creationTimestamp + **ttl - work->now;
  if (left > Duration::zero()) {
    wakeups_.in(work->name(), left);
    co_return Outcome::proceed();
  }
  // A soft eviction was not carried out: revert it.
  const auto* eviction = conditionOf(work->status, condition::kEviction);
  if (eviction && eviction->status != "True") {
    const PodPtr pod = handle_.stores().pod(podKeyOf(*work->job));
    if (pod && pod->metadata.uid == work->job->spec.podRef.uid && isSoftEvicted(*pod)) {
      auto taking = evictor_.revert(api::keyOf(pod->metadata), pod->metadata.uid);
      (void)co_await taking;
    }
  }
  std::string message = "Abort job caused by timeout";
  if (const auto waited = FutileMoves::waitTarget(*work->job, work->status); !waited.empty())
    message += ": " + waited;
  co_return Outcome::failed(reason::kTimeout, std::move(message));
}

// Why a pod is not the pod of the job; "" if it is. A job without a uid means the pod that existed
// at its creation. Times are whole seconds, so a pod that is replaced at once can have the same
// time as its predecessor; the job that moved the predecessor shows that.
std::string Reconciler::differenceFrom(const api::PodMigrationJob& job, const api::Pod& pod) const {
  const std::string& uid = job.spec.podRef.uid;
  if (!uid.empty())
    return pod.metadata.uid == uid
               ? std::string()
               : fmt::format("the pod with that name has another uid ({})", pod.metadata.uid);
  if (pod.metadata.creationTimestamp > job.metadata.creationTimestamp)
    return "the pod with that name was created after the job";
  for (const JobPtr& other : jobs_.of(api::keyOf(pod.metadata), "")) {
    const auto* eviction = conditionOf(other->status, condition::kEviction);
    if (eviction && other->spec.podRef.uid != pod.metadata.uid &&
        eviction->lastTransitionTime >= job.metadata.creationTimestamp)
      return fmt::format("job {} has moved it", other->metadata.name);
  }
  return {};
}

// Starts the job when it has passed arbitration and its pod exists.
Reconciler::Step Reconciler::begin(Work* work) {
  if (!isPending(*work->job)) co_return Outcome::proceed();
  if (!hasPassedArbitration(*work->job)) co_return Outcome::wait();
  auto reading = readPod(podKeyOf(*work->job));
  auto pod = co_await reading;
  if (!pod) co_return fail(std::move(pod.error()));
  const std::string uid = work->job->spec.podRef.uid;
  const std::string another = *pod ? differenceFrom(*work->job, **pod) : std::string();
  if (!*pod || !another.empty()) co_return missingPod(*work, another);
  json::object patch, annotations;
  if (uid.empty())
    patch["spec"] = json::object{{"podRef", json::object{{"uid", (*pod)->metadata.uid}}}};
  if (annotationOf(*work->job, kAnnotationFromNode).empty() && !(*pod)->spec.nodeName.empty())
    annotations[kAnnotationFromNode] = (*pod)->spec.nodeName;
  const auto workload = workloads_.of(**pod);
  if (annotationOf(*work->job, kAnnotationWorkload).empty() && !workload.key.empty())
    annotations[kAnnotationWorkload] = workload.key;
  if (!annotations.empty())
    patch["metadata"] = json::object{{"annotations", std::move(annotations)}};
  if (!patch.empty()) {
    auto changing = writer_.change(work->job, std::move(patch));
    auto changed = co_await changing;
    if (!changed) co_return fail(std::move(changed.error()));
    work->job = *std::move(changed);
  }
  setPhase(work->status, phase::kRunning, "", "");
  work->changed = true;
  auto saving = save(work);
  auto saved = co_await saving;
  if (!saved) co_return fail(std::move(saved.error()));
  co_return Outcome::proceed();
}

Task<Result<>> Reconciler::finish(Work* work, Outcome outcome) {
  const bool failed = outcome.kind() == Outcome::Kind::Failed;
  if (failed) {
    auto dropping = dropReservation(work->job);
    auto dropped = co_await dropping;
    if (!dropped) co_return dropped;
  }
  setPhase(work->status, failed ? phase::kFailed : phase::kSucceeded, outcome.reason(),
           outcome.message());
  work->changed = true;
  auto saving = save(work);
  auto saved = co_await saving;
  if (saved && outcome.recordsEvent()) {
    if (failed) {
      writer_.recordEvent(*work->job, "Warning", outcome.reason(), outcome.message());
    } else {
      writer_.recordEvent(*work->job, "Normal", "Complete", outcome.message());
    }
  }
  co_return saved;
}

std::string Reconciler::ownReservationOf(const api::PodMigrationJob& job) const {
  const auto& options = job.spec.reservationOptions;
  if (options && options->reservationRef) {
    // The job keeps its template, with the label of its creator.
    const auto by = textAt(options->template_, "metadata", "labels", kLabelCreatedBy);
    return by == kCreatedBy ? options->reservationRef->name : std::string();
  }
  const auto mode = job.spec.mode.empty() ? args_.defaultJobMode : job.spec.mode.view();
  // A Reservation that is not recorded yet has the job's uid as its name, unless the template has a
  // name.
  return isRunning(job) && mode != "EvictDirectly" ? job.metadata.uid : std::string();
}

Task<Result<>> Reconciler::dropReservation(JobPtr job) {
  const api::ObjectKey key{"", ownReservationOf(*job)};
  if (key.name.empty()) co_return Result<>();
  auto deleting = kube::deleteObject(handle_.api(), api::Reservation::kType, key);
  auto deleted = co_await deleting;
  if (deleted || deleted.error().code == ErrorCode::NotFound) co_return Result<>();
  co_return fail(std::move(deleted.error()));
}

Task<void> Reconciler::dropOrphan(JobPtr job) {
  auto dropping = dropReservation(job);
  const auto dropped = co_await dropping;
  if (!dropped)
    log::warn("the reservation of job {}, which was deleted, remains until it expires: {}",
              job->metadata.name, dropped.error().message);
}

}  // namespace koord::descheduler
