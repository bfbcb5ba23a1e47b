#pragma once

// SyncBarrier (feature gate SyncBarrier): a new leader begins when it has seen what the last one wrote.
//
// A standby's informers may be behind the API server by a moment, in which the last leader bound pods:
// their room would be given away again. So a pod that is there for it is given an annotation; what
// comes back is a version that is higher than any write before, and when the informer shows it,
// everything before has been seen, too, and is counted (informers hand over in the same step).
//
// It never keeps a leader from scheduling for good: without that pod, and when time is up, it begins.

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
  // versionOf: that of a pod as the informer shows it; "" when it does not.
  SyncBarrier(kube::Api& api, Executor& executor, SyncBarrierOptions options, std::string lease,
              std::function<std::string(const api::ObjectKey&)> versionOf);

  // Ends when scheduling may begin.
  Task<void> pass();

 private:
  // The version to wait for; absent: it has to be tried again.
  Task<Result<std::string>> mark();

  kube::Api& api_;
  Executor& executor_;
  const SyncBarrierOptions options_;
  const std::string annotation_;
  const std::function<std::string(const api::ObjectKey&)> versionOf_;
};

// Whether one version of objects is not older than another: they are numbers of any length.
bool versionReached(const std::string& current, const std::string& target);

}  // namespace koord::scheduler
