#include "koordlet/system/nvml.h"

#include <fmt/format.h>

#include <array>

namespace koord::koordlet {
namespace {

using nvml::Return;

ErrorCode codeOf(Return code) {
  switch (code) {
    case nvml::kNotSupported:
    case nvml::kNotFound:
      return ErrorCode::NotFound;
    case nvml::kDriverNotLoaded:
    case nvml::kGpuIsLost:
    case nvml::kResetRequired:
    case nvml::kTimeout:
      return ErrorCode::Unavailable;
    default:
      return ErrorCode::Internal;
  }
}

// The largest buffer for a list; more entries are an error of the driver.
constexpr std::size_t kMaxEntries = 65'536;

template <std::size_t N>
std::string textIn(const std::array<char, N>& buffer) {
  const std::string_view all(buffer.data(), N);
  return std::string(all.substr(0, all.find('\0')));
}

}  // namespace

struct Nvml::Functions {
  Return (*init)();
  Return (*shutdown)();
  const char* (*errorString)(Return);
  Return (*driverVersion)(char*, unsigned);
  Return (*count)(unsigned*);
  Return (*byIndex)(unsigned, Device*);
  Return (*uuid)(Device, char*, unsigned);
  Return (*name)(Device, char*, unsigned);
  Return (*minor)(Device, unsigned*);
  Return (*pci)(Device, nvml::PciInfo*);
  Return (*memory)(Device, nvml::Memory*);
  // Null if the driver is too old to have the function.
  Return (*utilization)(Device, nvml::Utilization*);
  Return (*processes)(Device, unsigned*, nvml::ProcessInfo*);
  Return (*samples)(Device, nvml::ProcessSample*, unsigned*, unsigned long long);
  Return (*retiredPagesPending)(Device, int*);
  Return (*remappedRows)(Device, unsigned*, unsigned*, unsigned*, unsigned*);
  Return (*eventSetCreate)(nvml::EventSetHandle**);
  Return (*eventSetFree)(nvml::EventSetHandle*);
  Return (*registerEvents)(Device, unsigned long long, nvml::EventSetHandle*);
  Return (*eventSetWait)(nvml::EventSetHandle*, nvml::EventData*, unsigned);

  // Fails if a function that every driver has is missing.
  Result<> load(SharedLibrary& library);
};

Result<> Nvml::Functions::load(SharedLibrary& library) {
  library.need(init, "nvmlInit_v2")
      .need(shutdown, "nvmlShutdown")
      .need(errorString, "nvmlErrorString")
      .need(driverVersion, "nvmlSystemGetDriverVersion")
      .need(count, "nvmlDeviceGetCount_v2")
      .need(byIndex, "nvmlDeviceGetHandleByIndex_v2")
      .need(uuid, "nvmlDeviceGetUUID")
      .need(name, "nvmlDeviceGetName")
      .need(minor, "nvmlDeviceGetMinorNumber")
      .need(pci, "nvmlDeviceGetPciInfo_v3")
      .need(memory, "nvmlDeviceGetMemoryInfo")
      .find(utilization, "nvmlDeviceGetUtilizationRates")
      .find(processes, "nvmlDeviceGetComputeRunningProcesses_v3")
      .find(samples, "nvmlDeviceGetProcessUtilization")
      .find(retiredPagesPending, "nvmlDeviceGetRetiredPagesPendingStatus")
      .find(remappedRows, "nvmlDeviceGetRemappedRows")
      .find(eventSetCreate, "nvmlEventSetCreate")
      .find(eventSetFree, "nvmlEventSetFree")
      .find(registerEvents, "nvmlDeviceRegisterEvents")
      .find(eventSetWait, "nvmlEventSetWait_v2");
  if (!processes) library.find(processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  return library.complete();
}

Nvml::Nvml(SharedLibrary library, std::unique_ptr<Functions> functions)
    : library_(std::move(library)), call_(std::move(functions)) {}

Nvml::~Nvml() {
  if (events_) call_->eventSetFree(events_);
  call_->shutdown();
}

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& name) {
  auto library = SharedLibrary::open({name});
  if (!library) return fail(std::move(library.error()).within("GPUs are not measured"));
  auto functions = std::make_unique<Functions>();
  if (const auto loaded = functions->load(*library); !loaded)
    return fail(ErrorCode::NotFound, fmt::format("GPUs are not measured: {}; the driver is too old",
                                                 loaded.error().message));
  if (const Return code = functions->init(); code != nvml::kSuccess)
    return fail(codeOf(code),
                fmt::format("GPUs are not measured: nvmlInit: {}", functions->errorString(code)));
  return std::unique_ptr<Nvml>(new Nvml(*std::move(library), std::move(functions)));
}

std::unexpected<Error> Nvml::failed(std::string_view what, Return code) const {
  const char* why = call_->errorString(code);
  return fail(codeOf(code), fmt::format("NVML: {}: {} ({})", what, why ? why : "unknown", code));
}

Result<std::string> Nvml::driverVersion() const {
  std::array<char, nvml::kVersionSize> buffer{};
  if (const Return code = call_->driverVersion(buffer.data(), buffer.size()); code)
    return failed("driver version", code);
  return textIn(buffer);
}

Result<std::vector<Nvml::Device>> Nvml::devices() const {
  unsigned count = 0;
  if (const Return code = call_->count(&count); code) return failed("number of GPUs", code);
  std::vector<Device> devices;
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    if (call_->byIndex(index, &device) == nvml::kSuccess) devices.push_back(device);
  }
  return devices;
}

Result<GpuIdentity> Nvml::identify(Device device) const {
  std::array<char, nvml::kUuidSize> uuid{};
  std::array<char, nvml::kNameSize> name{};
  unsigned minor = 0;
  nvml::PciInfo pci{};
  if (const Return code = call_->uuid(device, uuid.data(), uuid.size()); code)
    return failed("UUID", code);
  if (const Return code = call_->name(device, name.data(), name.size()); code)
    return failed("name", code);
  if (const Return code = call_->minor(device, &minor); code) return failed("minor number", code);
  if (const Return code = call_->pci(device, &pci); code) return failed("PCI address", code);
  // NVML writes eight digits of the domain, the kernel as many as it needs, but at least four.
  return GpuIdentity{textIn(uuid), textIn(name), static_cast<int>(minor),
                     fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)};
}

Result<GpuMemory> Nvml::memory(Device device) const {
  nvml::Memory memory{};
  if (const Return code = call_->memory(device, &memory); code) return failed("memory", code);
  return GpuMemory{memory.total, memory.used};
}

Result<unsigned> Nvml::utilization(Device device) const {
  nvml::Utilization utilization{};
  const Return code =
      call_->utilization ? call_->utilization(device, &utilization) : nvml::kNotSupported;
  if (code) return failed("utilisation", code);
  return utilization.gpu;
}

Result<std::vector<nvml::ProcessInfo>> Nvml::processes(Device device) const {
  std::vector<nvml::ProcessInfo> list(64);
  for (;;) {
    auto count = static_cast<unsigned>(list.size());
    const Return code =
        call_->processes ? call_->processes(device, &count, list.data()) : nvml::kNotSupported;
    if (code == nvml::kInsufficientSize && list.size() < kMaxEntries) {
      // Processes may start before the next call.
      list.resize(std::max<std::size_t>(list.size() * 2, count + 16));
      continue;
    }
    if (code) return failed("processes", code);
    list.resize(std::min<std::size_t>(count, list.size()));
    return list;
  }
}

Result<std::vector<nvml::ProcessSample>> Nvml::samples(Device device, std::uint64_t afterUs) const {
  std::vector<nvml::ProcessSample> list;
  if (!call_->samples) return failed("utilisation of processes", nvml::kNotSupported);
  unsigned count = 0;
  Return code = call_->samples(device, nullptr, &count, afterUs);
  while (code == nvml::kInsufficientSize && count > list.size() && count < kMaxEntries) {
    list.resize(count);
    code = call_->samples(device, list.data(), &count, afterUs);
  }
  if (code == nvml::kNotFound) return std::vector<nvml::ProcessSample>();
  if (code) return failed("utilisation of processes", code);
  list.resize(std::min<std::size_t>(count, list.size()));
  return list;
}

bool Nvml::waitsForReset(Device device) const {
  int pagesPending = 0;
  if (call_->retiredPagesPending &&
      call_->retiredPagesPending(device, &pagesPending) == nvml::kSuccess && pagesPending)
    return true;
  unsigned corrected = 0, uncorrected = 0, pending = 0, failure = 0;
  return call_->remappedRows &&
         call_->remappedRows(device, &corrected, &uncorrected, &pending, &failure) ==
             nvml::kSuccess &&
         (pending || failure);
}

Result<> Nvml::watchFaults(Device device) {
  if (!call_->eventSetCreate || !call_->eventSetFree || !call_->registerEvents ||
      !call_->eventSetWait)
    return failed("events", nvml::kNotSupported);
  if (!events_)
    if (const Return code = call_->eventSetCreate(&events_); code) {
      events_ = nullptr;
      return failed("events", code);
    }
  const Return code = call_->registerEvents(device, nvml::kXidCriticalError, events_);
  if (code) return failed("critical errors", code);
  return {};
}

Result<std::vector<Nvml::Fault>> Nvml::takeFaults() {
  std::vector<Fault> faults;
  // A GPU that reports endless errors must not block this loop.
  constexpr int kMaxAtOnce = 256;
  for (int i = 0; events_ && i < kMaxAtOnce; ++i) {
    nvml::EventData event{};
    const Return code = call_->eventSetWait(events_, &event, 0);
    if (code == nvml::kTimeout) break;
    if (code) return failed("wait for critical errors", code);
    if (event.type == nvml::kXidCriticalError) faults.push_back({event.device, event.data});
  }
  return faults;
}

}  // namespace koord::koordlet
