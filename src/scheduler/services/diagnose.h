#pragma once

// Why a waiting pod is not scheduled, as documents for programs; explain.h has what people read. Both ask
// the plugins as things stand now.

#include "base/json.h"
#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

// The document of --debug-diagnosis (core/diagnosis_document.h). NotFound for a pod that does not wait
// here.
Result<json::value> diagnosePod(Scheduler& scheduler, const api::ObjectKey& key, WallTime now);

// The same as the status of a ScheduleExplanation (scheduling.koordinator.sh/v1alpha1), and, when a node
// would take the pod, which one.
Result<json::value> explainSchedule(Scheduler& scheduler, const api::ObjectKey& key, WallTime now);

}  // namespace koord::scheduler
