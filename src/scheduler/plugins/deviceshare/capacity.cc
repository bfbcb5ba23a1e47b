// What DeviceShare tells score plugins about GPUs (framework/gpu_capacity.h).

#include <algorithm>

#include "scheduler/framework/profile.h"
#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

constexpr DeviceResource kShares[] = {DeviceResource::GpuCore, DeviceResource::GpuMemoryRatio,
                                      DeviceResource::GpuMemory};

// In thousandths, rounded down: the least of what is free. 0 if more is used than there is.
std::uint16_t freeShare(const DeviceAmounts& total, const DeviceAmounts& free) {
  std::int64_t share = 1000;
  for (const DeviceResource resource : kShares) {
    if (total[resource] <= 0) continue;
    share = std::min(share, static_cast<std::int64_t>(static_cast<__int128>(free[resource]) * 1000 /
                                                      total[resource]));
  }
  return static_cast<std::uint16_t>(std::max<std::int64_t>(share, 0));
}

}  // namespace

const DeviceScoring& DeviceShare::choice() const {
  if (!packs_) packs_ = !handle_.profile().offers<PackedGpusOffer>().empty();
  return *packs_ ? packing_ : scoring_;
}

GpuRequest DeviceShare::gpuRequestOf(const PodInfo& pod) const {
  if (!reader_.concerns(pod)) return {};
  const DeviceDemand& demand = of(pod).demand;
  if (!demand.wants(DeviceType::Gpu)) return {};
  const DeviceAmounts& each = demand.gpu.each;
  const std::int64_t percent =
      std::max(each[DeviceResource::GpuCore], each[DeviceResource::GpuMemoryRatio]);
  const std::int64_t count = std::min<std::int64_t>(demand.gpu.count, INT16_MAX);
  return {static_cast<std::int32_t>(count),
          static_cast<std::int32_t>(std::min<std::int64_t>(percent, 100) * 10),
          each[DeviceResource::GpuMemory]};
}

FreeGpus DeviceShare::freeGpus(NodeId node) const {
  FreeGpus free;
  const NodeDevices* here = table_.at(node);
  if (!here) return free;
  DeviceUse space;
  const AmountsByMinor& used = table_.useOn(*here, space).of(DeviceType::Gpu);
  for (const KnownDevice& gpu : here->inventory.of(DeviceType::Gpu)) {
    if (gpu.total.isZero()) continue;
    if (free.shares.size() == free.shares.capacity()) break;
    const auto taken = used.find(gpu.minor);
    free.shares.push_back(taken == used.end()
                              ? std::uint16_t{1000}
                              : freeShare(gpu.total, gpu.total.minus(taken->second)));
    const std::int64_t memory = gpu.total[DeviceResource::GpuMemory];
    free.memory = free.memory == 0 ? memory : std::min(free.memory, memory);
  }
  return free;
}

}  // namespace koord::scheduler
