#pragma once

// Auditor: tracks every workload from when it waits for a node until it has one, and raises alerts
// for what takes too long or happens too often: preemption without result, victims that do not
// terminate, pods that are not tried (--enable-workload-auditor).
//
//   Auditor auditor(executor, options);
//   schedulerOptions.audit = &auditor;
//   auditor.metrics();     // scheduler_workload_auditor_...
//
// One record per pod without a group (namespace/name/uid) or gang group (its gangs' names). Alerts
// are log lines that begin with "workloadauditor: ALERT:".

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "scheduler/auditor/workload_record.h"
#include "scheduler/framework/audit.h"

namespace koord::scheduler {

class Auditor final : public WorkloadAudit {
 public:
  // The clock must outlive it. alert: receives alerts instead of the log.
  Auditor(const Clock& clock, AuditOptions options,
          std::function<void(const std::string&)> alert = {});
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  void onPod(const PodInfo& pod) override;
  void onPodDeleted(const PodInfo& pod) override;
  void attempted(const PodInfo& pod) override;
  void failed(const PodInfo& pod, const std::string& why) override;
  void scheduled(const PodInfo& pod, const std::string& node) override;
  void preempted(const PodInfo& pod, PreemptionOutcome outcome, const std::string& why) override;
  void victims(const PodInfo& preemptor, std::span<const PodPtr> victims) override;
  void podForgotten(const std::string& uid) override;
  void onGroup(const std::string& group, const GroupSeen& seen) override;
  void groupCompleted(const std::string& group, const std::string& gang) override;
  void groupAttempted(const std::string& group) override;
  void groupFailed(const std::string& group) override;
  void groupScheduled(const std::string& group) override;
  void onGroupDeleted(const std::string& group) override;

  std::string metrics() const { return metrics_->text(); }
  // Resets all counts.
  void resetMetrics();
  std::size_t workloads() const { return records_.size(); }

 private:
  class Timed;

  // The key of a pod itself, and of the workload that it is or belongs to.
  static std::string podKey(const PodInfo& pod);
  std::string keyOf(const PodInfo& pod) const;
  bool alone(const PodInfo& pod) const { return !groupOf || groupOf(pod).empty(); }
  WorkloadRecord* find(const std::string& key);
  WorkloadRecord& recordOf(const std::string& key, std::int64_t minimum, const PodInfo& pod);
  void drop(const std::string& key, std::string_view outcome);

  const AuditOptions options_;
  std::unique_ptr<AuditMetrics> metrics_;
  AuditContext context_;
  std::unordered_map<std::string, WorkloadRecord> records_;
  std::unordered_map<std::string, std::set<std::string>> waitedFor_;  // keys, by victim's uid
};

}  // namespace koord::scheduler
