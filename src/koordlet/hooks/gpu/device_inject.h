#pragma once

// Gives a container, when it is created, the devices that the scheduler allocated to its pod: the
// names of its GPUs, the limits of shared GPUs if HAMi-core enforces them (gate GPUEnvInject), and
// the device files of its RDMA cards (gate RDMADeviceInject). Running containers get no devices.

#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

// A device in the annotation scheduling.koordinator.sh/device-allocated.
struct AllocatedDevice {
  std::int64_t minor = 0;
  std::string id;
  json::value resources;
  std::vector<std::string> functions;  // bus ids of virtual functions
};
// Devices of a type, "gpu" or "rdma"; none without the annotation. Fails if it is malformed.
Result<std::vector<AllocatedDevice>> allocatedDevices(const PodView& pod, std::string_view type);

class GpuEnvHook final : public Hook {
 public:
  struct Options {
    std::string hamiLibrary = "/usr/local/vgpu/libvgpu.so";
    bool hamiMonitor = false;  // gate HamiCoreVGPUMonitor
  };
  explicit GpuEnvHook(Options options) : options_(std::move(options)) {}
  void prepare(const States&, HookUpdates&) override {}
  void wanted(const PodView&, HookUpdates&) override {}
  Result<> starting(const PodView& pod, const ContainerView& container,
                    ContainerStart& start) override;

 private:
  Result<> limit(const PodView& pod, const ContainerView& container, const AllocatedDevice& gpu,
                 ContainerStart& start) const;
  Options options_;
};

class RdmaDeviceHook final : public Hook {
 public:
  // `deviceRoot`: the directory in which koordlet sees the host's /dev.
  explicit RdmaDeviceHook(const Host& host, std::string deviceRoot = "/dev/")
      : host_(host), deviceRoot_(std::move(deviceRoot)) {}
  void prepare(const States&, HookUpdates&) override {}
  void wanted(const PodView&, HookUpdates&) override {}
  Result<> starting(const PodView& pod, const ContainerView& container,
                    ContainerStart& start) override;

 private:
  const Host& host_;
  std::string deviceRoot_;
};

}  // namespace koord::koordlet
