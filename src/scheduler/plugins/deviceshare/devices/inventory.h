#pragma once

// DeviceInventory: the devices of a node as its Device object lists them, how they hang together,
// and in which groups its GPUs may be given. Immutable; what of them is in use is in DeviceUse.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/device.h"
#include "base/cpuset.h"
#include "scheduler/plugins/deviceshare/devices/amounts.h"

namespace koord::scheduler {

// Numbers of devices.
using Minors = CpuSet;

struct KnownDevice {
  int minor = 0;
  DeviceAmounts total;  // nothing for one that is not healthy
  const api::DeviceInfo* info = nullptr;
  const api::DeviceTopology* topology() const {
    return info->topology ? &*info->topology : nullptr;
  }
};

// A group of GPUs with links of their own between them.
struct GpuPartition {
  std::vector<int> minors;  // in the order of the table
  Minors set;
  std::int64_t score = 0;  // higher is better
  std::optional<std::int64_t> ringBandwidth;
};
// By number of GPUs: partitions in the order of the table.
using GpuPartitions = std::map<int, std::vector<GpuPartition>>;

// A node, a NUMA node or a PCIe switch with the GPUs below it.
struct GpuScope {
  int level = 1;            // as TopologyScope counts: node, NUMA node, PCIe switch
  std::vector<int> minors;  // ascending
  Minors set;
  std::vector<GpuScope> children;  // in the order of their ids
};

class DeviceInventory {
 public:
  DeviceInventory() = default;
  explicit DeviceInventory(std::shared_ptr<const api::Device> device);

  // The devices of the type, by minor. Of two with one minor the last counts.
  const std::vector<KnownDevice>& of(DeviceType type) const { return at(devices_, type); }
  const KnownDevice* find(DeviceType type, int minor) const;
  // One line per device, or annotation, that is left out or replaced, with its path.
  const std::vector<std::string>& problems() const { return problems_; }

  // nullptr: the Device has no table of partitions.
  const GpuPartitions* partitions() const { return partitions_ ? &*partitions_ : nullptr; }
  // GPUs are given by partitions only.
  bool honorsPartitions() const { return honorsPartitions_; }
  bool secondaryWellPlanned() const { return secondaryWellPlanned_; }
  // nullptr unless the place of every GPU is known.
  const GpuScope* gpuTree() const { return gpuTree_ ? &*gpuTree_ : nullptr; }
  // Ids of the NUMA nodes that have devices, ascending; -1 (unknown) is none.
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

// What labels of a Node say about its GPUs.
struct NodeGpus {
  std::string vendor;
  std::string model;
  bool honorsPartitions = false;
  static NodeGpus of(const api::StringMap& labels);
  // The table of a model that is known to have eight GPUs in one NVLink domain; else nullptr.
  const GpuPartitions* partitions() const;
};

}  // namespace koord::scheduler
