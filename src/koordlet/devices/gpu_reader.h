#pragma once

// Reads all GPUs of this host through NVML: the list, the usage per process, and the health. Blocks
// as NVML does (see nvml.h); gpu_source.h calls it on another thread.

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
  int pid = 0;  // in the host's PID namespace
  std::uint64_t memory = 0;
  unsigned core = 0;  // percent of the GPU
};

struct Gpu {
  GpuIdentity identity;
  std::uint64_t memoryTotal = 0;
  std::optional<GpuFault> fault;
  // Sums over all processes; the device's values if the driver does not report processes.
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

  // Fails if the driver does not answer; the next call opens the library again.
  Result<GpuReading> read(SteadyTime now);

 private:
  // A GPU that was found once, by UUID. It stays in the list when it falls off the bus.
  struct Known {
    Gpu gpu;
    bool watched = false;
    bool present = false;         // found in this reading
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
