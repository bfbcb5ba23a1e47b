#pragma once

// Makes a pod leave its node, as its policy says: by the Eviction API, by deleting it, or by asking whoever runs it
// to do so (soft eviction). At most so many a second in all.

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

  // The pod's label, else the job's, else the default; a name that nobody knows is the default, too.
  std::string policyOf(const api::PodMigrationJob& job, const api::Pod& pod) const;
  // How long until a pod may be evicted; 0 = now, and the next one has to wait.
  Duration takeToken();
  // Only this incarnation of the pod. Counts, logs and tells of it.
  Task<Result<>> evict(JobPtr job, std::shared_ptr<const api::Pod> pod);
  // Takes back what a soft eviction asked for.
  Task<Result<>> takeBack(api::ObjectKey pod, std::string uid);

 private:
  Task<Result<>> carryOut(JobPtr job, std::shared_ptr<const api::Pod> pod, std::string policy);
  Task<Result<>> askToLeave(JobPtr job, std::shared_ptr<const api::Pod> pod);
  json::object deleteOptionsOf(const api::PodMigrationJob& job, const api::Pod& pod) const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  double tokens_;
  SteadyTime refilled_{};
};

// Whether somebody was asked to make it leave.
bool isSoftEvicted(const api::Pod& pod);

}  // namespace koord::descheduler
