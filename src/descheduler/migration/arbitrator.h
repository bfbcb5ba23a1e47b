#pragma once

// Arbitrator: passes waiting jobs, the least disturbing first (arbitration_order.h), within the
// limits (gates.h). A passed job is marked by an annotation and never waits again. Jobs that move
// together pass together. A job that can never pass fails; the status of a waiting job has the
// reason.
//
// It runs every interval, but only if a change may allow a job to pass.

#include "descheduler/migration/args.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/gates.h"
#include "descheduler/migration/job_metrics.h"
#include "descheduler/migration/jobs.h"
#include "descheduler/migration/writer.h"

namespace koord::descheduler {

class Arbitrator {
 public:
  // mine: returns true if a job is for this controller.
  Arbitrator(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs, const Gates& gates,
             Workloads& workloads, JobMetrics& metrics,
             std::function<bool(const api::PodMigrationJob&)> mine);

  void start();
  // Call after a change that may allow jobs to pass.
  void markDirty() { dirty_ = true; }
  std::size_t waiting() const { return waiting_; }

 private:
  using Group = std::vector<const struct WaitingJob*>;

  Task<void> runForever();
  Task<void> round();
  std::vector<struct WaitingJob> collect();
  // The jobs that wait together with the job, including itself; nullopt if not all of them exist
  // yet.
  std::optional<std::vector<JobPtr>> together(const JobPtr& job) const;
  Task<void> decide(JobPtr job, PodPtr pod);
  Task<void> decideGroup(std::vector<JobPtr> jobs);
  // Why the job cannot pass: never, or not now.
  struct Answer {
    std::string permanentDenial;
    std::string temporaryDenial;
    const char* limit = "";  // the limit that is reached
  };
  Answer judge(const api::PodMigrationJob& job, const PodPtr& pod,
               const Gates::MovingPods& together) const;
  Task<void> pass(JobPtr job);
  Task<void> refuse(JobPtr job, std::string reason, std::string message);
  Task<void> reportReason(JobPtr job, Answer answer);

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  const Gates& gates_;
  Workloads& workloads_;
  JobMetrics& metrics_;
  std::function<bool(const api::PodMigrationJob&)> mine_;
  JobWriter writer_;
  bool dirty_ = true;
  SteadyTime lastArbitration_{};
  std::size_t waiting_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
