#pragma once

// WorkloadRecord: what is remembered of a workload that waits, and which of its events are worth an
// alert.
//
// Two clocks run on it. One is that of a preemption, from the choice of victims (preemptNominated)
// until all of them are gone (victimAllDeleted) or something comes between: another preemption, a
// failure, success. Then the workload should be tried soon, which is the second thing to be measured.
// The other clock is that of attempts: from the moment when the workload may be tried (create,
// admissionPassed, gangMinMemberSatisfied) each event is timed from the one before; while gates hold
// it back it stands still.
//
// The rules, and the words of alerts, are those of upstream's workloadauditor. An event costs a few
// comparisons and one or two observations.

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "scheduler/auditor/audit_metrics.h"

namespace koord::scheduler {

enum class WorkloadEvent {
  Create,
  GatedByQueueAdmission,
  AdmissionPassed,
  GangMinMemberSatisfied,
  Scheduled,
  ScheduleFailure,
  PreemptNominated,
  PreemptVictimDeleting,
  PreemptFailure,
  GangAllPodsAlreadyAttempted,
  VictimAllDeleted,
};
inline constexpr std::size_t kWorkloadEvents = 11;
std::string_view nameOf(WorkloadEvent event);

struct AuditContext {
  const Clock& clock;
  const AuditOptions& options;
  AuditMetrics* metrics;
  std::function<void(const std::string&)> alert;
};

class WorkloadRecord {
 public:
  // minimum: of a gang group, 0 = a pod.
  WorkloadRecord(const AuditContext& context, std::string key, std::int64_t minimum,
                 AuditMetrics::Values labels);

  void add(WorkloadEvent event, const std::string& message);
  // Says so when that changes.
  void setGated(bool gated);
  // The workload is no more looked at.
  void finish(std::string_view outcome);

  // An attempt begins. Failures of one that has said something already are not added.
  void attempted() { ++attempts_; }
  bool saidInThisAttempt() const { return saidIn_ >= attempts_; }
  void noteSaid() { saidIn_ = attempts_; }

  // Uids of those that leave for it.
  std::set<std::string> victims;

 private:
  std::int64_t count(WorkloadEvent event) const { return counts_[static_cast<std::size_t>(event)]; }
  void nominated(const std::string& message);
  void invalidate(WorkloadEvent by, const std::string& message);
  void noteResult(WorkloadEvent event, const std::string& message);
  void endPreemption(WorkloadEvent by, const std::string& message);
  void noteInterval(WorkloadEvent event, const std::string& message);
  std::string described() const;

  const AuditContext& context_;
  const std::string key_;
  const std::int64_t minimum_;
  const AuditMetrics::Values labels_;
  std::array<std::int64_t, kWorkloadEvents> counts_{};
  std::int64_t attempts_ = 0;
  std::int64_t saidIn_ = 0;
  bool gated_ = false;
  std::optional<SteadyTime> nominatedAt_;  // a preemption is under way
  bool invalidated_ = false;               // what it came to
  std::int64_t retries_ = 0;               // in it, of attempts that found victims leaving
  std::optional<SteadyTime> victimsGoneAt_;
  std::optional<SteadyTime> lastEvent_;
};

}  // namespace koord::scheduler
