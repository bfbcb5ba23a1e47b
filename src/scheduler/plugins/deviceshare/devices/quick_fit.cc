#include "scheduler/plugins/deviceshare/devices/quick_fit.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

// Calls fn(total, free) for each GPU. Both lists ascend.
template <class F>
void forEachGpu(const DeviceInventory& inventory, const DeviceUse& use, F&& fn) {
  const AmountsByMinor& used = use.of(DeviceType::Gpu);
  auto taken = used.begin();
  for (const KnownDevice& gpu : inventory.of(DeviceType::Gpu)) {
    while (taken != used.end() && taken->first < gpu.minor) ++taken;
    if (taken != used.end() && taken->first == gpu.minor) {
      fn(gpu.total, gpu.total.minus(taken->second));
    } else {
      fn(gpu.total, gpu.total);
    }
  }
}

}  // namespace

bool isPlain(const DeviceDemand& demand) {
  const bool onlyGpus = demand.wants(DeviceType::Gpu) && !demand.wants(DeviceType::Rdma) &&
                        !demand.wants(DeviceType::Fpga);
  return onlyGpus && !at(demand.hints, DeviceType::Gpu) && !demand.partition.honor &&
         !demand.gpu.each.isZero();
}

QuickFit quickFit(const DeviceDemand& demand, const DeviceInventory& inventory,
                  const DeviceUse& use, const NodeGpus& node) {
  if (inventory.partitions() ? inventory.honorsPartitions() : node.honorsPartitions)
    return QuickFit::AskAllocator;
  if (inventory.of(DeviceType::Gpu).empty()) return QuickFit::AskAllocator;
  int fitting = 0;
  forEachGpu(inventory, use, [&](const DeviceAmounts& total, const DeviceAmounts& free) {
    fitting += !total.isZero() && free.covers(demand.gpu.each) ? 1 : 0;
  });
  if (fitting >= demand.gpu.count) return QuickFit::Fits;
  // Partitions are allocated as a whole, whatever a GPU has.
  const bool partitioned = inventory.partitions() || node.partitions();
  return partitioned && !demand.gpu.shared ? QuickFit::AskAllocator : QuickFit::Lacks;
}

const char* quickReason(const DeviceDemand& demand, const DeviceInventory& inventory) {
  const bool byTree = inventory.gpuTree() && !(demand.gpu.shared && demand.gpu.count > 1);
  return byTree ? "Insufficient GPU Devices" : "Insufficient gpu devices";
}

std::optional<std::int64_t> quickScore(const DeviceDemand& demand, const DeviceScoring& scoring,
                                       const DeviceInventory& inventory, const DeviceUse& use) {
  if (inventory.of(DeviceType::Gpu).empty()) return std::nullopt;
  DeviceAmounts allTotal;
  DeviceAmounts allFree;
  forEachGpu(inventory, use, [&](const DeviceAmounts& total, const DeviceAmounts& free) {
    allTotal.add(total);
    allFree.add(free);
  });
  return scoring.scoreDevice(demand.gpu.each.times(demand.gpu.count), allTotal, allFree);
}

}  // namespace koord::scheduler
