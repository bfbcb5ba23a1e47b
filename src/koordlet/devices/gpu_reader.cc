#include "koordlet/devices/gpu_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

// A process's share of a GPU is the newest sample that the driver has taken of it since the last
// reading. The driver samples only active processes, so a process without a new sample used
// nothing. GPUs without samples (partitioned GPUs) are measured as a whole.
//
// A GPU is unhealthy after a critical Xid error that an application alone cannot cause, when it
// falls off the bus, or if it does not support health checks. It is healthy again when it has
// answered for ten minutes without another error and no memory rows wait for a reset. That
// suffices: after an error that makes a GPU unusable it does not answer, or has rows to remap.
//
// Sources: NVIDIA's NVML reference and its table of Xid errors. Cost: about ten calls per GPU,
// below a millisecond each.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRecoveryPeriod = 10min;

// Xid errors of the program that runs on the GPU, not of the GPU.
constexpr std::array<std::uint64_t, 6> kApplicationErrors = {13, 31, 43, 45, 68, 109};

constexpr std::string_view kNoHealthCheck = "DeviceHealthCheckNotSupported";
constexpr std::string_view kLost = "DeviceLost";

// The newest sample of each process.
std::map<unsigned, nvml::ProcessSample> newestOf(const std::vector<nvml::ProcessSample>& samples) {
  std::map<unsigned, nvml::ProcessSample> newest;
  for (const auto& sample : samples) {
    auto& known = newest[sample.pid];
    if (sample.timeUs >= known.timeUs) known = sample;
  }
  return newest;
}

}  // namespace

Result<> GpuReader::open() {
  if (nvml_) return {};
  auto opened = Nvml::open(library_);
  if (!opened) return fail(std::move(opened.error()));
  auto version = (*opened)->driverVersion();
  if (!version) return fail(std::move(version.error()));
  driverVersion_ = *std::move(version);
  nvml_ = *std::move(opened);
  for (auto& [uuid, known] : known_) {
    known.watched = false;
    known.sampledUs = 0;
  }
  return {};
}

Result<> GpuReader::find(SteadyTime now) {
  present_.clear();
  for (auto& [uuid, known] : known_) known.present = false;
  const auto devices = nvml_->devices();
  if (!devices) return fail(devices.error());
  for (const auto device : *devices) {
    auto identity = nvml_->identify(device);
    const auto memory = nvml_->memory(device);
    if (!identity || !memory) continue;  // reported below as lost if it is known
    Known& known = known_[identity->uuid];
    known.gpu.identity = *std::move(identity);
    known.gpu.memoryTotal = memory->total;
    known.gpu.memoryUsed = memory->used;
    known.present = true;
    present_.emplace_back(device, &known);
  }
  for (auto& [uuid, known] : known_) {
    if (known.present) continue;
    known.gpu.fault = GpuFault{std::string(kLost), "the GPU does not respond"};
    known.gpu.processes.clear();
    known.gpu.core = 0;
    known.gpu.memoryUsed = 0;
    known.watched = false;
    known.faultAt = now;
  }
  return {};
}

void GpuReader::watch(Known& known, Nvml::Device device) {
  if (known.watched) return;
  known.watched = true;
  const auto watching = nvml_->watchFaults(device);
  if (!watching && watching.error().code == ErrorCode::NotFound)
    known.gpu.fault =
        GpuFault{std::string(kNoHealthCheck), "the device does not support health checking"};
}

void GpuReader::measure(Known& known, Nvml::Device device) {
  Gpu& gpu = known.gpu;
  gpu.processes.clear();
  const auto processes = nvml_->processes(device);
  const auto samples = nvml_->samples(device, known.sampledUs);
  gpu.core = 0;
  if (samples) {
    const auto newest = newestOf(*samples);
    for (const auto& [pid, sample] : newest) {
      known.sampledUs = std::max(known.sampledUs, sample.timeUs);
      gpu.core += sample.sm;
    }
    gpu.core = std::min(gpu.core, 100U);
    for (const auto& process : processes.value_or(std::vector<nvml::ProcessInfo>())) {
      const auto sample = newest.find(process.pid);
      gpu.processes.push_back({static_cast<int>(process.pid), process.usedMemory,
                               sample == newest.end() ? 0 : sample->second.sm});
    }
  } else {
    if (const auto all = nvml_->utilization(device)) gpu.core = *all;
    for (const auto& process : processes.value_or(std::vector<nvml::ProcessInfo>()))
      gpu.processes.push_back({static_cast<int>(process.pid), process.usedMemory, 0});
  }
  if (!processes) return;
  std::uint64_t memory = 0;
  for (auto& process : gpu.processes) {
    if (process.memory == nvml::kNotAvailable) return;  // the device's values stay
    memory += process.memory;
  }
  gpu.memoryUsed = memory;
}

void GpuReader::takeFaults(SteadyTime now) {
  const auto faults = nvml_->takeFaults();
  for (const auto& fault : faults.value_or(std::vector<Nvml::Fault>())) {
    if (std::ranges::find(kApplicationErrors, fault.xid) != kApplicationErrors.end()) continue;
    for (auto& [device, known] : present_) {
      if (device != fault.device) continue;
      known->gpu.fault = GpuFault{fmt::format("Xid{}", fault.xid),
                                  fmt::format("Xid error {} on the device", fault.xid)};
      known->faultAt = now;
    }
  }
}

void GpuReader::recover(Known& known, Nvml::Device device, SteadyTime now) {
  const auto& fault = known.gpu.fault;
  if (!fault || fault->reason == kNoHealthCheck || now - known.faultAt < kRecoveryPeriod) return;
  if (nvml_->waitsForReset(device)) {
    known.faultAt = now;
    return;
  }
  known.gpu.fault.reset();
}

Result<GpuReading> GpuReader::read(SteadyTime now) {
  if (auto opened = open(); !opened) return fail(std::move(opened.error()));
  if (auto found = find(now); !found) {
    nvml_.reset();  // NVML must be initialized again after the driver is reloaded
    return fail(std::move(found.error()));
  }
  for (auto& [device, known] : present_) {
    watch(*known, device);
    measure(*known, device);
    recover(*known, device, now);
  }
  takeFaults(now);
  GpuReading reading{driverVersion_, {}};
  for (const auto& [uuid, known] : known_) reading.gpus.push_back(known.gpu);
  std::ranges::sort(reading.gpus, {}, [](const Gpu& gpu) { return gpu.identity.minor; });
  return reading;
}

}  // namespace koord::koordlet
