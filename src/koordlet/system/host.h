#pragma once

// The machine as koordlet found it at start: directories, cgroup layout, cgroup driver, CPUs. The
// driver may be found later than the rest, when kubelet makes its first cgroup.

#include <optional>
#include <string>
#include <vector>

#include "koordlet/system/cgroup_layout.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/cpu_topology.h"

namespace koord::koordlet {

struct Host {
  HostDirs dirs;
  CgroupLayout layout;
  CgroupDriver driver = CgroupDriver::Systemd;
  std::string driverSource;  // "kubepods.slice exists"; empty while nothing told
  std::optional<CpuTopology> topology;

  static Result<Host> detect(HostDirs dirs);
  // Looks for kubepods directories, then for kubelet; false when neither is there yet.
  bool detectDriver();
  // The cgroup of Guaranteed pods and above the other two QoS classes.
  const std::string& kubepods() const { return kubepodsDir(driver); }
  const std::string& besteffort() const { return qosDir(driver, KubeQos::BestEffort); }
};

// Whether the kernel has what the optional features need; each with the reason when it does not.
struct Capability {
  std::string name;  // "resctrl"
  bool present = false;
  std::string detail;  // what was found or is missing
};
std::vector<Capability> probeCapabilities(const Host& host);

}  // namespace koord::koordlet
