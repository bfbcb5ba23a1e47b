#pragma once

// ExplanationWriter: answers ScheduleExplanations (scheduling.koordinator.sh/v1alpha1), objects in
// which users ask why a pod is not scheduled. Writes the answer of diagnose.h into their status,
// updates it while the pod waits, and deletes expired objects. On the leader only.

#include "base/executor.h"
#include "base/task.h"
#include "kube/api.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

class ExplanationWriter {
 public:
  ExplanationWriter(Scheduler& scheduler, kube::Api& api, Executor& executor)
      : scheduler_(scheduler), api_(api), executor_(executor) {}

  // Call once, when this process leads. Ends with the writer.
  void start() { tasks_.spawn(run()); }

 private:
  Task<void> run();
  // Sets `worked` to how long the scheduler's thread was busy with it.
  Task<Result<>> answer(json::value explanation, Duration& worked);
  // The new status; nullopt: unchanged.
  std::optional<json::object> statusFor(const json::value& explanation) const;

  Scheduler& scheduler_;
  kube::Api& api_;
  Executor& executor_;
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
