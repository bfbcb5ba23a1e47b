#pragma once

// What the API still has of pods that have ended: after a restart, the history begins with them.
// kube-controller-manager keeps 12,500 of them by default, and Jobs have theirs until they are
// deleted.

#include "kube/api.h"
#include "scheduler/forecast/run_history.h"

namespace koord::scheduler::forecast {

// Lists the ended pods, page by page; none is kept. Needs the right to list pods. The arguments
// must outlive the task.
Task<Result<>> learnPastRuns(kube::Api& api, RunHistory& history);

}  // namespace koord::scheduler::forecast
