#pragma once

// Arbitrator: lets waiting jobs through, the least disturbing first (arbitration_order.h), as the limits allow
// (gates.h). A job that is through says so in an annotation, and never waits again. Jobs that move together pass
// together. One that can never pass is over; of one that waits, its status says what for.
//
// It looks every interval, and only if something has changed that could let a job through.

#include "descheduler/migration/args.h"
#include "descheduler/migration/gangs.h"
#include "descheduler/migration/gates.h"
#include "descheduler/migration/job_metrics.h"
#include "descheduler/migration/jobs.h"
#include "descheduler/migration/writer.h"

namespace koord::descheduler {

class Arbitrator {
 public:
  // mine: whether a job is for this controller.
  Arbitrator(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs, const Gates& gates,
             Workloads& workloads, JobMetrics& metrics,
             std::function<bool(const api::PodMigrationJob&)> mine);

  void start();
  // Something has changed that may let jobs through.
  void look() { dirty_ = true; }
  std::size_t waiting() const { return waiting_; }

 private:
  using Group = std::vector<const struct WaitingJob*>;

  Task<void> runForever();
  Task<void> round();
  std::vector<struct WaitingJob> collect();
  // Those that wait together with the job, itself among them; nullopt: they are not all there yet.
  std::optional<std::vector<JobPtr>> together(const JobPtr& job) const;
  Task<void> decide(JobPtr job, PodPtr pod);
  Task<void> decideGroup(std::vector<JobPtr> jobs);
  // Why the job may not pass: never, or now.
  struct Answer {
    std::string never;
    std::string notNow;
    const char* limit = "";  // that is reached
  };
  Answer judge(const api::PodMigrationJob& job, const PodPtr& pod,
               const Gates::Together& together) const;
  Task<void> pass(JobPtr job);
  Task<void> refuse(JobPtr job, std::string reason, std::string message);
  Task<void> sayWhy(JobPtr job, Answer answer);

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  const Gates& gates_;
  Workloads& workloads_;
  JobMetrics& metrics_;
  std::function<bool(const api::PodMigrationJob&)> mine_;
  JobWriter writer_;
  bool dirty_ = true;
  SteadyTime looked_{};
  std::size_t waiting_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
