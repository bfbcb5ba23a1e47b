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
  // The volumes of a pod could not be bound ("bind").
  virtual void volumesFailed(std::string_view /*stage*/) {}
  // An attempt to place a pod takes longer than it may. Once for each.
  virtual void timedOut(const std::string& /*profile*/) {}
  // A pod was counted on one node and seen on another.
  virtual void cacheCorrected() {}
  // What a ledger keeps of a node is not what the node's pods hold.
  virtual void drifted(std::string_view /*ledger*/) {}
};

// Takes the times of one attempt's extension points and, if it is a sample, of its plugins. Costs
// nothing without an observer. All that it is given must outlive it.
class AttemptTimer {
 public:
  AttemptTimer() = default;
  AttemptTimer(Observer* observer, const Clock& clock, const std::string& profile, bool sample)
      : observer_(observer), clock_(&clock), profile_(&profile), sample_(sample) {}

  // Calls all plugins of a point; what is returned has a code.
  template <class Call>
  auto point(std::string_view name, Call&& call) const {
    if (!observer_) return call();
    const SteadyTime since = clock_->steadyNow();
    auto answer = call();
    observer_->extensionPoint(name, codeOf(answer), *profile_, clock_->steadyNow() - since);
    return answer;
  }
  // A plugin need not be called.
  void idle(const std::string& name, std::string_view point) const {
    if (observer_ && isCounted(point)) observer_->evaluated(name, point, *profile_);
  }
  // Calls one plugin.
  template <class Call>
  auto plugin(const std::string& name, std::string_view point, Call&& call) const {
    if (!observer_) return call();
    if (isCounted(point)) observer_->evaluated(name, point, *profile_);
    if (!sample_) return call();
    const SteadyTime since = clock_->steadyNow();
    auto answer = call();
    observer_->plugin(name, point, codeOf(answer), clock_->steadyNow() - since);
    return answer;
  }

 private:
  static bool isCounted(std::string_view point) {
    return point == "PreFilter" || point == "Filter" || point == "PreScore" || point == "Score";
  }
  static Code codeOf(const Status& status) { return status.code; }
  template <class Answer>
  static Code codeOf(const Answer& answer) {
    return answer.status.code;
  }

  Observer* observer_ = nullptr;
  const Clock* clock_ = nullptr;
  const std::string* profile_ = nullptr;
  bool sample_ = false;
};

}  // namespace koord::scheduler
