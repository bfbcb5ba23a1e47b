#pragma once

// DeviceView: what of a node's devices one pod may have: those that match its wishes, with what is
// free of each, counting as free what it may take over, and no more than a reservation holds.

#include "scheduler/plugins/deviceshare/devices/demand.h"
#include "scheduler/plugins/deviceshare/devices/inventory.h"
#include "scheduler/plugins/deviceshare/devices/use.h"

namespace koord::scheduler {

// Which rules apply where ours differ from upstream's; see the comments where they do.
enum class DeviceRules : std::uint8_t { Ours, AsUpstream };

// A node as one question about it sees it.
struct DeviceOffer {
  const DeviceInventory& inventory;
  const DeviceUse& use;
  NodeGpus node;
  // NUMA nodes, by bit of their id, that devices have to be on; those of an unknown one always are.
  std::optional<std::uint64_t> numas;
  // What the pod may take over of what is used: of its reservation, of pods that it preempts.
  ByDeviceType<AmountsByMinor> reusable{};
  // Only these, and no more of each: of a reservation that is all the pod may have.
  ByDeviceType<AmountsByMinor> only{};
};

struct DeviceSlot {
  int minor = 0;
  const KnownDevice* known = nullptr;  // nullptr: in use, but not listed
  DeviceAmounts total;
  DeviceAmounts free;
};

struct DeviceView {
  ByDeviceType<std::vector<DeviceSlot>> slots;  // by minor
  Minors usedGpus;                              // by others, wholly or in part
  const DeviceSlot* find(DeviceType type, int minor) const;
};

DeviceView viewFor(const DeviceOffer& offer, const DeviceDemand& demand, DeviceRules rules);

}  // namespace koord::scheduler
