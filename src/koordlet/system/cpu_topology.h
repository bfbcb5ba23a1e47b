#pragma once

// The host's CPUs: which share a core, a last-level cache, a NUMA node and a socket. Read from
// /sys; without that (some sandboxes) from /proc/cpuinfo, or assumed to be one flat socket.

#include <string>
#include <vector>

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct CpuPlace {
  int cpu = 0;
  int core = 0;  // numbered over the whole host, as lscpu does
  int l3 = 0;
  int node = 0;  // NUMA node
  int socket = 0;
  bool operator==(const CpuPlace&) const = default;
};

struct CpuTopology {
  std::vector<CpuPlace> cpus;  // online ones, sorted by node, socket, core, cpu

  CpuSet all() const;
  std::size_t count() const { return cpus.size(); }
};

struct CpuBasicInfo {
  std::string model;
  std::string vendor;
  bool hyperThreading = false;
  bool turbo = false;      // from Intel's driver; false with others
  std::string l3WaysMask;  // from resctrl, "fffff"; empty without resctrl
  bool operator==(const CpuBasicInfo&) const = default;
};

Result<CpuTopology> readCpuTopology(const HostDirs& dirs);
CpuBasicInfo readCpuBasicInfo(const HostDirs& dirs);

}  // namespace koord::koordlet
