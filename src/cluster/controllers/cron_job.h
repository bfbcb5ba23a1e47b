#pragma once

// CronJobs: a Job at every time of a schedule, within concurrencyPolicy and
// startingDeadlineSeconds; finished Jobs beyond the history limits are deleted.

#include "api/workloads.h"
#include "cluster/controllers/cron/schedule.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"

namespace koord::cluster {

// The latest time of the schedule that is due and has no Job yet, and the number of such times
// (counted up to 101).
struct MissedTimes {
  std::optional<WallTime> latest;
  int count = 0;
};
MissedTimes missedTimes(const CronSchedule& schedule, const api::CronJob& cronJob, WallTime now);

class CronJobController {
 public:
  CronJobController(kube::Api& api, Executor& executor, kube::Informer<api::CronJob>& cronJobs,
                    kube::Informer<api::Job>& jobs, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using CronJobPtr = std::shared_ptr<const api::CronJob>;
  using JobPtr = std::shared_ptr<const api::Job>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> startJob(CronJobPtr cronJob, CronSchedule schedule, WallTime when,
                          api::CronJobStatus* status);
  Task<Result<>> trimHistory(CronJobPtr cronJob, std::vector<JobPtr> jobs);
  Task<Result<>> removeJob(CronJobPtr cronJob, api::ObjectKey job, std::string uid);
  Task<Result<>> write(CronJobPtr cronJob, api::CronJobStatus status);
  std::vector<JobPtr> jobsOf(const api::CronJob& cronJob) const;
  void recordEvent(const api::CronJob& cronJob, std::string_view type, std::string_view reason,
                   std::string message);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::CronJob>& cronJobs_;
  kube::Informer<api::Job>& jobs_;
  kube::EventRecorder& events_;
  kube::WorkQueue queue_;
};

}  // namespace koord::cluster
