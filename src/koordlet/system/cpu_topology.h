#pragma once

// The machine's CPUs: which share a core, a last-level cache, a NUMA node and a socket. Read from
// /sys; a machine without that (some sandboxes) is taken from /proc/cpuinfo, or as one flat socket.

#include <string>
#include <vector>

#include "base/cpuset.h"
#include "base/result.h"
#include "koordlet/system/host_dirs.h"

namespace koord::koordlet {

struct CpuPlace {
  int cpu = 0;
  int core = 0;  // numbered over the whole machine, as lscpu does
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
  bool turbo = false;      // of Intel's driver; others do not say
  std::string l3WaysMask;  // of resctrl, "fffff"; empty without
  bool operator==(const CpuBasicInfo&) const = default;
};

Result<CpuTopology> readCpuTopology(const HostDirs& dirs);
CpuBasicInfo readCpuBasicInfo(const HostDirs& dirs);

}  // namespace koord::koordlet
