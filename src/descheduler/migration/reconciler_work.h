#pragma once

// A job in one pass of the Reconciler.

#include "api/reservation.h"
#include "descheduler/migration/reconciler.h"

namespace koord::descheduler {

struct Reconciler::Work {
  explicit Work(JobPtr from) : job(std::move(from)), status(job->status) {}

  JobPtr job;
  api::PodMigrationJobStatus status;  // the job's status with the changes of this pass
  bool changed = false;
  WallTime now{};
  std::shared_ptr<const api::Reservation> reservation;

  const std::string& name() const { return job->metadata.name; }
  std::string podText() const { return "\"" + podKeyOf(*job).toString() + "\""; }
  bool evictsDirectly(const MigrationControllerArgs& args) const {
    return (job->spec.mode.empty() ? args.defaultJobMode : job->spec.mode.view()) ==
           "EvictDirectly";
  }
  // Returns true if the status changed and must be written.
  bool set(const char* type, bool isTrue, std::string reason, std::string message) {
    const bool differs =
        setCondition(status, type, isTrue, std::move(reason), std::move(message), now);
    changed |= differs;
    return differs;
  }
  std::string reservationName() const {
    const auto& options = job->spec.reservationOptions;
    return options && options->reservationRef ? options->reservationRef->name : std::string();
  }
};

}  // namespace koord::descheduler
