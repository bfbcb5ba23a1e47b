#pragma once

// WorkloadRecord: the history of a waiting workload, and the events of it that raise an alert.
//
// It has two clocks. The preemption clock runs from the choice of victims (preemptNominated) until
// all of them are gone (victimAllDeleted) or another event ends it: another preemption, a failure,
// success. The workload should be tried soon after, and that time is measured, too. The attempt
// clock starts when the workload may be tried (create, admissionPassed, gangMinMemberSatisfied) and
// measures the time between events. It stops while scheduling gates hold the workload back.
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
  // minimum: of a gang group; 0 = a pod.
  WorkloadRecord(const AuditContext& context, std::string key, std::int64_t minimum,
                 AuditMetrics::Values labels);

  void add(WorkloadEvent event, const std::string& message);
  // Adds an event if the value changes.
  void setGated(bool gated);
  // The workload is dropped.
  void finish(std::string_view outcome);

  // An attempt begins. A failure is recorded only if the attempt has recorded no other result.
  void attempted() { ++attempts_; }
  bool reportedInThisAttempt() const { return reportedIn_ >= attempts_; }
  void noteReported() { reportedIn_ = attempts_; }

  // Uids of its victims.
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
  std::int64_t reportedIn_ = 0;
  bool gated_ = false;
  std::optional<SteadyTime> nominatedAt_;  // set while a preemption is running
  bool invalidated_ = false;               // the preemption was ended by another event
  std::int64_t retries_ = 0;               // attempts in it that found terminating victims
  std::optional<SteadyTime> victimsGoneAt_;
  std::optional<SteadyTime> lastEvent_;
};

}  // namespace koord::scheduler
