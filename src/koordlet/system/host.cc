#include "koordlet/system/host.h"

#include <fmt/core.h>

#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {

Result<Host> Host::detect(HostDirs dirs) {
  auto layout = CgroupLayout::detect(dirs);
  if (!layout) return fail(std::move(layout.error()));
  Host host{std::move(dirs), *std::move(layout)};
  if (auto topology = readCpuTopology(host.dirs)) host.topology = *std::move(topology);
  host.detectDriver();
  return host;
}

bool Host::detectDriver() {
  for (const auto candidate : {CgroupDriver::Systemd, CgroupDriver::Cgroupfs}) {
    const std::string dir = layout.dir(Subsystem::Cpu, kubepodsDir(candidate));
    if (!pathExists(dir)) continue;
    driver = candidate;
    driverSource = fmt::format("{} exists", dir);
    return true;
  }
  const auto told = cgroupDriverOfKubelet(dirs.procRoot);
  if (!told) return false;
  driver = *told == "systemd" ? CgroupDriver::Systemd : CgroupDriver::Cgroupfs;
  driverSource = fmt::format("kubelet runs with cgroup driver {}", *told);
  return true;
}

std::vector<Capability> probeCapabilities(const Host& host) {
  const auto& dirs = host.dirs;
  const auto found = [](std::string name, const std::string& path, std::string_view without) {
    const bool present = pathExists(path);
    return Capability{std::move(name), present,
                      present ? path : fmt::format("{} does not exist: {}", path, without)};
  };
  const auto inKubepods = [&](std::string name, CgroupFile file, std::string_view without) {
    const auto path = cgroupFilePath(host.layout, file, host.kubepods());
    return path ? found(std::move(name), *path, without)
                : Capability{std::move(name), false,
                             fmt::format("{}: {}", path.error().message, without)};
  };
  return {
      found("resctrl", dirs.sysFsRoot + "resctrl/schemata",
            "no last-level cache or memory bandwidth QoS"),
      found("psi", dirs.procRoot + "pressure/cpu", "no pressure metrics"),
      found("perf", dirs.procRoot + "sys/kernel/perf_event_paranoid", "no cycles per instruction"),
      found("gpu", dirs.procRoot + "driver/nvidia/version", "no GPU metrics"),
      found("kidled", dirs.sysRoot + "kernel/mm/kidled/scan_period_in_seconds",
            "no cold memory metrics"),
      inKubepods("cpu burst", CgroupFile::CpuCfsBurst, "CPU burst is off"),
      inKubepods("group identity", CgroupFile::CpuBvtWarpNs, "group identity (bvt) is off"),
      inKubepods("memory qos", CgroupFile::MemoryMin, "memory QoS is off"),
  };
}

}  // namespace koord::koordlet
