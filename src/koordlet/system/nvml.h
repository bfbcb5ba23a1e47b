#pragma once

// NVIDIA's management library (NVML), opened at run time: a node without GPUs does not need it, and
// one koordlet works with every driver. Each function wraps one call of the library and handles its
// buffers and error codes. Memory is in bytes, utilisation in percent of the whole device.
//
// Errors: NotFound if the library, the function or the capability is missing, Unavailable if the
// driver or the GPU does not answer, Internal for everything else. If a GPU is faulty, calls may
// block without limit, so do not call on an actor's thread. NVML is safe to call from any thread.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shared_library.h"
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
  std::uint64_t used = 0;  // includes the driver's own use
};

class Nvml {
 public:
  using Device = nvml::DeviceHandle*;

  static Result<std::unique_ptr<Nvml>> open(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Result<std::string> driverVersion() const;
  // Returns the GPUs that answer; omits a GPU that fell off the bus.
  Result<std::vector<Device>> devices() const;
  Result<GpuIdentity> identify(Device device) const;
  Result<GpuMemory> memory(Device device) const;
  // Percent of the last second in which at least one kernel ran.
  Result<unsigned> utilization(Device device) const;
  Result<std::vector<nvml::ProcessInfo>> processes(Device device) const;
  // Returns the samples of processes after that time; may be empty.
  Result<std::vector<nvml::ProcessSample>> samples(Device device, std::uint64_t afterUs) const;
  // Returns true if memory pages or rows are replaced at the next reset. False if it is unknown.
  bool waitsForReset(Device device) const;

  // Makes takeFaults() return critical Xid errors of the device from now on.
  Result<> watchFaults(Device device);
  struct Fault {
    Device device = nullptr;
    std::uint64_t xid = 0;
  };
  // The errors since the last call. Does not wait.
  Result<std::vector<Fault>> takeFaults();

 private:
  struct Functions;
  Nvml(SharedLibrary library, std::unique_ptr<Functions> functions);
  std::unexpected<Error> failed(std::string_view what, nvml::Return code) const;

  SharedLibrary library_;
  std::unique_ptr<Functions> call_;
  nvml::EventSetHandle* events_ = nullptr;
};

}  // namespace koord::koordlet
