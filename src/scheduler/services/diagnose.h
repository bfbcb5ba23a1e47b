#pragma once

// Reasons why a pending pod is not scheduled, as documents for programs; explain.h has the answers
// for users. Both call the plugins in the current state.

#include "base/json.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// The document of --debug-diagnosis (core/diagnosis_document.h). NotFound if the pod is not pending
// here.
Result<json::value> diagnosePod(Scheduler& scheduler, const api::ObjectKey& key, WallTime now);

// The same as the status of a ScheduleExplanation (scheduling.koordinator.sh/v1alpha1), with the
// node that would accept the pod, if there is one.
Result<json::value> explainSchedule(Scheduler& scheduler, const api::ObjectKey& key, WallTime now);

}  // namespace koord::scheduler
