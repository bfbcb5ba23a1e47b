#pragma once

// What preemption has come to in one attempt, for who audits workloads.

#include <optional>
#include <string>

#include "scheduler/core/scheduler.h"

namespace koord::scheduler {

struct Scheduler::PreemptionNote {
  std::optional<PreemptionOutcome> outcome;  // absent: no plugin tried to preempt
  std::string message;
};

}  // namespace koord::scheduler
