#pragma once

// DeviceAllocator: chooses the devices of a node for a pod.
//
// It finds, for each type that the pod requests, the requested number of devices with enough free
// on each.
//
// GPUs. If the node has a table of partitions (groups of GPUs with fast links), whole GPUs come
// from it: of the free partitions of the right size, those of the best group, and of them the
// partition after which most partitions are left, where larger ones count more. A pod or node may
// require partitions. Otherwise, if no partition fits, and for shared GPUs, the tree of node, NUMA
// nodes and PCIe switches decides: the deepest scope that has enough; among these the scope that is
// already in use on most levels (so that whole switches stay free); then, for shared GPUs, the
// device with the best score. If the location of GPUs is unknown, or several are shared, they are
// chosen like other devices.
//
// Other devices. In the order of their scores (a Filter does not score, and minors decide), a
// reservation's devices first. Types that are allocated together (GPU and RDMA, say): the first
// type as above, then the others from the PCIe switches of the first, one from each switch before
// any gives a second. SamePCIe makes that a requirement.
//
// Cost: a walk over the devices of each type and one over the tree. Only the answer is allocated on
// the heap, up to eight devices. Source: the behaviour of koord-scheduler's DeviceShare.
// Differences, unless DeviceRules asks for upstream's rules:
//  - groups of partitions are tried from the best to the worst, as their API says, not backwards;
//  - among shared GPUs of one switch the strategy decides; upstream swaps two arguments;
//  - requiredTopologyScope Device can be satisfied, by one device;
//  - PCIe-level exclusivity is enforced; minors may be above 63;
//  - a node's score counts all instances of a request, not one;
//  - bytes of memory are rounded up to percent.

#include "scheduler/plugins/deviceshare/devices/score.h"

namespace koord::scheduler {

// A template for a part of an NPU, whose amounts a request must equal.
struct GpuTemplate {
  std::string name;
  DeviceAmounts amounts;
};

struct DeviceQuestion {
  const DeviceOffer& offer;
  const DeviceDemand& demand;
  // nullptr: all devices are equally good (in a Filter).
  const DeviceScoring* scoring = nullptr;
  // Devices to take first, and the only ones to take; empty: any. `preferred` applies where the
  // tree of GPUs does not decide.
  ByDeviceType<Minors> preferred{};
  ByDeviceType<Minors> required{};
  // Virtual functions to take, by minor and bus id; empty: any.
  ByDeviceType<std::set<std::pair<int, std::string>>> functions{};
  // True if the answer will be allocated. If the node has a secondary device for every primary one,
  // secondary devices are examined only then.
  bool reserving = false;
  // The templates of the node's vendor and model, if the request must equal one.
  const std::vector<GpuTemplate>* templates = nullptr;
};

struct DeviceAnswer {
  enum class Outcome : std::uint8_t { Given, Unschedulable, Unresolvable } outcome = Outcome::Given;
  std::vector<std::string> reasons;  // messages for users
  AllocatedDevices given;
  bool ok() const { return outcome == Outcome::Given; }
};

class DeviceAllocator {
 public:
  explicit DeviceAllocator(DeviceRules rules = DeviceRules::Ours) : rules_(rules) {}

  DeviceAnswer allocate(const DeviceQuestion& question) const;
  // The node's score: the sum over the requested types. nullopt if the pod cannot be on the node.
  std::optional<std::int64_t> score(const DeviceQuestion& question) const;
  // Sets the percent of GPUs that were allocated by bytes of memory, and the bytes of those
  // allocated by percent; an error for a GPU that is not listed as healthy. Percent are rounded up,
  // but not above what is left of the GPU: three thirds are all of it.
  Result<> fillGpuMemory(AllocatedDevices& given, const DeviceInventory& inventory,
                         const DeviceUse& use) const;

 private:
  DeviceRules rules_;
};

}  // namespace koord::scheduler
