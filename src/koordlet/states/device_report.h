#pragma once

// The Device object of this node as it should be: its GPUs and RDMA cards, with where they sit and
// whether they are well.

#include "api/core.h"
#include "api/device.h"
#include "koordlet/devices/gpu_reader.h"
#include "koordlet/states/xpu_files.h"
#include "koordlet/system/pci.h"

namespace koord::koordlet {

struct DeviceInventory {
  bool reportsGpus = false;
  std::optional<GpuReading> gpus;          // none: the driver has not answered yet
  std::string driverProblem;               // not empty: it has stopped answering for good
  std::map<std::string, PciPlace> places;  // of GPUs, by bus id, as far as they are known
  XpuInventory xpus;                       // where there are some, they are the node's GPUs
  bool reportsRdma = false;
  std::vector<RdmaCard> rdmaCards;
};

// `existing` is the object as it is, nullptr when there is none. Kinds of devices that are not
// reported keep the entries that they have there, as do GPUs while the driver has not answered;
// when it answers no more they are ill. Unchanged conditions keep their time. nullopt when there is
// neither an object nor anything to report.
struct DeviceReport {
  api::List<api::DeviceInfo> devices;                        // by type and minor
  std::map<std::string, std::optional<std::string>> labels;  // without a value: to be removed
  std::map<std::string, json::value> annotations;            // as documents
};
std::optional<DeviceReport> deviceReport(const DeviceInventory& inventory,
                                         const api::Device* existing, WallTime now);

// spec.devices as written, with the fields that must not be left out when they are 0.
json::array devicesJson(const api::List<api::DeviceInfo>& devices);
// Whether the object already says what the report says.
bool saysTheSame(const DeviceReport& report, const api::Device& object);

}  // namespace koord::koordlet
