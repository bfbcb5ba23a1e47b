#pragma once

// The part of Cambricon's management library (libcndev.so) that is used here, as its public header
// describes it for version 5 of its interface, which later libraries also support.

#include <array>
#include <cstdint>

#include "devicedaemon/machine.h"

namespace koord::devicedaemon::cndev {

constexpr std::int32_t kVersion = 5;
using Device = std::int32_t;

struct CardCount {
  std::int32_t version = kVersion;
  std::uint32_t number = 0;
};
struct Uuid {
  std::int32_t version = kVersion;
  std::array<std::uint8_t, 37> text{};
  std::uint64_t ncs = 0;
};
struct Memory {  // in MiB; it has no version
  std::int64_t total = 0, used = 0, reserved = 0, virtualTotal = 0, virtualUsed = 0;
};
struct Pcie {
  std::int32_t version = kVersion;
  std::uint32_t subsystemId = 0, deviceId = 0;
  std::uint16_t vendor = 0, subsystemVendor = 0;
  std::uint32_t domain = 0, bus = 0, device = 0, function = 0;
  const char* slot = nullptr;
  std::int32_t slotId = 0;
};
struct Health {
  std::int32_t version = kVersion;
  std::int32_t good = 0;
};

// All devices that answer. The library may crash: call it within Runner::runIsolated.
Result<std::vector<Found>> devices(const std::vector<std::string>& library);

}  // namespace koord::devicedaemon::cndev
