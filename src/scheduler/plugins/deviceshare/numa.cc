// NUMA hints: from which sets of NUMA nodes the pod could get its devices.
//
// A set is feasible if the pod gets everything from the devices on it (devices whose location is
// unknown are on all). The smallest feasible sets are preferred; of them the set that gives the
// same GPUs as all NUMA nodes together would, because these are the best ones. Cost: an allocation
// for each set; nodes have two NUMA nodes, rarely eight.

#include <bit>
#include <set>

#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::int64_t kSameGpus = 500;  // above the scores of CPUs, so that devices decide
constexpr const char* kFewOnNuma = "Insufficient NUMA Scoped Devices";
constexpr const char* kNoPlace = "Designated Allocation Lack NUMA Node ID";

std::set<int> gpusOf(const AllocatedDevices& given) {
  std::set<int> minors;
  for (const AllocatedDevice& device : at(given, DeviceType::Gpu)) minors.insert(device.minor);
  return minors;
}

NumaHints onlyHint(const DeviceDemand& demand, NumaHint hint) {
  NumaHints hints;
  for (const DeviceType type : {DeviceType::Fpga, DeviceType::Gpu, DeviceType::Rdma})
    if (demand.wants(type)) hints.resources.push_back({std::string(nameOf(type)), {hint}});
  return hints;
}

NumaHints refused(Status status) {
  NumaHints hints;
  hints.status = std::move(status);
  return hints;
}

// The devices of the type on these NUMA nodes.
int countOn(const DeviceInventory& inventory, DeviceType type, NumaMask mask) {
  int count = 0;
  for (const KnownDevice& known : inventory.of(type)) {
    const int id = known.topology() ? known.topology()->nodeID : -1;
    count += id >= 0 && id < kMaxNumaNodes && (mask >> id & 1) != 0 ? 1 : 0;
  }
  return count;
}

// Returns true if a requested type has too few devices on these NUMA nodes, used or not.
bool tooFew(const DeviceInventory& inventory, const DeviceDemand& demand, NumaMask mask) {
  if (!demand.wants(DeviceType::Gpu)) return false;
  const int count = countOn(inventory, DeviceType::Gpu, mask);
  return count > 0 && count < demand.gpu.count;
}

Status asStatus(const DeviceAnswer& answer) {
  if (answer.ok()) return {};
  const bool unresolvable = answer.outcome == DeviceAnswer::Outcome::Unresolvable;
  return {
      unresolvable ? Code::UnschedulableAndUnresolvable : Code::Unschedulable, answer.reasons, {}};
}

// Hints for devices that are already allocated.
NumaHints ofDesignated(const DeviceDemand& demand, const AllocatedDevices& given,
                       const DeviceInventory& inventory) {
  NumaMask mask = kAnyNuma;
  for (const DeviceType type : kDeviceTypes) {
    for (const AllocatedDevice& device : at(given, type)) {
      const KnownDevice* known = inventory.find(type, device.minor);
      const int id = known && known->topology() ? known->topology()->nodeID : -1;
      if (id < 0 || id >= kMaxNumaNodes) return refused(Status::unschedulable(kNoPlace));
      mask |= NumaMask{1} << id;
    }
  }
  return onlyHint(demand, {mask, true, kSameGpus});
}

}  // namespace

NumaHints DeviceShare::numaHints(const PodInfo& pod, NodeId node) {
  const NodeDevices* here = table_.at(node);
  const PodDevices& devices = of(pod, node);
  if (args_.disableDeviceNUMATopologyAlignment || !here || !devices.wanted()) return {};
  if (!devices.error.empty()) return refused(Status::unresolvable(devices.error));
  if (devices.designated) return ofDesignated(devices.demand, *devices.designated, here->inventory);
  std::vector<int> ids = here->inventory.numaIds();
  std::erase_if(ids, [](int id) { return id >= kMaxNumaNodes; });
  if (ids.empty()) return {};
  NumaMask all = kAnyNuma;
  for (const int id : ids) all |= NumaMask{1} << id;
  const auto reservations = matched(pod, node);
  const auto trialOn = [&](NumaMask mask) {
    if (tooFew(here->inventory, devices.demand, mask))
      return DeviceAnswer{DeviceAnswer::Outcome::Unresolvable, {kFewOnNuma}, {}};
    return allocate(devices, pod, *here,
                    {.affinity = mask, .reservations = reservations, .preAllocationNode = node})
        .answer;
  };
  const DeviceAnswer best = trialOn(all);
  if (!best.ok()) return refused(asStatus(best));
  const std::set<int> bestGpus = gpusOf(best.given);
  std::vector<NumaHint> hints;
  int smallest = kMaxNumaNodes;
  for (const NumaMask mask : numaSubsets(ids)) {
    const DeviceAnswer answer = mask == all ? best : trialOn(mask);
    if (!answer.ok()) continue;
    smallest = std::min(smallest, std::popcount(mask));
    hints.push_back({mask, false, gpusOf(answer.given) == bestGpus ? kSameGpus : 0});
  }
  for (NumaHint& hint : hints) hint.preferred = std::popcount(hint.mask) == smallest;
  NumaHints answer;
  for (const DeviceType type : {DeviceType::Fpga, DeviceType::Gpu, DeviceType::Rdma})
    if (devices.demand.wants(type)) answer.resources.push_back({std::string(nameOf(type)), hints});
  return answer;
}

Status DeviceShare::checkNuma(const PodInfo& pod, NodeId node, NumaMask affinity) {
  const NodeDevices* here = table_.at(node);
  const PodDevices& devices = of(pod, node);
  if (args_.disableDeviceNUMATopologyAlignment || !here || !devices.wanted()) return {};
  const auto reservations = matched(pod, node);
  return asStatus(
      allocate(devices, pod, *here,
               {.affinity = affinity, .reservations = reservations, .preAllocationNode = node})
          .answer);
}

}  // namespace koord::scheduler
