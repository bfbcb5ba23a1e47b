#pragma once

// DeviceAllocator: which devices of a node a pod gets.
//
// What it computes. For each type that the pod asks for, so many devices with enough free on each.
//
// GPUs. Whole GPUs come from a table of partitions where there is one (groups with fast links of
// their own): of the partitions of the right size that are free, those of the best group, and of
// them the one after which most partitions are left, larger ones counting more. A pod or node may
// insist on partitions; else, where that fails, and for shared GPUs, the tree of node, NUMA nodes
// and PCIe switches decides: the deepest scope that has enough, among these the one that is in use
// already on most levels (so that whole switches stay free), then, for shared GPUs, the device that
// scores best. Where the place of GPUs is not known, or several are shared, it is as for the others.
//
// Others. Devices in the order of their scores (in a Filter there are none, and numbers decide), a
// reservation's own first. Types that are allocated together (GPU and RDMA, say): the first as
// above, then the others from the PCIe switches of the first, one from each before any gives a
// second. SamePCIe makes that a must.
//
// Costs: a walk over the devices of each type and one over the tree; nothing is allocated on the
// heap but what is answered, up to eight devices. Source: the behaviour of koord-scheduler's
// DeviceShare. Other than there, unless told to be as upstream (DeviceRules):
//  - groups of partitions are tried from the best to the worst, as their API says, not backwards;
//  - among shared GPUs of one switch the strategy decides, not the accident of swapped arguments;
//  - requiredTopologyScope Device can be met, by one device;
//  - PCIe-level exclusivity is heeded; numbers of devices may be above 63;
//  - a node's score counts all instances of a request, not one;
//  - bytes of memory are rounded up to percent.

#include "scheduler/plugins/deviceshare/devices/score.h"

namespace koord::scheduler {

// A template for parts of an NPU, which the amounts must equal.
struct GpuTemplate {
  std::string name;
  DeviceAmounts amounts;
};

struct DeviceQuestion {
  const DeviceOffer& offer;
  const DeviceDemand& demand;
  // nullptr: all devices are equally good (in a Filter).
  const DeviceScoring* scoring = nullptr;
  // Devices to take first, and only ones to take; empty: any. The latter where the tree of GPUs
  // does not decide.
  ByDeviceType<Minors> preferred{};
  ByDeviceType<Minors> required{};
  // Virtual functions to take, by minor and bus id; empty: any.
  ByDeviceType<std::set<std::pair<int, std::string>>> functions{};
  // Whether the answer is for keeps: secondary devices of well planned nodes are looked at only
  // then.
  bool reserving = false;
  // The templates of the node's vendor and model, when the request has to be of one.
  const std::vector<GpuTemplate>* templates = nullptr;
};

struct DeviceAnswer {
  enum class Outcome : std::uint8_t { Given, Unschedulable, Unresolvable } outcome = Outcome::Given;
  std::vector<std::string> reasons;  // as users read them
  GivenDevices given;
  bool ok() const { return outcome == Outcome::Given; }
};

class DeviceAllocator {
 public:
  explicit DeviceAllocator(DeviceRules rules = DeviceRules::Ours) : rules_(rules) {}

  DeviceAnswer allocate(const DeviceQuestion& question) const;
  // What a node is worth: the sum over the types that are asked for. nullopt: the pod cannot be
  // there at all.
  std::optional<std::int64_t> score(const DeviceQuestion& question) const;
  // GPUs of which bytes of memory were given get the percent of that, and the other way round; an
  // error for one that is not listed as healthy. Percent are rounded up, but not beyond what is
  // left of the GPU: three thirds of it are all of it.
  Result<> fillGpuMemory(GivenDevices& given, const DeviceInventory& inventory,
                         const DeviceUse& use) const;

 private:
  DeviceRules rules_;
};

}  // namespace koord::scheduler
