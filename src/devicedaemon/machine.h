#pragma once

// The host as the vendors' readers see it: PCI devices, device files, and a Runner for tools and
// libraries. Tests use a folder with files, recorded outputs and a fake library.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "devicedaemon/found.h"
#include "devicedaemon/runner.h"

namespace koord::devicedaemon {

struct PciId {
  std::uint32_t vendor = 0, product = 0;
  std::uint32_t kind = 0;  // the class, without its interface: 0x1200 is a processing accelerator
};

struct Machine {
  Runner* runner = nullptr;
  std::string sysRoot = "/sys/";
  std::string devRoot = "/dev/";
  // Where vendors' libraries are searched, in the host's root.
  std::vector<std::string> cndev = {"libcndev.so", "/usr/local/neuware/lib64/libcndev.so"};
  std::vector<std::string> dcmi = {"libdcmi.so", "/usr/local/dcmi/libdcmi.so",
                                   "/usr/local/Ascend/driver/lib64/libdcmi.so"};
};

std::vector<PciId> pciIds(const Machine& machine);
// The numbers of /dev/<name>0, /dev/<name>1 and so on, sorted.
std::vector<int> deviceNumbers(const Machine& machine, std::string_view name);
// Adds the device's location in the PCI tree, by its bus id.
void place(const Machine& machine, Found& device);

// "00000000:C1:00.0" as the kernel writes it, "0000:c1:00.0"; "" if it is not an address.
std::string pciAddress(std::string_view text);

}  // namespace koord::devicedaemon
