#pragma once

// DeviceInventory: the devices of a node from its Device object, their topology, and the partitions
// of its GPUs. Immutable; DeviceUse has the allocations.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/device.h"
#include "base/cpuset.h"
#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

// A set of minors.
using Minors = CpuSet;

struct KnownDevice {
  int minor = 0;
  DeviceAmounts total;  // empty if the device is unhealthy
  const api::DeviceInfo* info = nullptr;
  const api::DeviceTopology* topology() const {
    return info->topology ? &*info->topology : nullptr;
  }
};

// A group of GPUs with direct links between them.
struct GpuPartition {
  std::vector<int> minors;  // in the order of the table
  Minors set;
  std::int64_t score = 0;  // higher is better
  std::optional<std::int64_t> ringBandwidth;
};
// By number of GPUs; partitions in the order of the table.
using GpuPartitions = std::map<int, std::vector<GpuPartition>>;

// A node, a NUMA node or a PCIe switch with the GPUs below it.
struct GpuScope {
  int level = 1;            // level in TopologyScope: node, NUMA node, PCIe switch
  std::vector<int> minors;  // ascending
  Minors set;
  std::vector<GpuScope> children;  // in the order of their ids
};

class DeviceInventory {
 public:
  DeviceInventory() = default;
  explicit DeviceInventory(std::shared_ptr<const api::Device> device);

  // The devices of the type, by minor. If two have the same minor, the last one counts.
  const std::vector<KnownDevice>& of(DeviceType type) const { return at(devices_, type); }
  const KnownDevice* find(DeviceType type, int minor) const;
  // One line per device or annotation that is skipped or replaced, with its path.
  const std::vector<std::string>& problems() const { return problems_; }

  // nullptr if the Device has no table of partitions.
  const GpuPartitions* partitions() const { return partitions_ ? &*partitions_ : nullptr; }
  // True if GPUs are allocated by partitions only.
  bool honorsPartitions() const { return honorsPartitions_; }
  bool secondaryWellPlanned() const { return secondaryWellPlanned_; }
  // nullptr unless the location of every GPU is known.
  const GpuScope* gpuTree() const { return gpuTree_ ? &*gpuTree_ : nullptr; }
  // Ids of the NUMA nodes that have devices, ascending; without -1 (unknown).
  std::vector<int> numaIds() const;
  bool hasFunctions(DeviceType type) const;
  const api::Device* device() const { return device_.get(); }

 private:
  void readDevices();
  void readPartitions();
  void growTree();

  std::shared_ptr<const api::Device> device_;
  ByDeviceType<std::vector<KnownDevice>> devices_;
  std::optional<GpuPartitions> partitions_;
  std::optional<GpuScope> gpuTree_;
  bool honorsPartitions_ = false;
  bool secondaryWellPlanned_ = false;
  std::vector<std::string> problems_;
};

// {"2": [{"minors": [0, 1], "ringBusBandwidth": "400Gi", "allocationScore": 1}]}
Result<GpuPartitions> parsePartitions(std::string_view annotation);

// What the labels of a Node say about its GPUs.
struct NodeGpus {
  std::string vendor;
  std::string model;
  bool honorsPartitions = false;
  static NodeGpus of(const api::StringMap& labels);
  // The built-in table if the model is known to have eight GPUs in one NVLink domain; nullptr
  // otherwise.
  const GpuPartitions* partitions() const;
};

}  // namespace koord::scheduler
