#pragma once

// Observer: what the scheduler tells those who count (metrics). Every call is optional to handle.

#include <string>
#include <string_view>

#include "base/executor.h"
#include "scheduler/framework/queued_pod.h"
#include "scheduler/framework/status.h"

namespace koord::scheduler {

class Observer {
 public:
  virtual ~Observer() = default;
  // result: scheduled, unschedulable, error. For scheduled pods once they are bound.
  virtual void attempt(std::string_view result, const std::string& profile, Duration duration) = 0;
  virtual void algorithm(Duration duration) = 0;
  virtual void extensionPoint(std::string_view point, Code code, const std::string& profile,
                              Duration duration) = 0;
  virtual void bound(const QueuedPod& pod, Duration sinceFirstAttempt) = 0;
  virtual void searched(std::size_t evaluated, std::size_t feasible) = 0;
  virtual void incoming(std::string_view queue, const std::string& event) = 0;
  virtual void permitWait(Code code, Duration duration) = 0;
  virtual void preemption(std::size_t victims) = 0;
  // A pod was counted on one node and seen on another, or sums did not add up.
  virtual void cacheCorrected() = 0;
};

}  // namespace koord::scheduler
