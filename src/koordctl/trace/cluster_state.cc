#include "koordctl/trace/cluster_state.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "scheduler/core/profile_runtime.h"

namespace koord::koordctl {

namespace {

bool runsOn(const TraceTask& task, const TraceNode& node) {
  return task.models.empty() || std::ranges::find(task.models, node.model) != task.models.end();
}

}  // namespace

TraceState::TraceState(const scheduler::Scheduler& scheduler, const std::vector<TraceNode>& nodes,
                       const std::vector<TraceTask>& tasks)
    : scheduler_(scheduler), nodes_(nodes) {
  const auto& profiles = scheduler.profiles();
  const auto offers = profiles.begin()->second->profile().offers<scheduler::GpuCapacityOffer>();
  if (!offers.empty()) gpus_ = offers.front();
  std::map<
      std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::vector<std::string>>,
      std::size_t>
      known;
  double total = 0;
  for (const TraceTask& task : tasks) {
    if (task.gpus == 0) continue;
    const auto [it, added] = known.try_emplace(
        {task.cpu, task.memory, task.gpus, task.share, task.models}, classes_.size());
    if (added) classes_.push_back({task, 0});
    classes_[it->second].share += 1;
    total += 1;
  }
  for (Class& each : classes_) each.share /= total;
}

// The free GPUs that a task cannot use, in thousandths.
double TraceState::unusable(const scheduler::FreeGpus& free, const TraceNode& node,
                            std::int64_t cpu, std::int64_t memory) const {
  double all = 0;
  for (const std::uint16_t share : free.shares) all += share;
  double sum = 0;
  for (const auto& [task, weight] : classes_) {
    double usable = 0;
    std::int64_t enough = 0;
    for (const std::uint16_t share : free.shares) {
      if (share < task.share) continue;
      usable += share;
      ++enough;
    }
    const bool fits =
        task.cpu <= cpu && task.memory <= memory && enough >= task.gpus && runsOn(task, node);
    sum += weight * (fits ? all - usable : all);
  }
  return sum;
}

TraceState::Shares TraceState::measure() const {
  const scheduler::Cluster& cluster = scheduler_.cluster();
  double cpu = 0, cpuUsed = 0, gpu = 0, gpuFree = 0, unusableGpu = 0;
  for (const TraceNode& node : nodes_) {
    const auto id = cluster.findNode(node.name);
    if (!id) continue;
    const auto used = [&](scheduler::ResourceId resource) {
      return scheduler::Cluster::columnAt(cluster.requested(resource), *id);
    };
    cpu += static_cast<double>(node.cpu);
    cpuUsed += static_cast<double>(used(scheduler::kCpu));
    if (node.gpus == 0 || !gpus_) continue;
    const scheduler::FreeGpus free = gpus_->freeGpus(*id);
    gpu += 1000 * static_cast<double>(node.gpus);
    for (const std::uint16_t share : free.shares) gpuFree += share;
    unusableGpu += unusable(free, node, node.cpu - used(scheduler::kCpu),
                            node.memory - used(scheduler::kMemory) / kBytesOfMib);
  }
  return {gpu > 0 ? 1 - gpuFree / gpu : 0, cpu > 0 ? cpuUsed / cpu : 0,
          gpuFree > 0 ? unusableGpu / gpuFree : 0};
}

}  // namespace koord::koordctl
