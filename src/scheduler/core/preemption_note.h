#pragma once

// The result of preemption in one attempt, for the workload audit.

#include <optional>
#include <string>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Scheduler::PreemptionNote {
  std::optional<PreemptionOutcome> outcome;  // absent: no plugin tried to preempt
  std::string message;
};

}  // namespace koord::scheduler
