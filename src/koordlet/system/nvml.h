#pragma once

// NVIDIA's management library, opened at run time: a node without GPUs needs nothing of it, and one
// koordlet fits every driver. One call here is one call there, with its buffers and error codes
// made safe. Memory is in bytes, utilisation in percent of the whole device.
//
// Errors: NotFound when the library, the function or the ability is not there, Unavailable when the
// driver or the GPU does not answer, Internal for everything else. Calls may block for as long as
// the driver likes when a GPU is sick, so nothing of this belongs on an actor's thread. NVML itself
// is safe to call from any thread.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "koordlet/system/nvml_abi.h"

namespace koord::koordlet {

struct GpuIdentity {
  std::string uuid;   // "GPU-3f1c..."
  std::string model;  // "NVIDIA H200"
  int minor = 0;      // of /dev/nvidia<minor>
  std::string busId;  // as below /sys/bus/pci/devices: "0000:3b:00.0"
};

struct GpuMemory {
  std::uint64_t total = 0;
  std::uint64_t used = 0;  // includes what the driver keeps for itself
};

class Nvml {
 public:
  using Device = nvml::DeviceHandle*;

  static Result<std::unique_ptr<Nvml>> open(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Result<std::string> driverVersion() const;
  // Those that answer; a GPU that fell off the bus is left out.
  Result<std::vector<Device>> devices() const;
  Result<GpuIdentity> identify(Device device) const;
  Result<GpuMemory> memory(Device device) const;
  // How much of the last second at least one kernel ran.
  Result<unsigned> utilization(Device device) const;
  Result<std::vector<nvml::ProcessInfo>> processes(Device device) const;
  // What was sampled of processes after that time; none is no error.
  Result<std::vector<nvml::ProcessSample>> samples(Device device, std::uint64_t afterUs) const;
  // Whether memory pages or rows wait for a reset to be replaced. False where it cannot be known.
  bool waitsForReset(Device device) const;

  // Critical Xid errors of the device are told by nextFault from now on.
  Result<> watchFaults(Device device);
  struct Fault {
    Device device = nullptr;
    std::uint64_t xid = 0;
  };
  // The errors since the last call. Does not wait.
  Result<std::vector<Fault>> takeFaults();

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<Functions> functions);
  std::unexpected<Error> failed(std::string_view what, nvml::Return code) const;

  void* library_;
  std::unique_ptr<Functions> call_;
  nvml::EventSetHandle* events_ = nullptr;
};

}  // namespace koord::koordlet
