#include "koordctl/trace/trace_cluster.h"

#include <utility>

#include "koordctl/trace/trace_objects.h"

namespace koord::koordctl {

Result<std::unique_ptr<ScheduledCluster>> traceCluster(
    scheduler::SchedulerConfiguration configuration, const std::vector<TraceNode>& nodes,
    std::uint64_t seed) {
  ScheduledCluster::Objects objects;
  for (const TraceNode& node : nodes) {
    objects.nodes.push_back(nodeOf(node));
    if (auto device = deviceOf(node)) objects.devices.push_back(std::move(device));
  }
  return ScheduledCluster::create(std::move(configuration), objects, seed);
}

void addTask(ScheduledCluster& cluster, const TraceTask& task, const std::string& name) {
  cluster.add(podOf(task, name, cluster.profile()));
}

}  // namespace koord::koordctl
