#pragma once

// Evicts a pod by its policy: by the Eviction API, by deletion, or by a request to the pod's owner
// (soft eviction). Limits the total rate.

#include <string>

#include "descheduler/framework/handle.h"
#include "descheduler/framework/metrics.h"
#include "descheduler/migration/args.h"
#include "descheduler/migration/job_status.h"

namespace koord::descheduler {

class PodEvictor {
 public:
  PodEvictor(const MigrationControllerArgs& args, Handle& handle)
      : args_(args), handle_(handle), tokens_(static_cast<double>(args.evictBurst)) {}

  // The policy of the pod's label, else the job's, else the default; also the default for unknown
  // names.
  std::string policyOf(const api::PodMigrationJob& job, const api::Pod& pod) const;
  // The time until a pod may be evicted; 0 = now, and the token is taken.
  Duration takeToken();
  // Evicts only the pod with this uid. Counts and logs the eviction and writes an event.
  Task<Result<>> evict(JobPtr job, std::shared_ptr<const api::Pod> pod);
  // Reverts a soft eviction's request.
  Task<Result<>> revert(api::ObjectKey pod, std::string uid);

 private:
  Task<Result<>> evictByPolicy(JobPtr job, std::shared_ptr<const api::Pod> pod, std::string policy);
  Task<Result<>> requestEviction(JobPtr job, std::shared_ptr<const api::Pod> pod);
  json::object deleteOptionsOf(const api::PodMigrationJob& job, const api::Pod& pod) const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  double tokens_;
  SteadyTime refilled_{};
};

// Returns true if a soft eviction of the pod was requested.
bool isSoftEvicted(const api::Pod& pod);

}  // namespace koord::descheduler
