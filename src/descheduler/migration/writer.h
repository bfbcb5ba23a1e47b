#pragma once

// Writes of the controller, each conditional on the version that was read: after another client's
// change it fails with a conflict, and the job is reconciled again.

#include "descheduler/framework/handle.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class JobWriter {
 public:
  JobWriter(Handle& handle, Jobs& jobs) : handle_(handle), jobs_(jobs) {}

  // Returns the new state of the job.
  Task<Result<JobPtr>> create(json::object job);
  // `patch`: of metadata and spec.
  Task<Result<JobPtr>> change(JobPtr job, json::object patch);
  Task<Result<JobPtr>> setStatus(JobPtr job, api::PodMigrationJobStatus status);
  // Writes an event of the job.
  void recordEvent(const api::PodMigrationJob& job, std::string_view type, std::string_view reason,
                   std::string message);

 private:
  Task<Result<JobPtr>> keep(Task<Result<json::value>> writing);

  Handle& handle_;
  Jobs& jobs_;
};

}  // namespace koord::descheduler
