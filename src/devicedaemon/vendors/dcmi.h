#pragma once

// The part of Huawei's management library (libdcmi.so) that is used here, as its public header
// describes it. A card has one or more chips, and each is a device.

#include <array>
#include <cstdint>

#include "devicedaemon/machine.h"

namespace koord::devicedaemon::dcmi {

constexpr int kMaxCards = 64;
constexpr int kNpu = 0;         // kind of a chip; others are controllers
constexpr unsigned kMajor = 2;  // from this health on a chip must not be used

struct Chip {
  std::array<unsigned char, 32> type{}, name{}, version{};  // "Ascend", "910B3", "V1"
  unsigned aiCores = 0;
};
struct Pcie {
  unsigned vendor = 0, subsystemVendor = 0, device = 0, subsystem = 0;
  int domain = 0;
  unsigned bus = 0, slot = 0, function = 0;
  std::array<unsigned char, 32> reserve{};
};
struct Hbm {
  unsigned long long memory = 0;  // MiB
  unsigned frequency = 0;
  unsigned long long used = 0;
  int temperature = 0;
  unsigned bandwidth = 0;
};
struct Ddr {
  unsigned long long memory = 0;  // MiB
  unsigned long long available = 0;
};
// Control, data and AI CPUs.
using CpuCounts = std::array<unsigned char, 16>;

// All devices that answer. The library may crash: call it within Runner::runIsolated.
Result<std::vector<Found>> devices(const std::vector<std::string>& library);

}  // namespace koord::devicedaemon::dcmi
