// The functions of NVIDIA's management library over the GPUs of fake_nvml.h.

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "koordlet/system/nvml_abi.h"
#include "koordlet/testing/nvml/fake_nvml.h"

using namespace koord::koordlet;
using nvml::DeviceHandle;
using nvml::EventSetHandle;
using nvml::Return;

namespace {

FakeNvmlState state;
bool registered[8];
int eventSet;

FakeGpu& gpuOf(DeviceHandle* handle) {
  return *reinterpret_cast<FakeGpu*>(handle);
}

Return copyText(const char* text, char* buffer, unsigned size) {
  if (std::strlen(text) >= size) return nvml::kInsufficientSize;
  std::strcpy(buffer, text);
  return nvml::kSuccess;
}

}  // namespace

extern "C" {

FakeNvmlState* fakeNvmlState() {
  return &state;
}

Return nvmlInit_v2() {
  if (state.initAnswer) return state.initAnswer;
  ++state.open;
  std::ranges::fill(registered, false);
  return nvml::kSuccess;
}

Return nvmlShutdown() {
  --state.open;
  return nvml::kSuccess;
}

const char* nvmlErrorString(Return code) {
  switch (code) {
    case nvml::kNotSupported:
      return "Not Supported";
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* buffer, unsigned size) {
  return copyText(state.driver, buffer, size);
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
  if (state.countAnswer) return state.countAnswer;
  *count = state.gpuCount;
  return nvml::kSuccess;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, DeviceHandle** device) {
  if (index >= state.gpuCount) return 2;
  if (state.gpus[index].answer) return state.gpus[index].answer;
  *device = reinterpret_cast<DeviceHandle*>(&state.gpus[index]);
  return nvml::kSuccess;
}

Return nvmlDeviceGetUUID(DeviceHandle* device, char* buffer, unsigned size) {
  const FakeGpu& gpu = gpuOf(device);
  return gpu.answer ? gpu.answer : copyText(gpu.uuid, buffer, size);
}

Return nvmlDeviceGetName(DeviceHandle* device, char* buffer, unsigned size) {
  const FakeGpu& gpu = gpuOf(device);
  return gpu.answer ? gpu.answer : copyText(gpu.name, buffer, size);
}

Return nvmlDeviceGetMinorNumber(DeviceHandle* device, unsigned* minor) {
  *minor = gpuOf(device).minor;
  return gpuOf(device).answer;
}

Return nvmlDeviceGetPciInfo_v3(DeviceHandle* device, nvml::PciInfo* pci) {
  const FakeGpu& gpu = gpuOf(device);
  if (gpu.answer) return gpu.answer;
  *pci = {};
  pci->domain = gpu.domain;
  pci->bus = gpu.bus;
  pci->device = gpu.device;
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", gpu.domain, gpu.bus,
                gpu.device);
  std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", gpu.domain, gpu.bus, gpu.device);
  return nvml::kSuccess;
}

Return nvmlDeviceGetMemoryInfo(DeviceHandle* device, nvml::Memory* memory) {
  const FakeGpu& gpu = gpuOf(device);
  if (gpu.answer) return gpu.answer;
  *memory = {gpu.memoryTotal, gpu.memoryTotal - gpu.memoryUsed, gpu.memoryUsed};
  return nvml::kSuccess;
}

Return nvmlDeviceGetUtilizationRates(DeviceHandle* device, nvml::Utilization* utilization) {
  *utilization = {gpuOf(device).utilization, 0};
  return gpuOf(device).answer;
}

Return nvmlDeviceGetComputeRunningProcesses_v3(DeviceHandle* device, unsigned* count,
                                               nvml::ProcessInfo* list) {
  const FakeGpu& gpu = gpuOf(device);
  if (gpu.answer) return gpu.answer;
  const unsigned room = *count;
  *count = gpu.processCount;
  if (room < gpu.processCount) return nvml::kInsufficientSize;
  for (unsigned i = 0; i < gpu.processCount; ++i)
    list[i] = {gpu.processes[i].pid, gpu.processes[i].memory, ~0U, ~0U};
  return nvml::kSuccess;
}

Return nvmlDeviceGetProcessUtilization(DeviceHandle* device, nvml::ProcessSample* list,
                                       unsigned* count, unsigned long long afterUs) {
  const FakeGpu& gpu = gpuOf(device);
  if (gpu.answer || gpu.samplesAnswer) return gpu.answer ? gpu.answer : gpu.samplesAnswer;
  unsigned found = 0;
  for (unsigned i = 0; i < gpu.processCount; ++i) {
    const FakeGpuProcess& process = gpu.processes[i];
    if (process.sampledUs == 0 || process.sampledUs <= afterUs) continue;
    if (list && found < *count) list[found] = {process.pid, process.sampledUs, process.sm, 0, 0, 0};
    ++found;
  }
  if (found == 0) return nvml::kNotFound;
  const bool fits = list && found <= *count;
  *count = found;
  return fits ? nvml::kSuccess : nvml::kInsufficientSize;
}

Return nvmlDeviceGetRemappedRows(DeviceHandle* device, unsigned* corrected, unsigned* uncorrected,
                                 unsigned* pending, unsigned* failure) {
  *corrected = *uncorrected = *failure = 0;
  *pending = gpuOf(device).rowsPending;
  return gpuOf(device).answer;
}

Return nvmlEventSetCreate(EventSetHandle** set) {
  *set = reinterpret_cast<EventSetHandle*>(&eventSet);
  return nvml::kSuccess;
}

Return nvmlEventSetFree(EventSetHandle*) {
  return nvml::kSuccess;
}

Return nvmlDeviceRegisterEvents(DeviceHandle* device, unsigned long long types, EventSetHandle*) {
  const FakeGpu& gpu = gpuOf(device);
  if (gpu.registerAnswer) return gpu.registerAnswer;
  if (types != nvml::kXidCriticalError) return 2;
  registered[&gpu - state.gpus] = true;
  return nvml::kSuccess;
}

Return nvmlEventSetWait_v2(EventSetHandle*, nvml::EventData* event, unsigned) {
  if (state.faultCount == 0) return nvml::kTimeout;
  const auto fault = state.faults[0];
  std::copy(state.faults + 1, state.faults + state.faultCount, state.faults);
  --state.faultCount;
  if (!registered[fault.gpu]) return nvml::kTimeout;
  *event = {reinterpret_cast<DeviceHandle*>(&state.gpus[fault.gpu]), nvml::kXidCriticalError,
            fault.xid, ~0U, ~0U};
  return nvml::kSuccess;
}
}
