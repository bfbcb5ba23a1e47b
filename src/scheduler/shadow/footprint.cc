#include "scheduler/shadow/footprint.h"

#include <algorithm>
#include <cmath>

namespace koord::scheduler {

namespace {

// The resource that counts GPUs, and how much of it one GPU has.
struct GpuUnit {
  std::optional<ResourceId> id;
  std::int64_t amount = 1;
};

bool anyNodeHas(const Cluster& cluster, std::optional<ResourceId> id) {
  return id &&
         std::ranges::any_of(cluster.allocatable(*id), [](auto amount) { return amount > 0; });
}

GpuUnit gpuUnitOf(const Cluster& cluster) {
  const auto shared = cluster.resources().find("koordinator.sh/gpu-core");
  if (anyNodeHas(cluster, shared)) return {shared, 100};
  const auto whole = cluster.resources().find("nvidia.com/gpu");
  return anyNodeHas(cluster, whole) ? GpuUnit{whole, 1} : GpuUnit{};
}

std::int64_t freeOn(const Cluster& cluster, ResourceId id, NodeId node, std::int64_t more) {
  return std::max<std::int64_t>(0, Cluster::columnAt(cluster.allocatable(id), node) -
                                       Cluster::columnAt(cluster.requested(id), node) - more);
}

}  // namespace

Footprint footprintOf(const Cluster& cluster, const PodInfo& pod, NodeId node) {
  Footprint print;
  const GpuUnit gpu = gpuUnitOf(cluster);
  double sum = 0, squares = 0, nodes = 0;
  cluster.live().forEach([&](NodeId each) {
    const bool here = each == node;
    const std::int64_t cpu = here ? pod.request.amount(kCpu) : 0;
    print.largestFreeCpu = std::max(print.largestFreeCpu, freeOn(cluster, kCpu, each, cpu));
    if (gpu.id) {
      const std::int64_t used = here ? pod.request.amount(*gpu.id) : 0;
      const std::int64_t whole = freeOn(cluster, *gpu.id, each, used) / gpu.amount;
      print.largestFreeGpus = std::max(print.largestFreeGpus, whole);
      print.wholeFreeGpus += whole;
    }
    const auto all = static_cast<double>(Cluster::columnAt(cluster.allocatable(kCpu), each));
    if (all <= 0) return;
    const auto requested =
        static_cast<double>(Cluster::columnAt(cluster.requested(kCpu), each) + cpu);
    const double load = 100 * requested / all;
    sum += load;
    squares += load * load;
    nodes += 1;
  });
  if (nodes == 0) return print;
  const double mean = sum / nodes;
  print.spread = std::sqrt(std::max(0.0, squares / nodes - mean * mean));
  return print;
}

}  // namespace koord::scheduler
