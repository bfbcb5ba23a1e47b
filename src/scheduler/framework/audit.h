#pragma once

// WorkloadAudit: who waits for a node, and what happens to them until they have one: pods that stand
// alone, and groups. The scheduler tells of it, the plugin of groups, and evictions; nobody does where
// nobody listens (scheduler/auditor), so that it costs nothing then.
//
// A pod of a group is not looked at by itself: what is told of it by podSeen() to scheduled() is
// nobody's, what preempted() and victims() tell is its group's. Groups go by the names that people know
// them by (GroupPlugin::nameOf). Calls about those that are not known change nothing.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/shared_states.h"

namespace koord::scheduler {

// What preemption has come to in an attempt; of several answers the last of these counts.
enum class PreemptionOutcome {
  Failed,          // nobody can be made to leave
  VictimsLeaving,  // those of an earlier attempt are still there
  Nominated,       // victims have been chosen
};

class WorkloadAudit {
 public:
  virtual ~WorkloadAudit() = default;

  // The group that a pod belongs to; "" = none. The scheduler says it.
  std::function<std::string(const PodInfo& pod)> groupOf;

  // It waits for a node, for the first time or changed (its scheduling gates).
  virtual void podSeen(const PodInfo& pod) = 0;
  // It waits no more: deleted, or bound by somebody else.
  virtual void podGone(const PodInfo& pod) = 0;
  virtual void attempted(const PodInfo& pod) = 0;
  virtual void failed(const PodInfo& pod, const std::string& why) = 0;
  virtual void scheduled(const PodInfo& pod, const std::string& node) = 0;

  // Before the attempt is told to have failed.
  virtual void preempted(const PodInfo& pod, PreemptionOutcome outcome, const std::string& why) = 0;
  // Before that: those who will leave for it, in one call or several.
  virtual void victims(const PodInfo& preemptor, std::span<const PodPtr> victims) = 0;
  // A pod, victim or not, that is on no node any more.
  virtual void podLeft(const std::string& uid) = 0;

  // Some members wait and none is placed. held: too few of them may be tried because of gates.
  struct GroupSeen {
    std::int64_t minimum = 0;
    bool held = false;
    const PodInfo& member;
  };
  virtual void groupSeen(const std::string& group, const GroupSeen& seen) = 0;
  // A gang of it has as many members as it needs by now.
  virtual void groupCompleted(const std::string& group, const std::string& gang) = 0;
  virtual void groupAttempted(const std::string& group) = 0;
  virtual void groupFailed(const std::string& group) = 0;
  virtual void groupScheduled(const std::string& group) = 0;
  // Nobody of it waits any more.
  virtual void groupGone(const std::string& group) = 0;
};

// Where plugins find it.
struct AuditSlot {
  WorkloadAudit* audit = nullptr;
};
// nullptr when nobody listens.
WorkloadAudit* auditOf(SharedStates& shared);

}  // namespace koord::scheduler
