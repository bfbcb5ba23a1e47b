#pragma once

// Jobs: keeps up to spec.parallelism pods running until spec.completions of them have succeeded (in
// an Indexed Job: one of each index), too many have failed, or the podFailurePolicy ends the Job. A
// pod has a finalizer until it is counted, so that every pod is counted exactly once, no matter
// which client deletes it and when this program restarts.

#include "api/workloads.h"
#include "cluster/controllers/job_tally.h"
#include "cluster/controllers/pod_control.h"
#include "kube/work_queue.h"

namespace koord::cluster {

class JobController {
 public:
  JobController(kube::Api& api, Executor& executor, kube::Informer<api::Job>& jobs,
                PodControl& pods, kube::EventRecorder& events);
  void start() { queue_.start(); }

 private:
  using JobPtr = std::shared_ptr<const api::Job>;

  Task<Result<>> sync(std::string key);
  Task<Result<>> releaseOrphans(std::string key, std::string currentUid);
  Task<Result<>> releaseCounted(std::vector<PodPtr> counted);
  // Creates or deletes pods until the desired number is active.
  Task<Result<>> run(JobPtr job, JobTally tally);
  // The remaining back-off of the next pod of an index (-1: of the job).
  Duration backoffBefore(const JobTally& tally, int index) const;
  // Deletes the first kBurst of the pods. Their events enqueue the job again.
  Task<Result<>> removePods(JobPtr job, std::vector<PodPtr> pods);
  // Writes the status and reports changes.
  Task<Result<>> write(JobPtr job, api::JobStatus status);
  Task<Result<>> expire(JobPtr job);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Job>& jobs_;
  PodControl& pods_;
  kube::EventRecorder& events_;
  std::map<std::string, std::set<std::string>>
      uids_;  // job key -> uids of jobs that pods belong to
  kube::WorkQueue queue_;
};

// The pause before a failed pod is replaced: 10 s doubling to 10 min.
Duration jobBackoff(int failures);

}  // namespace koord::cluster
