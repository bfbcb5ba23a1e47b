#pragma once

// SyncBarrier (feature gate SyncBarrier): a new leader starts when it has seen all writes of the
// last leader.
//
// A standby's informers may lag behind the API server. Pods that the last leader bound in that time
// would not be counted, and their resources would be allocated twice. So the barrier writes an
// annotation to a dedicated pod. The returned version is higher than that of any earlier write.
// When the informer shows it, all earlier writes have been delivered and counted, because informers
// deliver in the same step.
//
// It delays a leader only for a limited time: without that pod, or after the timeout, scheduling
// starts.

#include <functional>
#include <string>

#include "base/executor.h"
#include "base/task.h"
#include "kube/api.h"

namespace koord::scheduler {

struct SyncBarrierOptions {
  bool enabled = false;
  api::ObjectKey pod{"kube-system", "koord-scheduler-sync-barrier"};
  Duration timeout = std::chrono::minutes(1);
};

class SyncBarrier {
 public:
  // versionOf: returns the version of a pod in the informer; "" if it does not have the pod.
  SyncBarrier(kube::Api& api, Executor& executor, SyncBarrierOptions options, std::string lease,
              std::function<std::string(const api::ObjectKey&)> versionOf);

  // Completes when scheduling may start.
  Task<void> pass();

 private:
  // The version to wait for. An error means: try again.
  Task<Result<std::string>> mark();

  kube::Api& api_;
  Executor& executor_;
  const SyncBarrierOptions options_;
  const std::string annotation_;
  const std::function<std::string(const api::ObjectKey&)> versionOf_;
};

// Returns true if the first version is not older than the second: they are numbers of any length.
bool versionReached(const std::string& current, const std::string& target);

}  // namespace koord::scheduler
