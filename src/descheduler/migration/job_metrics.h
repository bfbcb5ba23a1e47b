#pragma once

// Metrics of PodMigrationJobs: their number by phase, their duration, the number that wait for
// arbitration, and the limits that block pods. Jobs that finished before this process became the
// leader count as existing, but not as finished ones.

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

  // A Jobs::Observer: `before` is nullptr for a new job, `after` for a deleted one.
  void changed(const JobPtr& before, const JobPtr& after);
  // Counts a pod or job that must wait because this limit is reached. `limit`: the name of its
  // argument.
  void denied(const std::string& limit);

 private:
  struct Families;
  void count(const api::PodMigrationJob& job, double sign);
  void ended(const api::PodMigrationJob& job);

  const Clock& clock_;
  std::unique_ptr<Families> families_;
};

}  // namespace koord::descheduler
