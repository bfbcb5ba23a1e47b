#pragma once

// The host as koordlet detects it at start: directories, cgroup layout, cgroup driver, CPUs. The
// driver may be detected later than the rest, when kubelet creates its first cgroup.

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
  std::string driverSource;  // "kubepods.slice exists"; empty while the driver is unknown
  std::optional<CpuTopology> topology;

  static Result<Host> detect(HostDirs dirs);
  // Looks for kubepods directories, then for kubelet. Returns false if there is neither yet.
  bool detectDriver();
  // The cgroup of Guaranteed pods, the parent of the other two QoS classes.
  const std::string& kubepods() const { return kubepodsDir(driver); }
  const std::string& besteffort() const { return qosDir(driver, KubeQos::BestEffort); }
};

// A kernel feature that an optional koordlet feature needs, with the reason if it is missing.
struct Capability {
  std::string name;  // "resctrl"
  bool present = false;
  std::string detail;  // what was found or what is missing
};
std::vector<Capability> probeCapabilities(const Host& host);

}  // namespace koord::koordlet
