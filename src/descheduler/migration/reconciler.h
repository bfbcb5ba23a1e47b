#pragma once

// Reconciler: one step of a job at a time, from what the API shows of the job, its pod and its Reservation. Where a
// job is, and what is next, follows from its conditions; nothing is remembered in between, so a restart at any
// moment goes on from there.
//
//   Pending -> Running                            once it has passed arbitration and its pod is there
//   Reservation created -> scheduled              ReservationFirst only: room is held elsewhere
//   Eviction False (it is begun) -> True          see below
//   bound -> the new pod is ready -> Succeeded    ReservationFirst only
//
// A pod is evicted once. That it is going to be is written before (condition Eviction, False, Evicting); then
// the call is made for that incarnation of the pod (uid) alone, unless it is leaving already. After a crash in
// between, the pod is looked at: if it is there and not leaving, the call was not made, or refused; if it is gone,
// the eviction is complete. Upstream writes afterwards: a crash then makes it take its own eviction for a pod
// that somebody else deleted.
//
// Of every failure the Reservation is deleted first, then the job is marked: nobody holds room for a job that
// is over. Steps are woken by changes of the job, of its pods and of its Reservation.

#include "descheduler/migration/args.h"
#include "descheduler/migration/arrival_limit.h"
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
  // Who makes jobs here: those of others are left alone.
  static std::string creator(const Handle& handle);
  bool isOurs(const api::PodMigrationJob& job) const;

 private:
  struct Work;  // the job in one pass, and its status as it will be
  // What a step says: go on with the next one, or stop here for now.
  enum class Next { GoOn, Stop };
  using Step = Task<Result<Next>>;

  void wake(const std::string& name);
  void wakeJobsOf(const api::Pod& pod);
  void wakeOthersTo(const api::PodMigrationJob& over);
  Task<Result<>> reconcile(std::string name);
  Task<Result<>> run(Work* work);

  // reconciler.cc: the beginning and the end
  Step checkTime(Work* work);
  Step begin(Work* work);
  Task<Result<>> save(Work* work);
  // Over: the Reservation goes first. `tell`: with an event.
  Step end(Work* work, std::string reason, std::string message, bool tell = true);
  Step succeed(Work* work, std::string message);
  // Of a job whose Reservation was made here; "" = it has none.
  std::string ownReservationOf(const api::PodMigrationJob& job) const;
  Task<Result<>> dropReservation(JobPtr job);
  Task<void> dropOrphan(JobPtr job);

  // reconcile_reservation.cc
  Step holdRoom(Work* work);
  Step createReservation(Work* work);
  Step persistReservation(Work* work, json::object reservation);
  Step judgeReservation(Work* work);
  Step endIfFailed(Work* work);
  Step takePlace(Work* work);
  Step watchPendingPod(Work* work);
  Step pendingPodPlaced(Work* work, std::shared_ptr<const api::Pod> pod);
  Step waitForBinding(Work* work);
  Step waitForReady(Work* work);
  Task<Result<std::shared_ptr<const api::Reservation>>> readReservation(std::string name);

  // reconcile_eviction.cc
  Step evict(Work* work);
  Step evictPresent(Work* work, std::shared_ptr<const api::Pod> pod);
  Step stillHeld(Work* work);
  Step callEvictor(Work* work, std::shared_ptr<const api::Pod> pod);
  Step evictionEnded(Work* work);
  Step missingPod(Work* work, std::string why = {});
  std::string whyAnother(const api::PodMigrationJob& job, const api::Pod& pod) const;
  Duration turnOf(const Work& work, const api::Pod& pod);
  Step waitForTurn(Work* work, std::string why);
  // "" = those that move together with it are as far; a text with `broken`: they cannot be any more.
  std::string othersLag(const Work& work, bool& broken) const;
  Task<Result<PodPtr>> readPod(api::ObjectKey key);

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  Workloads& workloads_;
  const ArrivalLimit& arrivals_;
  ObjectLimiter& limiter_;
  PodEvictor evictor_;
  JobWriter writer_;
  kube::Informer<api::Reservation>& reservations_;
  const std::string creator_;
  std::unordered_map<std::string, std::set<std::string>> byReservation_;  // names of jobs
  std::unordered_map<api::ObjectKey, std::set<std::string>> byBoundPod_;  // likewise
  std::unordered_map<std::string, std::set<std::string>> byGroup_;        // that move together
  std::vector<std::unique_ptr<kube::WorkQueue>> workers_;
  std::set<std::string> starting_;  // jobs whose eviction is being written down
  Wakeups wakeups_;
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
