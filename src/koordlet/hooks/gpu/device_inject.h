#pragma once

// What a container gets of the devices that the scheduler allocated to its pod, as it is made: the
// names of its GPUs, and limits of shared ones where HAMi-core enforces them (gate GPUEnvInject); the
// device files of its RDMA cards (gate RDMADeviceInject). Running containers cannot be given more.

#include "koordlet/hooks/hook.h"

namespace koord::koordlet {

// Of the annotation scheduling.koordinator.sh/device-allocated.
struct AllocatedDevice {
  std::int64_t minor = 0;
  std::string id;
  json::value resources;
  std::vector<std::string> functions;  // bus ids of virtual functions
};
// Devices of a type, "gpu" or "rdma"; none without the annotation. An error when it is nonsense.
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
  // `deviceRoot`: where the files of /dev are looked at.
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
