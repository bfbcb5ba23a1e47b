#pragma once

// Observer: receives the scheduler's counts and durations, for metrics. All functions are optional
// to override.

#include <string>
#include <string_view>

#include "base/executor.h"
#include "scheduler/framework/events.h"
#include "scheduler/framework/queued_pod.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class Observer {
 public:
  virtual ~Observer() = default;
  // result: scheduled, unschedulable, error. Called for scheduled pods when they are bound.
  virtual void attempt(std::string_view /*result*/, const std::string& /*profile*/,
                       Duration /*took*/) {}
  virtual void algorithm(Duration /*took*/) {}
  // All plugins of an extension point together: "PreFilter", "Filter", ...
  virtual void extensionPoint(std::string_view /*point*/, Code /*code*/,
                              const std::string& /*profile*/, Duration /*took*/) {}
  // One plugin, in sampled attempts only.
  virtual void plugin(const std::string& /*plugin*/, std::string_view /*point*/, Code /*code*/,
                      Duration /*took*/) {}
  // A plugin ran at PreFilter, Filter, PreScore or Score, in any attempt.
  virtual void evaluated(const std::string& /*plugin*/, std::string_view /*point*/,
                         const std::string& /*profile*/) {}
  virtual void bound(const QueuedPod& /*pod*/, Duration /*sinceFirstReady*/) {}
  virtual void searched(std::size_t /*evaluated*/, std::size_t /*feasible*/) {}
  virtual void incoming(std::string_view /*queue*/, const std::string& /*event*/) {}
  // The scheduler has handled a cluster event.
  virtual void handled(const ClusterEvent& /*event*/, Duration /*took*/) {}
  virtual void hint(const std::string& /*plugin*/, const ClusterEvent& /*event*/, Hint /*hint*/,
                    Duration /*took*/) {}
  // A cycle for a group of that many pods ended with this reason.
  virtual void groupCycle(std::string_view /*reason*/, std::size_t /*pods*/, Duration /*took*/) {}
  // The time for one member of the group, and for all members on one node.
  virtual void memberTried(Duration /*took*/) {}
  virtual void nodeTried(Duration /*took*/) {}
  // That many placed members were reverted, because other members had no node or were not
  // permitted.
  virtual void groupReverted(bool /*permitted*/, std::size_t /*pods*/) {}
  // A member of a group was not bound: WaitOnPermit, PreBind or Bind failed.
  virtual void memberNotBound(std::string_view /*phase*/) {}
  // All members that were placed together have been bound or failed.
  virtual void groupBound(std::size_t /*bound*/, std::size_t /*failed*/) {}
  // Preemption for a whole group ended with this result.
  virtual void jobPreempted(const std::string& /*job*/, std::string_view /*result*/,
                            Duration /*took*/) {}
  // The other members of a group were taken out of the queue.
  virtual void groupGathered(Duration /*took*/) {}
  virtual void permitWait(Code /*code*/, Duration /*took*/) {}
  virtual void preemption(std::size_t /*victims*/) {}
  // The evictions of one preemption succeeded, or not.
  virtual void evicted(bool /*good*/, Duration /*took*/) {}
  // A plugin threw an exception.
  virtual void pluginThrew(std::string_view /*plugin*/, std::string_view /*point*/) {}
  // The volumes of a pod could not be bound ("bind").
  virtual void volumesFailed(std::string_view /*stage*/) {}
  // An attempt to place a pod exceeds its time limit. Called once per attempt.
  virtual void timedOut(const std::string& /*profile*/) {}
  // A pod was assumed on one node and observed on another.
  virtual void cacheCorrected() {}
  // What a ledger keeps for a node differs from what the node's pods hold.
  virtual void drifted(std::string_view /*ledger*/) {}
};

}  // namespace koord::scheduler
