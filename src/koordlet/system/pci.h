#pragma once

// PCI devices in /sys: their place in the host's topology, and which network cards support RDMA.
// Addresses have the kernel's format, "0000:3b:00.0".

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct PciPlace {
  int numaNode = 0;         // 0 if unknown
  std::string rootComplex;  // "pci0000:3a"; "" if the device's path does not show it
};
// NotFound if there is no such device.
Result<PciPlace> pciPlaceOf(const HostDirs& dirs, std::string_view busId);

struct RdmaCard {
  std::string busId;
  int minor = 0;         // 1 of mlx5_1
  bool healthy = false;  // every port is active
  PciPlace place;
  std::vector<std::string> virtualFunctions;  // their addresses, sorted
};
// Physical functions of network cards with an RDMA device whose name has a number, by address.
std::vector<RdmaCard> rdmaCards(const HostDirs& dirs);

}  // namespace koord::koordlet
