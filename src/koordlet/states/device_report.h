#pragma once

// Computes the wanted Device object of this node: its GPUs and RDMA cards, with their place in the
// topology and their health.

#include "api/core.h"
#include "api/device.h"
#include "koordlet/devices/gpu_reader.h"
#include "koordlet/states/xpu_files.h"
#include "koordlet/system/pci.h"

namespace koord::koordlet {

struct DeviceInventory {
  bool reportsGpus = false;
  std::optional<GpuReading> gpus;  // none: the driver has not answered yet
  std::string driverProblem;       // not empty: the driver has permanently stopped to answer
  std::map<std::string, PciPlace> places;  // of GPUs, by bus id, as far as known
  XpuInventory xpus;                       // if there are some, they are the node's GPUs
  bool reportsRdma = false;
  std::vector<RdmaCard> rdmaCards;
};

// `existing` is the current object, nullptr if there is none. Kinds of devices that are not
// reported keep their entries there, as do GPUs until the driver answers; when it has stopped to
// answer they are unhealthy. Unchanged conditions keep their time. nullopt if there is neither an
// object nor anything to report.
struct DeviceReport {
  api::List<api::DeviceInfo> devices;                        // by type and minor
  std::map<std::string, std::optional<std::string>> labels;  // nullopt: remove the label
  std::map<std::string, json::value> annotations;            // as documents
};
std::optional<DeviceReport> deviceReport(const DeviceInventory& inventory,
                                         const api::Device* existing, WallTime now);

// spec.devices as JSON, including the fields that must be present if they are 0.
json::array devicesJson(const api::List<api::DeviceInfo>& devices);
// Returns true if the object equals the report.
bool equalsObject(const DeviceReport& report, const api::Device& object);

}  // namespace koord::koordlet
