#pragma once

// DeviceView: the devices of a node that one pod may use: those that match its constraints, with
// the free amount of each. What the pod may take over counts as free; a reservation limits the
// amounts.

#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

// Which rules apply where ours differ from upstream's; the comments at each difference explain it.
enum class DeviceRules : std::uint8_t { Ours, AsUpstream };

// The input of one question about a node.
struct DeviceOffer {
  const DeviceInventory& inventory;
  const DeviceUse& use;
  NodeGpus node;
  // The NUMA nodes, by bit of their id, that devices must be on; devices of an unknown NUMA node
  // always qualify.
  std::optional<std::uint64_t> numas;
  // The used amounts that the pod may take over: of its reservation, of pods that it preempts.
  ByDeviceType<AmountsByMinor> reusable{};
  // The only devices and amounts to use: what a reservation has for the pod.
  ByDeviceType<AmountsByMinor> only{};
};

struct DeviceSlot {
  int minor = 0;
  const KnownDevice* known = nullptr;  // nullptr: in use, but not in the Device
  DeviceAmounts total;
  DeviceAmounts free;
};

struct DeviceView {
  ByDeviceType<std::vector<DeviceSlot>> slots;  // by minor
  Minors usedGpus;                              // by others, in whole or in part
  const DeviceSlot* find(DeviceType type, int minor) const;
};

DeviceView viewFor(const DeviceOffer& offer, const DeviceDemand& demand, DeviceRules rules);

}  // namespace koord::scheduler
