#pragma once

// Units: what the scheduler queues and places. Nearly all are Pods of the API. Some other objects
// are scheduled as if they were pods: a Reservation reserves resources on a node for future pods.
// Their plugin makes a pod of them in memory, adds it to the scheduler (UnitFeed), and provides a
// UnitKind that finds, reports, evicts and names the object behind it. The code between queue and
// binding treats all units alike.
//
//   binding    by a Bind plugin, which knows its own kind by PodInfo::kind
//   counting   by the Cluster, as a pod with the unit's uid

#include <memory>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/result.h"
#include "base/task.h"
#include "scheduler/engine/pod_info.h"

namespace koord::scheduler {

// A failed attempt, as it is written to the unit's object.
struct FailureReport {
  std::string reason;  // "Unschedulable", "SchedulerError"
  std::string message;
  // The nominated node; "" clears the nomination; absent leaves it as it is.
  std::optional<std::string> nominatedNode;
};

// Where a unit is according to the API. Read after a binding with an unknown result.
struct PodLocation {
  enum class Kind { Bound, Unbound, Gone } kind = Kind::Unbound;
  std::string node;                         // of Bound
  std::shared_ptr<const api::Pod> current;  // of Bound: the object that the informer will deliver
};

class UnitKind {
 public:
  virtual ~UnitKind() = default;
  // The regarding object of events about the unit.
  virtual api::ObjectReference reference(const PodInfo& unit) const = 0;
  // The unit's name for users.
  virtual std::string nameOf(const PodInfo& unit) const { return unit.key(); }
  // Returns true if preemption may evict it.
  virtual bool mayBeEvicted(const PodInfo& /*unit*/) const { return true; }
  // Why the unit may not preempt, whatever its priority; "" if it may.
  virtual std::string preemptionBlockedReason(const PodInfo& /*unit*/) const { return {}; }
  // Fails if the API server cannot answer.
  virtual Task<Result<PodLocation>> find(PodPtr unit) = 0;
  // Writes to the object that no node was found. Writes nothing if the object has the same report
  // already.
  virtual Task<void> report(PodPtr unit, FailureReport failure) = 0;
  // Writes the unit's node to the object before a slow binding; "" clears it.
  virtual Task<void> announce(PodPtr unit, std::string node) = 0;
  // Adds annotations in a separate write, before the unit is bound.
  virtual Task<Result<>> annotate(PodPtr unit, api::StringMap annotations) = 0;
  // Evicts the unit for the preemptor. Returns false if that failed, and logs it. True if the unit
  // is already gone.
  virtual Task<bool> evict(PodPtr unit, PodPtr preemptor) = 0;
};

// The entry for units that are not Pods. The pod in memory names its node once the object behind it
// is bound; its uid is the object's. Repeated calls with the same object are harmless.
class UnitFeed {
 public:
  using Object = std::shared_ptr<const api::Pod>;
  virtual ~UnitFeed() = default;
  virtual void added(const Object& unit, UnitKind& kind) = 0;
  virtual void updated(const Object& before, const Object& after, UnitKind& kind) = 0;
  virtual void removed(const Object& last) = 0;
};

}  // namespace koord::scheduler
