#pragma once

// What becomes of PodMigrationJobs, as metrics: how many there are by phase, how long they took, how many wait to be
// let through, and which limits keep pods where they are. Jobs that were over before this process began to lead
// are counted among those that there are, and not among those that ended.

#include <prometheus/registry.h>

#include <map>
#include <string>

#include "base/executor.h"
#include "descheduler/migration/job_status.h"

namespace koord::descheduler {

class JobMetrics {
 public:
  // Both must outlive it.
  JobMetrics(prometheus::Registry& registry, const Clock& clock);
  ~JobMetrics();

  // As Jobs::Observer: either is nullptr where the job came or went.
  void changed(const JobPtr& before, const JobPtr& after);
  // A pod stays for now, or a job waits, since this limit is reached: the argument that says it.
  void denied(const std::string& limit);

 private:
  struct Families;
  void count(const api::PodMigrationJob& job, double sign);
  void ended(const api::PodMigrationJob& job);

  const Clock& clock_;
  std::unique_ptr<Families> families_;
};

}  // namespace koord::descheduler
