// The scheduler's calls of WorkloadAudit (framework/audit.h) that take more than a line.

#include "scheduler/core/preemption_note.h"

namespace koord::scheduler {

void Scheduler::startAudit() {
  WorkloadAudit* const audit = options_.audit;
  if (!audit) return;
  shared_.audit = audit;
  shared_.states.of<AuditSlot>([audit] { return std::make_unique<AuditSlot>(AuditSlot{audit}); });
  audit->groupOf = [this](const PodInfo& pod) -> std::string {
    const auto profile = profiles_.find(pod.pod->spec.schedulerName);
    const GroupPlugin* groups =
        profile == profiles_.end() ? nullptr : profile->second->profile().groups;
    const std::string group = groups ? groups->groupOf(pod) : std::string();
    return group.empty() ? group : groups->nameOf(group);
  };
}

// Not a failure for a pod that may not preempt, or that needs no victims.
void Scheduler::note(PreemptionNote& note, const PodInfo& pod,
                     const PostFilterResult& answer) const {
  if (!shared_.audit || !answer.victims || pod.pod->spec.preemptionPolicy == "Never") return;
  if (*answer.victims == 0 && pod.kind && !pod.kind->preemptionBlockedReason(pod).empty()) return;
  // A pod that keeps its nomination waits for victims there.
  const bool waits = !answer.nomination.override && !shared_.nominator.nodeOf(pod.uid()).empty();
  const PreemptionOutcome outcome = *answer.victims > 0 ? PreemptionOutcome::Nominated
                                    : waits             ? PreemptionOutcome::VictimsTerminating
                                                        : PreemptionOutcome::Failed;
  const bool helped = outcome == PreemptionOutcome::Failed && !answer.nomination.node.empty();
  if (helped || (note.outcome && *note.outcome > outcome)) return;
  note.outcome = outcome;
  note.message =
      outcome == PreemptionOutcome::Nominated ? answer.nomination.node : answer.status.message();
}

void Scheduler::auditPreemption(const PreemptionNote& note, const PodInfo& pod) const {
  if (note.outcome) shared_.audit->preempted(pod, *note.outcome, note.message);
}

}  // namespace koord::scheduler
