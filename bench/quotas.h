#pragma once

// Worlds with elastic quotas for bench_scheduler, and the tree of quotas by itself.

#include "bench.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/testing/builders.h"

namespace koord::bench {

// Kubernetes' default plugins and ElasticQuota.
scheduler::SchedulerConfiguration withQuotas();

// A thousand quotas in four levels, 800 of them at the bottom, and pods of these in turn.
void addQuotaTree(scheduler::Scheduler& scheduler);
scheduler::testing::PodBuilder podOfSomeQuota(int n);

// One quota that 20,000 pods of 7200m on 5,000 nodes fill, and pods that take the place of three of
// them.
void addOneQuota(scheduler::Scheduler& scheduler);
scheduler::testing::PodBuilder lowPodOfQuota(int n);
scheduler::testing::PodBuilder highPodOfQuota(int n);

void addQuotaTreeBenchmarks(std::vector<Benchmark>& all);

}  // namespace koord::bench
