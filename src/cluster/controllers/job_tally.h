#pragma once

// What the pods of a Job amount to, and whether it has come to its end. Pure functions; job.cc acts
// on what they say.

#include <map>

#include "api/workloads.h"
#include "cluster/controllers/pod_control.h"

namespace koord::cluster {

inline constexpr const char* kJobTracking = "batch.kubernetes.io/job-tracking";
inline constexpr const char* kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr const char* kIgnoredIndexFailures =
    "batch.kubernetes.io/job-index-ignored-failure-count";

// Whether a condition of the type is True.
bool holds(const api::JobStatus& status, std::string_view type);
bool isTracked(const api::Pod& pod);
// Whether a pod that is being deleted is replaced before it has ended.
bool replacesTerminating(const api::JobSpec& spec);

struct JobTally {
  api::JobStatus status;            // with the counters of now
  std::vector<PodPtr> active;       // neither ended nor being deleted
  std::vector<PodPtr> terminating;  // being deleted, not ended
  std::vector<PodPtr> counted;      // their finalizers can go when the status is written
  // With backoffLimitPerIndex: the pods whose index has to run again. Each keeps its finalizer
  // until there is another, which carries the number of failures on.
  std::map<int, PodPtr> toRepeat;
  WallTime lastFailure{};  // when the last of the failed pods ended
  int failuresInARow = 0;  // pods that failed since one succeeded
  std::string failure;     // why the podFailurePolicy ends the job
};
// `pods` are all that are the job's.
JobTally tallyPods(const api::Job& job, const std::vector<PodPtr>& pods);

struct JobVerdict {
  bool success = false;
  std::string reason;
  std::string message;
};
// Whether the job is over, or about to be: its pods go then, and when the last is gone it is
// Complete or Failed.
std::optional<JobVerdict> judge(const api::Job& job, const JobTally& tally, WallTime now);

// The message when one of the rules is met.
std::optional<std::string> metSuccessPolicy(const api::JobSpec& spec,
                                            const std::set<int>& succeeded);

// When the pod came to its end, as far as its containers and conditions tell.
WallTime finishTime(const api::Pod& pod);

// Failures that the index of a pod had before it; `annotation` is one of the two above.
int indexFailures(const api::Pod& pod, const char* annotation);

}  // namespace koord::cluster
