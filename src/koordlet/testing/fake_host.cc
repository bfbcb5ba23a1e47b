#include "koordlet/testing/fake_host.h"

#include <fmt/core.h>

#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kV1Controllers[] = {"cpu", "cpuacct", "cpuset", "memory"};

}  // namespace

FakeHost::FakeHost(CgroupVersion version, FakeMachine machine)
    : version_(version), machine_(machine) {
  const int cores = machine.cpus / machine.threadsPerCore;
  const int coresPerNode = std::max(cores / machine.numaNodes, 1);
  for (int cpu = 0; cpu < machine.cpus; ++cpu) {
    const int core = cpu % cores;
    const std::string dir = fmt::format("sys/devices/system/cpu/cpu{}/topology/", cpu);
    tree_.write(dir + "core_id", fmt::format("{}\n", core % coresPerNode));
    tree_.write(dir + "physical_package_id", fmt::format("{}\n", core / coresPerNode));
  }
  tree_.write("sys/devices/system/cpu/online", fmt::format("0-{}\n", machine.cpus - 1));
  for (int node = 0; node < machine.numaNodes; ++node) {
    std::string list;
    for (int cpu = 0; cpu < machine.cpus; ++cpu)
      if (cpu % cores / coresPerNode == node)
        list += fmt::format("{}{}", list.empty() ? "" : ",", cpu);
    tree_.write(fmt::format("sys/devices/system/node/node{}/cpulist", node), list + "\n");
  }
  if (version == CgroupVersion::V2)
    tree_.write("cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  for (const KubeQos qos : {KubeQos::Guaranteed, KubeQos::Burstable, KubeQos::BestEffort})
    makeCgroup(qosDir(machine.driver, qos));
  setMemoryUsed(0);
  writeStat();
}

std::string FakeHost::relative(CgroupFile file, std::string_view dir) const {
  const auto name = fileNameIn(file, version_);
  if (version_ == CgroupVersion::V2) return fmt::format("cgroup/{}/{}", dir, name);
  return fmt::format("cgroup/{}/{}/{}", nameOf(subsystemOf(file)), dir, name);
}

void FakeHost::makeCgroup(const std::string& dir) {
  const std::string cpus = fmt::format("0-{}\n", machine_.cpus - 1);
  if (version_ == CgroupVersion::V1) {
    for (const auto controller : kV1Controllers)
      tree_.makeDir(fmt::format("cgroup/{}/{}", controller, dir));
    setCgroupText(CgroupFile::CpuShares, dir, "1024\n");
    setCgroupText(CgroupFile::CpuCfsQuota, dir, "-1\n");
    setCgroupText(CgroupFile::CpuCfsPeriod, dir, "100000\n");
    setCgroupText(CgroupFile::CpuStat, dir, "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    setCgroupText(CgroupFile::MemoryLimit, dir, "9223372036854771712\n");
  } else {
    setCgroupText(CgroupFile::CpuShares, dir, "100\n");
    setCgroupText(CgroupFile::CpuCfsQuota, dir, "max 100000\n");
    setCgroupText(CgroupFile::MemoryLimit, dir, "max\n");
    tree_.write(fmt::format("cgroup/{}/cpuset.cpus.effective", dir), cpus);
  }
  setCgroupText(CgroupFile::CpusetCpus, dir, cpus);
  usageNs_[dir] = 0;
  writeUsage(dir);
  setMemory(dir, 0);
}

std::string FakeHost::addPod(KubeQos qos, std::string_view uid,
                             const std::vector<std::string>& containerIds) {
  const std::string dir = podDir(machine_.driver, qos, uid);
  makeCgroup(dir);
  for (const auto& id : containerIds) makeCgroup(containerDir(dir, id));
  return dir;
}

std::string FakeHost::containerDir(std::string_view podDir, std::string_view containerId) const {
  return joinPath(podDir, containerDirName(machine_.driver, containerId).value_or("?"));
}

void FakeHost::removePod(KubeQos qos, std::string_view uid) {
  const std::string dir = podDir(machine_.driver, qos, uid);
  if (version_ == CgroupVersion::V2) {
    tree_.remove("cgroup/" + dir);
  } else {
    for (const auto controller : kV1Controllers)
      tree_.remove(fmt::format("cgroup/{}/{}", controller, dir));
  }
  std::erase_if(usageNs_, [&](const auto& entry) { return entry.first.starts_with(dir); });
}

void FakeHost::consumeCpu(std::string_view dir, double cores, Duration span) {
  const auto ns = static_cast<std::int64_t>(cores * static_cast<double>(span.count()));
  for (auto& [name, usage] : usageNs_) {
    if (dir != name && !dir.starts_with(name + "/")) continue;
    usage += ns;
    writeUsage(name);
  }
  machineNs_ += ns;
  writeStat();
}

void FakeHost::addPeriods(const std::string& dir, int periods, int throttled) {
  Periods& counts = periods_[dir];
  counts.all += periods;
  counts.throttled += throttled;
  if (version_ == CgroupVersion::V2) return writeUsage(dir);
  setCgroupText(CgroupFile::CpuStat, dir,
                fmt::format("nr_periods {}\nnr_throttled {}\nthrottled_time 0\n", counts.all,
                            counts.throttled));
}

void FakeHost::consumeSystemCpu(double cores, Duration span) {
  machineNs_ += static_cast<std::int64_t>(cores * static_cast<double>(span.count()));
  writeStat();
}

void FakeHost::writeUsage(const std::string& dir) {
  const std::int64_t ns = usageNs_[dir];
  if (version_ == CgroupVersion::V1) {
    setCgroupText(CgroupFile::CpuacctUsage, dir, fmt::format("{}\n", ns));
  } else {
    setCgroupText(
        CgroupFile::CpuStat, dir,
        fmt::format("usage_usec {}\nuser_usec 0\nsystem_usec 0\nnr_periods {}\nnr_throttled {}\n"
                    "throttled_usec 0\n",
                    ns / 1000, periods_[dir].all, periods_[dir].throttled));
  }
}

void FakeHost::writeStat() {
  const std::int64_t ticks = machineNs_ / 10'000'000;
  std::string text = fmt::format("cpu {} 0 0 1000 50 0 0 0 0 0\n", ticks);
  for (int cpu = 0; cpu < machine_.cpus; ++cpu)
    text += fmt::format("cpu{} {} 0 0 1000 50 0 0 0 0 0\n", cpu, ticks / machine_.cpus);
  tree_.write("proc/stat", text + "intr 0\nctxt 0\n");
}

void FakeHost::setMemory(std::string_view dir, std::int64_t bytes) {
  const std::string_view total = version_ == CgroupVersion::V1 ? "total_" : "";
  setCgroupText(CgroupFile::MemoryStat, dir,
                fmt::format("anon 7\ncache 4096\n{0}inactive_anon {1}\n{0}active_anon {2}\n"
                            "{0}inactive_file 4096\n{0}active_file 0\n{0}unevictable 0\n",
                            total, bytes / 4, bytes - bytes / 4));
  setCgroupText(CgroupFile::MemoryNumaStat, dir,
                version_ == CgroupVersion::V1
                    ? fmt::format("hierarchical_anon={0} N0={0}\nhierarchical_unevictable=0 N0=0\n",
                                  bytes / 4096)
                    : fmt::format("anon N0={}\nfile N0=0\nunevictable N0=0\n", bytes));
}

void FakeHost::setMemoryUsed(std::int64_t bytes) {
  tree_.write("proc/meminfo",
              fmt::format("MemTotal: {} kB\nMemFree: {} kB\nMemAvailable: {} kB\nBuffers: 0 kB\n",
                          machine_.memoryBytes / 1024, (machine_.memoryBytes - bytes) / 2048,
                          (machine_.memoryBytes - bytes) / 1024));
}

std::string FakeHost::cgroupText(CgroupFile file, std::string_view dir) const {
  return tree_.read(relative(file, dir));
}

void FakeHost::setCgroupText(CgroupFile file, std::string_view dir, std::string_view text) {
  tree_.write(relative(file, dir), text);
}

void FakeHost::settle() {
  if (version_ == CgroupVersion::V1) return;
  for (const auto& [dir, usage] : usageNs_) {
    const std::string quota = cgroupText(CgroupFile::CpuCfsQuota, dir);
    if (quota.find(' ') == std::string::npos)
      setCgroupText(CgroupFile::CpuCfsQuota, dir, quota + " 100000\n");
    tree_.write(fmt::format("cgroup/{}/cpuset.cpus.effective", dir),
                cgroupText(CgroupFile::CpusetCpus, dir) + "\n");
  }
}

}  // namespace koord::koordlet
