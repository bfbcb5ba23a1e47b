#pragma once

// Reads all GPUs of this machine through NVML: which there are, what processes use of them, and
// whether they are well. Blocks as NVML does (see nvml.h); gpu_source.h moves it off the actor.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "koordlet/system/nvml.h"

namespace koord::koordlet {

struct GpuFault {
  std::string reason;  // "Xid79", "DeviceHealthCheckNotSupported", "DeviceLost"
  std::string message;
};

struct GpuProcess {
  int pid = 0;  // of the host
  std::uint64_t memory = 0;
  unsigned core = 0;  // percent of the GPU
};

struct Gpu {
  GpuIdentity identity;
  std::uint64_t memoryTotal = 0;
  std::optional<GpuFault> fault;
  // Of all its processes; where the driver cannot tell them apart, of the device.
  std::uint64_t memoryUsed = 0;
  unsigned core = 0;
  std::vector<GpuProcess> processes;
};

struct GpuReading {
  std::string driverVersion;
  std::vector<Gpu> gpus;  // by minor
};

class GpuReader {
 public:
  explicit GpuReader(std::string library = "libnvidia-ml.so.1") : library_(std::move(library)) {}

  // An error when the driver does not answer; the next call tries to open it anew.
  Result<GpuReading> read(SteadyTime now);

 private:
  // A GPU that was seen, by UUID; it stays when it falls off the bus.
  struct Known {
    Gpu gpu;
    bool watched = false;
    bool present = false;         // in this reading
    std::uint64_t sampledUs = 0;  // time of the newest sample that was read
    SteadyTime faultAt{};         // of its last error
  };

  Result<> open();
  Result<> find(SteadyTime now);
  void watch(Known& known, Nvml::Device device);
  void measure(Known& known, Nvml::Device device);
  void takeFaults(SteadyTime now);
  void recover(Known& known, Nvml::Device device, SteadyTime now);

  std::string library_;
  std::unique_ptr<Nvml> nvml_;
  std::string driverVersion_;
  std::map<std::string, Known> known_;
  std::vector<std::pair<Nvml::Device, Known*>> present_;
};

}  // namespace koord::koordlet
