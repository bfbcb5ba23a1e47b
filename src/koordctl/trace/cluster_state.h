#pragma once

// TraceState: how much of a trace's cluster is allocated, and how fragmented its free GPUs are
// (trace_replay.h defines it).

#include <vector>

#include "koordctl/trace/trace.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/framework/gpu_capacity.h"

namespace koord::koordctl {

class TraceState {
 public:
  struct Shares {
    double gpu = 0, cpu = 0, fragmentation = 0;  // 0 to 1
  };
  // All must outlive it. Without DeviceShare in the first profile, GPUs count as not allocated.
  TraceState(const scheduler::Scheduler& scheduler, const std::vector<TraceNode>& nodes,
             const std::vector<TraceTask>& tasks);
  Shares measure() const;

 private:
  // Tasks with GPUs that ask for the same.
  struct Class {
    TraceTask task;
    double share = 0;  // of all of them
  };
  double unusable(const scheduler::FreeGpus& free, const TraceNode& node, std::int64_t cpu,
                  std::int64_t memory) const;

  const scheduler::Scheduler& scheduler_;
  const std::vector<TraceNode>& nodes_;
  const scheduler::GpuCapacityOffer* gpus_ = nullptr;
  std::vector<Class> classes_;
};

}  // namespace koord::koordctl
