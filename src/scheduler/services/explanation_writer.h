#pragma once

// ExplanationWriter: answers ScheduleExplanations (scheduling.koordinator.sh/v1alpha1), objects in which
// somebody asks why a pod is not scheduled: writes what diagnose.h says into their status, keeps that
// current for as long as the pod waits, and deletes them when their time is over. On the leader only.

#include "base/executor.h"
#include "base/task.h"
#include "kube/api.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

class ExplanationWriter {
 public:
  ExplanationWriter(Scheduler& scheduler, kube::Api& api, Executor& executor)
      : scheduler_(scheduler), api_(api), executor_(executor) {}

  // Begins; to be called once, when this process leads. Ends with the writer.
  void start() { tasks_.spawn(run()); }

 private:
  Task<void> run();
  // `worked`: how long the scheduler's thread was busy with it.
  Task<Result<>> answer(json::value explanation, Duration& worked);
  // What its status is to be; nullopt: as it is.
  std::optional<json::object> statusFor(const json::value& explanation) const;

  Scheduler& scheduler_;
  kube::Api& api_;
  Executor& executor_;
  TaskGroup tasks_;
};

}  // namespace koord::scheduler
