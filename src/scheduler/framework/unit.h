#pragma once

// Units: what is queued and placed. Nearly always that is a Pod of the API. But some objects are
// scheduled as if they were pods: a Reservation takes room on a node for pods that are still to
// come. Their plugin makes a pod of them in memory, hands it to the scheduler (UnitFeed), and says
// through a UnitKind how to find, report, evict and name what stands behind it. Everything between
// queue and binding treats all units alike.
//
//   who binds a unit   a Bind plugin, which knows its own kind by PodInfo::kind
//   who counts it      the Cluster, as a pod with the unit's uid

#include <memory>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/result.h"
#include "base/task.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// A failed attempt, as it is written down with the unit.
struct FailureReport {
  std::string reason;  // "Unschedulable", "SchedulerError"
  std::string message;
  // The node that it is promised, "" to take a promise back; absent: as before.
  std::optional<std::string> nominatedNode;
};

// Where a unit is according to the API, asked after a binding that may or may not have succeeded.
struct PodLocation {
  enum class Kind { Bound, Unbound, Gone } kind = Kind::Unbound;
  std::string node;                         // of Bound
  std::shared_ptr<const api::Pod> current;  // of Bound: what the feed will show
};

class UnitKind {
 public:
  virtual ~UnitKind() = default;
  // What events about the unit are about.
  virtual api::ObjectReference reference(const PodInfo& unit) const = 0;
  // As people know it.
  virtual std::string nameOf(const PodInfo& unit) const { return unit.key(); }
  // Whether preemption may send it away.
  virtual bool mayBeEvicted(const PodInfo& /*unit*/) const { return true; }
  // Why it makes nobody leave for it, whatever its priority; "" when it may.
  virtual std::string mayNotPreempt(const PodInfo& /*unit*/) const { return {}; }
  // An error when the API could not tell.
  virtual Task<Result<PodLocation>> find(PodPtr unit) = 0;
  // Writes down that no place was found. Nothing is written when the object says the same already.
  virtual Task<void> report(PodPtr unit, FailureReport failure) = 0;
  // Writes down which node the unit is for, because binding will take its time; "" takes that back.
  virtual Task<void> announce(PodPtr unit, std::string node) = 0;
  // Adds annotations to the object in a write of their own; they belong on it before it is bound.
  virtual Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) = 0;
  // Makes it leave its node for another; false when that failed (which was logged). A unit that is
  // gone has left.
  virtual Task<bool> evict(PodPtr unit, PodPtr preemptor) = 0;
};

// How units that are not Pods come to the scheduler. The pod in memory names its node once the
// object behind it is bound; its uid is the object's. Calls with the same object twice are
// harmless.
class UnitFeed {
 public:
  using Object = std::shared_ptr<const api::Pod>;
  virtual ~UnitFeed() = default;
  virtual void added(const Object& unit, UnitKind& kind) = 0;
  virtual void updated(const Object& before, const Object& after, UnitKind& kind) = 0;
  virtual void removed(const Object& last) = 0;
};

}  // namespace koord::scheduler
