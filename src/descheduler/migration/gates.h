#pragma once

// Decides which pods may move at all, and which may move now. All results are texts for users; "" =
// the pod may move. Counts come from jobs (jobs.h); there is no other state.

#include <map>
#include <string>

#include "descheduler/migration/args.h"
#include "descheduler/migration/jobs.h"
#include "descheduler/migration/workloads.h"

namespace koord::descheduler {

class Gates {
 public:
  Gates(const MigrationControllerArgs& args, Handle& handle, const Jobs& jobs, Workloads& workloads)
      : args_(args), handle_(handle), jobs_(jobs), workloads_(workloads) {}

  // Which jobs count against the limits: all unfinished ones, or, for a job in arbitration, those
  // that have passed.
  enum class Counting { Open, Passed };
  // The namespaces of pods that move together, by uid; these do not count against each other.
  using MovingPods = std::map<std::string, std::string, std::less<>>;

  // Refuses if the pod has an unfinished job.
  std::string otherJob(const api::Pod& pod) const;
  // Refuses if the pod's scheduler does not support Reservations and the job would need one.
  std::string wrongScheduler(const api::Pod& pod) const;
  // Refusals that are permanent.
  std::string permanentDenial(const Pod& pod) const;
  // The reached limit, by the name of its argument, and the message; both "" if none is reached.
  struct Denial {
    const char* limit = "";
    std::string why;
  };
  // Checks limits, which may allow the pod later. A gang moves at once, so the limits must allow
  // all of it, and those of its workload do not apply.
  Denial temporaryDenial(const Pod& pod, Counting counting, const MovingPods& together = {}) const;

 private:
  bool counts(const api::PodMigrationJob& job, Counting counting) const;
  bool migrates(const api::Pod& pod, Counting counting) const;
  Denial globalLimit(const Pod& pod, Counting counting, const MovingPods& together) const;
  Denial nodeLimit(const Pod& pod, Counting counting, const MovingPods& together) const;
  Denial namespaceLimit(const Pod& pod, Counting counting, const MovingPods& together) const;
  Denial workloadLimit(const Pod& pod, Counting counting, const MovingPods& together) const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  const Jobs& jobs_;
  Workloads& workloads_;
};

}  // namespace koord::descheduler
