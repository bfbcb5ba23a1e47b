#pragma once

// Counts the pods of a Job and decides whether it is finished. Pure functions; job.cc acts on the
// results.

#include <map>

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

inline constexpr const char* kJobTracking = "batch.kubernetes.io/job-tracking";
inline constexpr const char* kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr const char* kIgnoredIndexFailures =
    "batch.kubernetes.io/job-index-ignored-failure-count";

// Returns true if a condition of the type is True.
bool holds(const api::JobStatus& status, std::string_view type);
bool isTracked(const api::Pod& pod);
// Returns true if a pod that is being deleted is replaced before it has ended.
bool replacesTerminating(const api::JobSpec& spec);

struct JobTally {
  api::JobStatus status;            // with the current counters
  std::vector<PodPtr> active;       // neither ended nor being deleted
  std::vector<PodPtr> terminating;  // being deleted, not ended
  std::vector<PodPtr> counted;      // remove their finalizers after the status is written
  // With backoffLimitPerIndex: the pods whose index must run again. Each keeps its finalizer until
  // its replacement exists, which takes over the number of failures.
  std::map<int, PodPtr> toRepeat;
  WallTime lastFailure{};       // when the last of the failed pods ended
  int consecutiveFailures = 0;  // pods that failed since one succeeded
  std::string failure;          // why the podFailurePolicy ends the job
};
// `pods`: all pods of the job.
JobTally tallyPods(const api::Job& job, const std::vector<PodPtr>& pods);

struct JobVerdict {
  bool success = false;
  std::string reason;
  std::string message;
};
// nullopt if the job continues. Otherwise its pods are deleted, and after the last one the job
// becomes Complete or Failed.
std::optional<JobVerdict> judge(const api::Job& job, const JobTally& tally, WallTime now);

// The message if a rule is met; nullopt otherwise.
std::optional<std::string> metSuccessPolicy(const api::JobSpec& spec,
                                            const std::set<int>& succeeded);

// When the pod ended, as far as its containers and conditions show.
WallTime finishTime(const api::Pod& pod);

// Failures of a pod's index before it; `annotation` is one of the two above.
int indexFailures(const api::Pod& pod, const char* annotation);

}  // namespace koord::cluster
