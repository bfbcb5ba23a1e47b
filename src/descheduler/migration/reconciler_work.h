#pragma once

// A job in one pass of the Reconciler, and what its steps decide.

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

// Steps decide, Reconciler::run acts: it takes the next step, ends the pass, or ends the job.
class Reconciler::Outcome {
 public:
  enum class Kind { Proceed, Wait, Failed, Succeeded };

  static Outcome proceed() { return Outcome(Kind::Proceed, "", "", false); }
  // Ends the pass. A change of an object or a timer starts the next one.
  static Outcome wait() { return Outcome(Kind::Wait, "", "", false); }
  static Outcome failed(std::string reason, std::string message) {
    return Outcome(Kind::Failed, std::move(reason), std::move(message), true);
  }
  static Outcome succeeded(std::string message) {
    return Outcome(Kind::Succeeded, "", std::move(message), true);
  }
  // For an end whose event has already been recorded, or that only the status reports.
  Outcome withoutEvent() && {
    recordsEvent_ = false;
    return std::move(*this);
  }

  Kind kind() const { return kind_; }
  bool proceeds() const { return kind_ == Kind::Proceed; }
  const std::string& reason() const { return reason_; }  // "" if not Failed
  const std::string& message() const { return message_; }
  bool recordsEvent() const { return recordsEvent_; }

 private:
  Outcome(Kind kind, std::string reason, std::string message, bool recordsEvent)
      : kind_(kind),
        reason_(std::move(reason)),
        message_(std::move(message)),
        recordsEvent_(recordsEvent) {}

  Kind kind_;
  std::string reason_, message_;
  bool recordsEvent_;
};

}  // namespace koord::descheduler
