#pragma once

// The hardware of a simulated node: its capacity, CPUs, NUMA nodes, GPUs and network cards, which
// koordlet would publish as NodeResourceTopology and Device. Written in YAML:
//
//   name: gpu                         # nodes are called gpu-0, gpu-1, ...
//   labels: {pool: training}
//   capacity: {memory: 1Ti}           # cpu and devices follow from the rest
//   cpus: {sockets: 2, numaNodesPerSocket: 1, coresPerNumaNode: 48, threadsPerCore: 2}
//   gpus: {count: 8, perSwitch: 2, memory: 80Gi, vendor: nvidia, model: A100, partitions: NVLink}
//   rdma: {perSwitch: 1, functions: 8}
//   dra:                              # devices for ResourceClaims (dra_devices.h)
//   - {driver: gpu.example.com, count: 8, model: A100, memory: 80Gi,
//      extendedResource: example.com/gpu}

#include <optional>

#include "api/core.h"
#include "base/json.h"

namespace koord::cluster {

struct SimNodeShape {
  struct Cpus {
    int sockets = 1;
    int numaNodesPerSocket = 1;
    int coresPerNumaNode = 1;
    int threadsPerCore = 1;
    int numaNodes() const { return sockets * numaNodesPerSocket; }
    int cores() const { return numaNodes() * coresPerNumaNode; }
    int threads() const { return cores() * threadsPerCore; }
  };
  struct Gpus {
    int count = 0;      // spread evenly over NUMA nodes
    int perSwitch = 1;  // GPUs or cards per PCIe switch
    Quantity memory;    // of each GPU
    std::string vendor = "nvidia";
    std::string model;
    bool nvLink = false;  // connects pairs, fours and all
  };
  struct Rdma {
    int perSwitch = 1;
    int functions = 0;  // virtual functions of each card
  };

  // Devices that a DRA driver publishes in a ResourceSlice.
  struct Dra {
    std::string driver;              // also the name of the DeviceClass
    int count = 0;                   // spread evenly over NUMA nodes
    std::string model;               // "" = no attribute
    std::optional<Quantity> memory;  // capacity of each device
    std::string extendedResource;    // of the DeviceClass; "" = none
  };

  std::string name = "sim";
  api::StringMap labels;
  api::StringMap annotations;
  api::ResourceList capacity;  // default: 32 CPUs, 128Gi, 110 pods
  std::optional<Cpus> cpus;
  std::optional<Gpus> gpus;
  std::optional<Rdma> rdma;
  std::vector<Dra> dra;
};

// Errors name the field: "gpus.count: must be 1 to 64".
Result<SimNodeShape> parseNodeShape(std::string_view yaml);

// The capacity, including CPUs and devices.
api::ResourceList capacityOf(const SimNodeShape& shape);
api::StringMap labelsOf(const SimNodeShape& shape);
// The object that koordlet would write; nullopt if the shape does not define it.
std::optional<json::object> topologyOf(const SimNodeShape& shape, const std::string& node);
std::optional<json::object> deviceOf(const SimNodeShape& shape, const std::string& node);

}  // namespace koord::cluster
