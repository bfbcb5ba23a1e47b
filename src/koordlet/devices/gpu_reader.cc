#include "koordlet/devices/gpu_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

// A process's share of a GPU is the newest sample that the driver took of it since we last asked;
// the driver makes samples only of processes that do something, so one without a new sample used
// nothing. GPUs whose driver takes no samples (partitioned ones) are measured as a whole.
//
// A GPU is ill after a critical Xid error other than those that only an application causes, when it
// falls off the bus, or when it cannot tell errors. It counts as well again when it has been
// answering for ten minutes without another error and has no memory that waits for a reset: the
// errors after which a GPU must not be used are those after which it does not answer, or which leave
// rows to be remapped.
//
// Sources: NVIDIA's NVML reference and its table of Xid errors. Cost: about ten calls per GPU,
// below a millisecond each.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConvalescence = 10min;

// Errors of the program that runs on the GPU, not of the GPU.
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
    if (!identity || !memory) continue;  // told below as lost, if it was ever seen
    Known& known = known_[identity->uuid];
    known.gpu.identity = *std::move(identity);
    known.gpu.memoryTotal = memory->total;
    known.gpu.memoryUsed = memory->used;
    known.present = true;
    present_.emplace_back(device, &known);
  }
  for (auto& [uuid, known] : known_) {
    if (known.present) continue;
    known.gpu.fault = GpuFault{std::string(kLost), "the GPU does not answer any more"};
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
    if (process.memory == nvml::kNotAvailable) return;  // what the device says stays
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
  if (!fault || fault->reason == kNoHealthCheck || now - known.faultAt < kConvalescence) return;
  if (nvml_->waitsForReset(device)) {
    known.faultAt = now;
    return;
  }
  known.gpu.fault.reset();
}

Result<GpuReading> GpuReader::read(SteadyTime now) {
  if (auto opened = open(); !opened) return fail(std::move(opened.error()));
  if (auto found = find(now); !found) {
    nvml_.reset();  // a driver that was loaded anew wants a new start
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
