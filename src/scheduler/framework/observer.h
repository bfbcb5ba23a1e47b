#pragma once

// Observer: what the scheduler tells those who count (metrics), and how it takes the time that
// things take. Every call is optional to handle.

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
  // result: scheduled, unschedulable, error. For scheduled pods once they are bound.
  virtual void attempt(std::string_view /*result*/, const std::string& /*profile*/,
                       Duration /*took*/) {}
  virtual void algorithm(Duration /*took*/) {}
  // All plugins of an extension point together: "PreFilter", "Filter", ...
  virtual void extensionPoint(std::string_view /*point*/, Code /*code*/,
                              const std::string& /*profile*/, Duration /*took*/) {}
  // One plugin, in the attempts of which samples are taken.
  virtual void plugin(const std::string& /*plugin*/, std::string_view /*point*/, Code /*code*/,
                      Duration /*took*/) {}
  // A plugin was asked at PreFilter, Filter, PreScore or Score, in any attempt.
  virtual void evaluated(const std::string& /*plugin*/, std::string_view /*point*/,
                         const std::string& /*profile*/) {}
  virtual void bound(const QueuedPod& /*pod*/, Duration /*sinceFirstReady*/) {}
  virtual void searched(std::size_t /*evaluated*/, std::size_t /*feasible*/) {}
  virtual void incoming(std::string_view /*queue*/, const std::string& /*event*/) {}
  // The scheduler has dealt with something that happened in the cluster.
  virtual void handled(const ClusterEvent& /*event*/, Duration /*took*/) {}
  virtual void hint(const std::string& /*plugin*/, const ClusterEvent& /*event*/, Hint /*hint*/,
                    Duration /*took*/) {}
  // A group of so many pods was tried: what came of it.
  virtual void groupCycle(std::string_view /*reason*/, std::size_t /*pods*/, Duration /*took*/) {}
  // ... of which this one member took so long, or all that went to one node.
  virtual void memberTried(Duration /*took*/) {}
  virtual void nodeTried(Duration /*took*/) {}
  // So many members had a place that was taken back, because others had none, or were not permitted.
  virtual void groupTakenBack(bool /*permitted*/, std::size_t /*pods*/) {}
  // A member of a group was not bound: WaitOnPermit, PreBind or Bind failed.
  virtual void memberNotBound(std::string_view /*phase*/) {}
  // All members that were placed together have been bound, or not.
  virtual void groupBound(std::size_t /*bound*/, std::size_t /*failed*/) {}
  // Room was to be made for a whole group: in a word what came of it.
  virtual void jobPreempted(const std::string& /*job*/, std::string_view /*result*/,
                            Duration /*took*/) {}
  // The others of a group were taken out of the queue.
  virtual void groupGathered(Duration /*took*/) {}
  virtual void permitWait(Code /*code*/, Duration /*took*/) {}
  virtual void preemption(std::size_t /*victims*/) {}
  // The victims of one preemption have been told to leave, or could not be.
  virtual void evicted(bool /*good*/, Duration /*took*/) {}
  // A plugin threw an exception.
  virtual void threw(std::string_view /*plugin*/, std::string_view /*point*/) {}
  // The volumes of a pod could not be bound ("bind").
  virtual void volumesFailed(std::string_view /*stage*/) {}
  // An attempt to place a pod takes longer than it may. Once for each.
  virtual void timedOut(const std::string& /*profile*/) {}
  // A pod was counted on one node and seen on another.
  virtual void cacheCorrected() {}
  // What a ledger keeps of a node is not what the node's pods hold.
  virtual void drifted(std::string_view /*ledger*/) {}
};

}  // namespace koord::scheduler
