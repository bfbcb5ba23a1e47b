#pragma once

// Gangs on the scheduling engine (gangs.cc).

#include <vector>

#include "bench.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/testing/builders.h"

namespace koord::bench {

void addGangs(std::vector<Benchmark>& all);

// One gang in a full cluster: four pods of low priority run on each node, and each member of the
// gang needs the capacity of three of them.
inline constexpr int kPreemptingMembers = 64;
scheduler::SchedulerConfiguration withGangs();
void addPreemptingGang(scheduler::Scheduler& scheduler);
scheduler::testing::PodBuilder lowPodUnderGang(int n);
scheduler::testing::PodBuilder preemptingMember(int n);

}  // namespace koord::bench
