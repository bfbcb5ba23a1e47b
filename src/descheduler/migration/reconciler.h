#pragma once

// Reconciler: executes a job in steps, from the API's state of the job, its pod and its
// Reservation. The job's conditions determine the next step; there is no other state, so a
// restarted process continues from there.
//
//   Pending -> Running                            when it has passed arbitration and its pod exists
//   Reservation created -> scheduled              ReservationFirst only: reserves another place
//   Eviction False (has begun) -> True            see below
//   bound -> the new pod is ready -> Succeeded    ReservationFirst only
//
// A pod is evicted once. The condition Eviction (False, Evicting) is written before the call; then
// the call is made only for the pod with this uid, unless it is already terminating. After a crash
// in between, the pod's state decides: if it exists and is not terminating, the call was not made
// or was refused; if it does not exist, the eviction is complete. Upstream writes the condition
// afterwards: after a crash it takes its own eviction for a deletion by another client.
//
// On every failure the Reservation is deleted first, then the job is marked, so that a finished job
// reserves no resources. Changes of the job, its pods and its Reservation trigger the next pass.

#include "descheduler/migration/args.h"
#include "descheduler/migration/arrival_limit.h"
#include "descheduler/migration/budgets.h"
#include "descheduler/migration/evictor.h"
#include "descheduler/migration/gates.h"
#include "descheduler/migration/jobs.h"
#include "descheduler/migration/object_limiter.h"
#include "descheduler/migration/wakeups.h"
#include "descheduler/migration/writer.h"
#include "kube/work_queue.h"

namespace koord::api {
struct Reservation;
}

namespace koord::descheduler {

class Reconciler {
 public:
  Reconciler(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs, Workloads& workloads,
             const ArrivalLimit& arrivals, ObjectLimiter& limiter);
  ~Reconciler();

  void start();
  void jobChanged(const JobPtr& before, const JobPtr& after);
  // The creator name of this controller's jobs. It ignores jobs of other creators.
  static std::string creator(const Handle& handle);
  bool isOurs(const api::PodMigrationJob& job) const;

 private:
  struct Work;    // the job in one pass, and its new status
  class Outcome;  // what a step decides for the job
  using Step = Task<Result<Outcome>>;

  void wake(const std::string& name);
  void wakeJobsOf(const api::Pod& pod);
  void wakeWaitingFor(const api::PodMigrationJob& over);
  Task<Result<>> reconcile(std::string name);
  Task<Result<>> run(Work* work);

  // reconciler.cc: the beginning and the end
  Step checkTime(Work* work);
  Step begin(Work* work);
  Task<Result<>> save(Work* work);
  // Writes the end of the job that the step decided. A failed job loses its Reservation first.
  Task<Result<>> finish(Work* work, Outcome outcome);
  // The name of the Reservation that this controller created for the job; "" if it has none.
  std::string ownReservationOf(const api::PodMigrationJob& job) const;
  Task<Result<>> dropReservation(JobPtr job);
  Task<void> dropOrphan(JobPtr job);

  // reconcile_reservation.cc
  Step ensureReservation(Work* work);
  Step createReservation(Work* work);
  Step persistReservation(Work* work, json::object reservation);
  Step judgeReservation(Work* work);
  static Outcome reservationOutcome(const api::Reservation& reservation);
  Step takePlace(Work* work);
  Step watchPendingPod(Work* work);
  Step pendingPodPlaced(Work* work, std::shared_ptr<const api::Pod> pod);
  Step waitForBinding(Work* work);
  Step waitForReady(Work* work);
  Task<Result<std::shared_ptr<const api::Reservation>>> readReservation(std::string name);

  // reconcile_eviction.cc
  Step evict(Work* work);
  Step evictPresent(Work* work, std::shared_ptr<const api::Pod> pod);
  Step verifyReservation(Work* work);
  Step callEvictor(Work* work, std::shared_ptr<const api::Pod> pod);
  Step checkPlan(Work* work);
  Task<Result<bool>> stillWaits(std::string beneficiary);
  bool groupHasBegun(const Work& work) const;
  std::vector<PodPtr> podsMovingWith(const Work& work) const;
  Outcome evictionEnded(const Work& work) const;
  static Outcome missingPod(const Work& work, const std::string& why = {});
  std::string differenceFrom(const api::PodMigrationJob& job, const api::Pod& pod) const;
  Duration rateLimitDelay(const Work& work, const api::Pod& pod);
  static Outcome waitWithReason(Work* work, std::string why);
  // Why the jobs that move together with it are not as far; "" if they are. Sets `broken` if they
  // cannot get there.
  std::string laggingJob(const Work& work, bool& broken) const;
  Task<Result<PodPtr>> readPod(api::ObjectKey key);

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  Workloads& workloads_;
  const ArrivalLimit& arrivals_;
  ObjectLimiter& limiter_;
  PodEvictor evictor_;
  Budgets budgets_;  // read each time
  JobWriter writer_;
  kube::Informer<api::Reservation>& reservations_;
  const std::string creator_;
  std::unordered_map<std::string, std::set<std::string>> byReservation_;  // job names
  std::unordered_map<api::ObjectKey, std::set<std::string>> byBoundPod_;  // likewise
  std::unordered_map<std::string, std::set<std::string>> byGroup_;        // jobs that move together
  kube::WorkQueue queue_;
  std::set<std::string> starting_;  // jobs whose condition Eviction is being written
  Wakeups wakeups_;
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
