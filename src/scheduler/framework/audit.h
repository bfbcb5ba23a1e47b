#pragma once

// WorkloadAudit: receives the scheduling history of workloads, which are single pods and groups,
// until they have a node. The scheduler, the group plugin and evictions call it. Without the
// auditor (scheduler/auditor) there is none, and it costs nothing.
//
// Pods of a group are not tracked by themselves: their onPod() to scheduled() are ignored;
// preempted() and victims() count for the group. Groups are identified by their user-visible names
// (GroupPlugin::nameOf). Calls for unknown workloads have no effect.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/shared_states.h"

namespace koord::scheduler {

// The result of preemption in an attempt; if there are several, the last in this list counts.
enum class PreemptionOutcome {
  Failed,              // no victims were found
  VictimsTerminating,  // victims of an earlier attempt are still terminating
  Nominated,           // victims have been chosen
};

class WorkloadAudit {
 public:
  virtual ~WorkloadAudit() = default;

  // The group of a pod; "" = none. Set by the scheduler.
  std::function<std::string(const PodInfo& pod)> groupOf;

  // The pod waits for a node, for the first time or with changed scheduling gates.
  virtual void onPod(const PodInfo& pod) = 0;
  // The pod stopped waiting: it was deleted, or another scheduler bound it.
  virtual void onPodDeleted(const PodInfo& pod) = 0;
  virtual void attempted(const PodInfo& pod) = 0;
  virtual void failed(const PodInfo& pod, const std::string& why) = 0;
  virtual void scheduled(const PodInfo& pod, const std::string& node) = 0;

  // Called before failed() of the same attempt.
  virtual void preempted(const PodInfo& pod, PreemptionOutcome outcome, const std::string& why) = 0;
  // Called before preempted(), once or several times, with the victims.
  virtual void victims(const PodInfo& preemptor, std::span<const PodPtr> victims) = 0;
  // A pod, victim or not, has left its node.
  virtual void podForgotten(const std::string& uid) = 0;

  // Some members wait and none is placed. held: scheduling gates block too many members.
  struct GroupSeen {
    std::int64_t minimum = 0;
    bool held = false;
    const PodInfo& member;
  };
  virtual void onGroup(const std::string& group, const GroupSeen& seen) = 0;
  // A gang of the group has reached its minimum number of members.
  virtual void groupCompleted(const std::string& group, const std::string& gang) = 0;
  virtual void groupAttempted(const std::string& group) = 0;
  virtual void groupFailed(const std::string& group) = 0;
  virtual void groupScheduled(const std::string& group) = 0;
  // No member waits.
  virtual void onGroupDeleted(const std::string& group) = 0;
};

// Where plugins find the audit.
struct AuditSlot {
  WorkloadAudit* audit = nullptr;
};
// nullptr if there is no auditor.
WorkloadAudit* auditOf(SharedStates& shared);

}  // namespace koord::scheduler
