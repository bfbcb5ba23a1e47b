#include "scheduler/auditor/auditor.h"

#include "base/log.h"
#include "model/priority.h"

namespace koord::scheduler {

// Reports how long a call took, under upstream's name for it.
class Auditor::Timed {
 public:
  Timed(const AuditContext& context, std::string_view method)
      : context_(context), method_(method), since_(context.clock.steadyNow()) {}
  ~Timed() { context_.metrics->recordLatency(method_, context_.clock.steadyNow() - since_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  const AuditContext& context_;
  const std::string_view method_;
  const SteadyTime since_;
};

Auditor::Auditor(const Clock& clock, AuditOptions options,
                 std::function<void(const std::string&)> alert)
    : options_(std::move(options)),
      metrics_(std::make_unique<AuditMetrics>(options_.labels)),
      context_{clock, options_, metrics_.get(), std::move(alert)} {
  if (!context_.alert)
    context_.alert = [](const std::string& text) { log::info("workloadauditor: ALERT: {}", text); };
}

void Auditor::resetMetrics() {
  metrics_ = std::make_unique<AuditMetrics>(options_.labels);
  context_.metrics = metrics_.get();
}

std::string Auditor::podKey(const PodInfo& pod) {
  return pod.key() + "/" + pod.uid();
}

std::string Auditor::keyOf(const PodInfo& pod) const {
  std::string group = groupOf ? groupOf(pod) : std::string();
  return group.empty() ? podKey(pod) : group;
}

WorkloadRecord* Auditor::find(const std::string& key) {
  const auto it = records_.find(key);
  return it == records_.end() ? nullptr : &it->second;
}

WorkloadRecord& Auditor::recordOf(const std::string& key, std::int64_t minimum,
                                  const PodInfo& pod) {
  if (WorkloadRecord* known = find(key)) return *known;
  AuditMetrics::Values values{std::string(model::textOf(model::rawPriorityClass(*pod.pod)))};
  for (const AuditLabel& label : options_.labels) {
    const std::string* value = api::findIn(pod.pod->metadata.labels, label.podLabel);
    values.push_back(value ? *value : "");
  }
  return records_.try_emplace(key, context_, key, minimum, std::move(values)).first->second;
}

void Auditor::drop(const std::string& key, std::string_view outcome) {
  const auto it = records_.find(key);
  if (it == records_.end()) return;
  it->second.finish(outcome);
  for (const std::string& victim : it->second.victims) {
    const auto waiting = waitedFor_.find(victim);
    if (waiting == waitedFor_.end()) continue;
    waiting->second.erase(key);
    if (waiting->second.empty()) waitedFor_.erase(waiting);
  }
  records_.erase(it);
}

void Auditor::onPod(const PodInfo& pod) {
  const std::string key = podKey(pod);
  if (!alone(pod)) return drop(key, "deleted");  // it has joined a group
  const Timed timed(context_, find(key) ? "RecordPodGating" : "AddPod");
  recordOf(key, 0, pod).setGated(!pod.pod->spec.schedulingGates.empty());
}

void Auditor::onPodDeleted(const PodInfo& pod) {
  if (!alone(pod)) return;
  const Timed timed(context_, "DeletePod");
  drop(podKey(pod), "deleted");
}

void Auditor::attempted(const PodInfo& pod) {
  if (!alone(pod)) return;
  const Timed timed(context_, "RecordAttemptPod");
  if (WorkloadRecord* record = find(keyOf(pod))) record->attempted();
}

void Auditor::failed(const PodInfo& pod, const std::string& why) {
  if (!alone(pod)) return;
  const Timed timed(context_, "RecordPodScheduleResult");
  WorkloadRecord* record = find(keyOf(pod));
  if (!record || record->reportedInThisAttempt()) return;
  record->noteReported();
  record->add(WorkloadEvent::ScheduleFailure, why);
}

void Auditor::scheduled(const PodInfo& pod, const std::string& node) {
  if (!alone(pod)) return;
  const Timed timed(context_, "RecordPodScheduleResult");
  const std::string key = podKey(pod);
  WorkloadRecord* record = find(key);
  if (!record) return;
  record->add(WorkloadEvent::Scheduled, node);
  drop(key, "scheduled");
}

void Auditor::preempted(const PodInfo& pod, PreemptionOutcome outcome, const std::string& why) {
  const Timed timed(context_, "RecordDiagnosis");
  WorkloadRecord* record = find(keyOf(pod));
  if (!record) return;
  record->noteReported();
  record->add(outcome == PreemptionOutcome::Nominated ? WorkloadEvent::PreemptNominated
              : outcome == PreemptionOutcome::VictimsTerminating
                  ? WorkloadEvent::PreemptVictimDeleting
                  : WorkloadEvent::PreemptFailure,
              why);
}

void Auditor::victims(const PodInfo& preemptor, std::span<const PodPtr> victims) {
  const std::string key = keyOf(preemptor);
  WorkloadRecord* record = find(key);
  if (!record) return;
  for (const PodPtr& victim : victims) {
    record->victims.insert(victim->uid());
    waitedFor_[victim->uid()].insert(key);
  }
}

void Auditor::podForgotten(const std::string& uid) {
  const auto waiting = waitedFor_.find(uid);
  if (waiting == waitedFor_.end()) return;
  const std::set<std::string> keys = std::move(waiting->second);
  waitedFor_.erase(waiting);
  for (const std::string& key : keys) {
    WorkloadRecord* record = find(key);
    if (!record) continue;
    record->victims.erase(uid);
    if (record->victims.empty()) record->add(WorkloadEvent::VictimAllDeleted, "");
  }
}

void Auditor::onGroup(const std::string& group, const GroupSeen& seen) {
  const Timed timed(context_, find(group) ? "RecordGangGating" : "AddGangGroup");
  recordOf(group, seen.minimum, seen.member).setGated(seen.held);
}

void Auditor::groupCompleted(const std::string& group, const std::string& gang) {
  const Timed timed(context_, "RecordGangGroup");
  if (WorkloadRecord* record = find(group))
    record->add(WorkloadEvent::GangMinMemberSatisfied, gang);
}

void Auditor::groupAttempted(const std::string& group) {
  if (WorkloadRecord* record = find(group)) record->attempted();
}

void Auditor::groupFailed(const std::string& group) {
  const Timed timed(context_, "RecordGangScheduleResult");
  WorkloadRecord* record = find(group);
  if (!record || record->reportedInThisAttempt()) return;
  record->noteReported();
  record->add(WorkloadEvent::GangAllPodsAlreadyAttempted, "");
}

void Auditor::groupScheduled(const std::string& group) {
  const Timed timed(context_, "RecordGangScheduleResult");
  WorkloadRecord* record = find(group);
  if (!record) return;
  record->add(WorkloadEvent::Scheduled, "");
  drop(group, "gangScheduled");
}

void Auditor::onGroupDeleted(const std::string& group) {
  const Timed timed(context_, "DeleteGangGroup");
  drop(group, "gangDeleted");
}

}  // namespace koord::scheduler
