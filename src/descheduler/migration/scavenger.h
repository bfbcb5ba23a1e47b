#pragma once

// Scavenger: deletes jobs some time after their end or TTL, with their Reservations.

#include "descheduler/framework/handle.h"
#include "descheduler/migration/args.h"
#include "descheduler/migration/jobs.h"

namespace koord::descheduler {

class Scavenger {
 public:
  Scavenger(const MigrationControllerArgs& args, Handle& handle, Jobs& jobs)
      : args_(args), handle_(handle), jobs_(jobs) {}

  void start() { tasks_.spawn(runForever()); }

 private:
  Task<void> runForever();
  Task<Result<>> sweep();
  // The lifetime of a job. At least the noReturnPeriod of its pod.
  Duration lifeOf(const api::PodMigrationJob& job) const;

  const MigrationControllerArgs& args_;
  Handle& handle_;
  Jobs& jobs_;
  TaskGroup tasks_;
};

}  // namespace koord::descheduler
