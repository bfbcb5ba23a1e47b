#pragma once

// The binary interface of the part of NVIDIA's management library that koordlet calls. The library
// is opened at run time, so the build needs neither its header nor its import library. Names in
// comments are those of the C interface. Functions with several versions have different structs in
// each, so the version is part of the symbol that is looked up.

#include <cstdint>

namespace koord::koordlet::nvml {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;

struct DeviceHandle;    // nvmlDevice_t points to one
struct EventSetHandle;  // nvmlEventSet_t points to one

struct PciInfo {  // nvmlPciInfo_t, of nvmlDeviceGetPciInfo_v3
  char busIdLegacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t deviceAndVendor;
  std::uint32_t subSystem;
  char busId[32];
};
struct Memory {  // nvmlMemory_t, bytes
  std::uint64_t total;
  std::uint64_t free;
  std::uint64_t used;
};
struct Utilization {  // nvmlUtilization_t, percent
  std::uint32_t gpu;
  std::uint32_t memory;
};
inline constexpr std::uint64_t kNotAvailable = ~std::uint64_t{0};
struct ProcessInfo {  // nvmlProcessInfo_t, of nvmlDeviceGetComputeRunningProcesses_v2 and _v3
  std::uint32_t pid;
  std::uint64_t usedMemory;  // bytes, or kNotAvailable
  std::uint32_t gpuInstance;
  std::uint32_t computeInstance;
};
struct ProcessSample {  // nvmlProcessUtilizationSample_t, percent
  std::uint32_t pid;
  std::uint64_t timeUs;
  std::uint32_t sm;
  std::uint32_t memory;
  std::uint32_t encoder;
  std::uint32_t decoder;
};
inline constexpr std::uint64_t kXidCriticalError = 8;
struct EventData {  // nvmlEventData_t, of nvmlEventSetWait_v2
  DeviceHandle* device;
  std::uint64_t type;
  std::uint64_t data;  // the Xid
  std::uint32_t gpuInstance;
  std::uint32_t computeInstance;
};
static_assert(sizeof(PciInfo) == 68 && sizeof(Memory) == 24 && sizeof(ProcessInfo) == 24 &&
              sizeof(ProcessSample) == 32 && sizeof(EventData) == 32);

inline constexpr unsigned kUuidSize = 96;     // "GPU-" and a UUID
inline constexpr unsigned kNameSize = 96;     // "NVIDIA H200"
inline constexpr unsigned kVersionSize = 80;  // "570.86.15"

}  // namespace koord::koordlet::nvml
