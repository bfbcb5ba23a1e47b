#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "koordlet/system/cgroup_layout.h"
#include "koordlet/system/cgroup_path.h"
#include "koordlet/system/cgroup_reader.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/cpu_topology.h"
#include "koordlet/system/open_files.h"
#include "koordlet/system/procfs.h"
#include "koordlet/system/small_file.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string mountLine(const TempTree& tree, std::string_view point, std::string_view tail) {
  return "31 23 0:28 / " + tree.path(point) + " rw,relatime shared:9 - " + std::string(tail) + "\n";
}

TEST(CgroupLayout, OneControllerPerMountIsV1) {
  TempTree tree{{"cgroup/cpu/cpu.shares", ""}, {"cgroup/memory/memory.stat", ""}};
  tree.write("proc/self/mountinfo",
             mountLine(tree, "cgroup/cpu", "cgroup cgroup rw,cpu") +
                 mountLine(tree, "cgroup/memory", "cgroup cgroup rw,memory") +
                 mountLine(tree, "cgroup/unified", "cgroup2 cgroup2 rw"));
  const auto layout = CgroupLayout::detect(tree.dirs());
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->version(Subsystem::Cpu), CgroupVersion::V1);
  EXPECT_EQ(layout->dir(Subsystem::Memory, "kubepods"), tree.path("cgroup/memory/kubepods/"));
  EXPECT_FALSE(layout->has(Subsystem::Cpuset));
}

TEST(CgroupLayout, CoMountedControllersShareADirectory) {
  TempTree tree;
  tree.makeDir("cgroup/cpu,cpuacct");
  tree.write("proc/self/mountinfo",
             mountLine(tree, "cgroup/cpu,cpuacct", "cgroup cgroup rw,cpu,cpuacct"));
  const auto layout = CgroupLayout::detect(tree.dirs());
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->dir(Subsystem::Cpu, "/a/b"), tree.path("cgroup/cpu,cpuacct/a/b/"));
  EXPECT_EQ(layout->dir(Subsystem::Cpuacct, ""), tree.path("cgroup/cpu,cpuacct/"));
}

TEST(CgroupLayout, UnifiedMeansEveryControllerIsInV2) {
  TempTree tree{{"cgroup/cgroup.controllers", "cpuset cpu io memory\n"}};
  tree.write("proc/self/mountinfo", mountLine(tree, "cgroup", "cgroup2 cgroup2 rw"));
  const auto layout = CgroupLayout::detect(tree.dirs());
  ASSERT_TRUE(layout) << layout.error().message;
  for (const auto subsystem :
       {Subsystem::Cpu, Subsystem::Cpuset, Subsystem::Cpuacct, Subsystem::Memory})
    EXPECT_EQ(layout->version(subsystem), CgroupVersion::V2) << nameOf(subsystem);
  EXPECT_EQ(layout->dir(Subsystem::Cpu, "kubepods.slice"), tree.path("cgroup/kubepods.slice/"));
}

TEST(CgroupLayout, AHybridTakesFromV2WhatV1LeftOver) {
  TempTree tree{{"cgroup/unified/cgroup.controllers", "memory\n"}};
  tree.makeDir("cgroup/cpu");
  tree.write("proc/self/mountinfo", mountLine(tree, "cgroup/cpu", "cgroup cgroup rw,cpu") +
                                        mountLine(tree, "cgroup/unified", "cgroup2 cgroup2 rw"));
  const auto layout = CgroupLayout::detect(tree.dirs());
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->version(Subsystem::Cpu), CgroupVersion::V1);
  EXPECT_EQ(layout->version(Subsystem::Memory), CgroupVersion::V2);
  EXPECT_EQ(layout->dir(Subsystem::Memory, "x"), tree.path("cgroup/unified/x/"));
  EXPECT_FALSE(layout->has(Subsystem::Cpuacct));
}

TEST(CgroupLayout, WithoutAnyControllerTheErrorNamesTheFlag) {
  TempTree tree;
  tree.makeDir("cgroup");
  const auto layout = CgroupLayout::detect(tree.dirs());
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message, HasSubstr("--cgroup-root-dir"));
}

TEST(CgroupPath, PodAndContainerDirectoriesFollowTheDriver) {
  EXPECT_EQ(podDir(CgroupDriver::Systemd, KubeQos::Burstable, "a-b"),
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice");
  EXPECT_EQ(podDir(CgroupDriver::Systemd, KubeQos::Guaranteed, "a-b"),
            "kubepods.slice/kubepods-poda_b.slice");
  EXPECT_EQ(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "a-b"),
            "kubepods/besteffort/poda-b");
  EXPECT_EQ(containerDirName(CgroupDriver::Systemd, "containerd://c1").value(),
            "cri-containerd-c1.scope");
  EXPECT_EQ(containerDirName(CgroupDriver::Cgroupfs, "cri-o://c1").value(), "c1");
  EXPECT_FALSE(containerDirName(CgroupDriver::Cgroupfs, "c1"));
  EXPECT_FALSE(containerDirName(CgroupDriver::Cgroupfs, "rkt://c1"));
}

TEST(Conversions, AsTheSpecificationsExamplesSay) {
  EXPECT_EQ(milliCpuToShares(500), 512);
  EXPECT_EQ(milliCpuToShares(0), 2);
  EXPECT_EQ(milliCpuToShares(INT64_MAX), 262144);
  EXPECT_EQ(milliCpuToQuota(500), 50000);
  EXPECT_EQ(milliCpuToQuota(5), 1000);
  EXPECT_EQ(milliCpuToQuota(0), -1);
  EXPECT_EQ(quotaInPeriod(50000, 10000), 5000);
  EXPECT_EQ(quotaInPeriod(-1, 10000), -1);
  // The kernel refuses less than a millisecond, whatever the period.
  EXPECT_EQ(quotaInPeriod(5000, 10000), 1000);
  EXPECT_EQ(sharesToWeight(1024).value(), 39);
  EXPECT_EQ(weightToShares(39).value(), 998);
  EXPECT_FALSE(sharesToWeight(1));
  EXPECT_FALSE(weightToShares(10'001));
}

class Readers : public testing::TestWithParam<CgroupVersion> {};
INSTANTIATE_TEST_SUITE_P(V1AndV2, Readers, testing::Values(CgroupVersion::V1, CgroupVersion::V2));

TEST_P(Readers, ReadTheSameFromBothVersions) {
  FakeHost host(GetParam(), {.cpus = 4});
  const auto pod = host.addPod(KubeQos::Burstable, "u1", {"containerd://c1"});
  const auto container = host.containerDir(pod, "containerd://c1");
  host.consumeCpu(container, 1.5, 2s);
  host.setMemory(pod, 1 << 20);
  const auto layout = CgroupLayout::detect(host.dirs());
  ASSERT_TRUE(layout);
  CgroupReader reader(*layout);
  EXPECT_EQ(reader.cpuUsageNs(container).value(), 3'000'000'000);
  EXPECT_EQ(reader.cpuUsageNs(pod).value(), 3'000'000'000);
  EXPECT_EQ(reader.memoryStat(pod).value().usage(), 1 << 20);
  EXPECT_EQ(reader.memoryStat(pod).value().usageWithPageCache(), (1 << 20) + 4096);
  EXPECT_EQ(reader.cfsQuotaUs(pod).value(), -1);
  EXPECT_EQ(reader.cfsPeriodUs(pod).value(), 100'000);
  EXPECT_EQ(reader.memoryLimit(pod).value(), -1);
  EXPECT_EQ(reader.cpuset(pod).value().toString(), "0-3");
  EXPECT_EQ(reader.cpuThrottling(pod).value().periods, 0);
  EXPECT_EQ(reader.cpuUsageNs("kubepods/gone").error().code, ErrorCode::NotFound);
}

TEST_P(Readers, GarbageIsAnErrorThatNamesTheFile) {
  FakeHost host(GetParam(), {.cpus = 4});
  const auto pod = host.addPod(KubeQos::Burstable, "u1", {});
  const auto layout = CgroupLayout::detect(host.dirs());
  ASSERT_TRUE(layout);
  CgroupReader reader(*layout);
  for (const std::string_view garbage :
       {"", "\n", "nonsense", "usage_usec 12x\nnr_periods\n",
        "total_inactive_anon 5\ninactive_anon 5\n", "99999999999999999999"}) {
    for (const auto file : {CgroupFile::CpuacctUsage, CgroupFile::CpuStat, CgroupFile::MemoryStat,
                            CgroupFile::CpuCfsQuota, CgroupFile::MemoryLimit})
      host.setCgroupText(file, pod, garbage);
    EXPECT_THAT(reader.cpuUsageNs(pod).error().message, HasSubstr(pod)) << garbage;
    EXPECT_THAT(reader.cpuThrottling(pod).error().message, HasSubstr("cpu.stat")) << garbage;
    EXPECT_THAT(reader.memoryStat(pod).error().message, HasSubstr("memory.stat")) << garbage;
    EXPECT_FALSE(reader.cfsQuotaUs(pod)) << garbage;
    EXPECT_FALSE(reader.memoryLimit(pod)) << garbage;
  }
}

TEST(OpenFiles, FollowAFileThatIsMadeAnewAndKeepToTheirCapacity) {
  TempTree tree{{"a", "1\n"}, {"b", "2\n"}, {"c", "3\n"}};
  OpenFiles files(2);
  std::string content;
  for (const auto* name : {"a", "b", "c"}) EXPECT_TRUE(files.read(tree.path(name), content));
  EXPECT_EQ(content, "3");
  EXPECT_EQ(files.size(), 2U);
  tree.write("a", "10\n");
  EXPECT_TRUE(files.read(tree.path("a"), content));
  EXPECT_EQ(content, "10");
  tree.remove("a");
  EXPECT_EQ(files.read(tree.path("a"), content).error().code, ErrorCode::NotFound);
  tree.write("a", std::string(5000, 'x') + "\n");
  EXPECT_TRUE(files.read(tree.path("a"), content));
  EXPECT_EQ(content.size(), 5000U);
  files.closeUnused();
  EXPECT_EQ(files.size(), 2U);
  EXPECT_TRUE(files.read(tree.path("a"), content));
  files.closeUnused();
  EXPECT_EQ(files.size(), 1U);
}

TEST(OpenFiles, ROOT_ARemovedCgroupIsGoneAndANewOneOfThatNameIsRead) {
  const auto layout = CgroupLayout::detect(hostModeDirs());
  if (!layout || !layout->has(Subsystem::Memory)) GTEST_SKIP() << "no cgroups on this machine";
  const std::string dir =
      layout->dir(Subsystem::Memory, "koordlet-test-" + std::to_string(::getpid()));
  if (::mkdir(dir.c_str(), 0755) != 0) GTEST_SKIP() << "cannot make cgroups here";
  OpenFiles files;
  std::string content;
  EXPECT_TRUE(files.read(dir + "cgroup.procs", content));
  EXPECT_TRUE(files.read(dir + "memory.stat", content));
  ::rmdir(dir.c_str());
  EXPECT_EQ(files.read(dir + "memory.stat", content).error().code, ErrorCode::NotFound);
  ASSERT_EQ(::mkdir(dir.c_str(), 0755), 0);
  EXPECT_TRUE(files.read(dir + "memory.stat", content));
  EXPECT_THAT(content, HasSubstr("inactive_anon"));
  ::rmdir(dir.c_str());
}

TEST(ProcFs, CpuTicksLeaveOutIdleAndWaiting) {
  TempTree tree{
      {"proc/stat",
       "cpu  100 10 20 9999 888 3 4 777 0 0\ncpu0 50 5 10 1 1 1 2 1 0 0\ncpu2 1 1 1 1 1 1 1 0\n"}};
  const auto ticks = readCpuTicks(tree.path("proc/"));
  ASSERT_TRUE(ticks) << ticks.error().message;
  EXPECT_EQ(ticks->total, 137);
  EXPECT_THAT(ticks->perCpu, ElementsAre(std::pair(0, 68), std::pair(2, 5)));
}

TEST(ProcFs, BrokenFilesAreErrors) {
  TempTree tree{
      {"a/stat", "cpu 1 2 x\n"}, {"b/stat", "intr 0\n"}, {"a/meminfo", "MemTotal: 5 kB\n"}};
  EXPECT_FALSE(readCpuTicks(tree.path("a/")));
  EXPECT_FALSE(readCpuTicks(tree.path("b/")));
  EXPECT_FALSE(readMemInfo(tree.path("a/")));
  EXPECT_EQ(readMemInfo(tree.path("c/")).error().code, ErrorCode::NotFound);
}

TEST(ProcFs, TheMemoryOfDevicesIsNoNumaNodeOfTheMachines) {
  TempTree tree{{"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1024 kB\n"},
                {"sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 2048 kB\n"},
                {"sys/devices/system/node/node2/meminfo", "Node 2 MemTotal: 4096 kB\n"},
                {"sys/devices/system/node/has_generic_initiator", "2-9\n"}};
  const auto zones = readZoneMemory(tree.dirs());
  ASSERT_TRUE(zones) << zones.error().message;
  EXPECT_THAT(*zones, ElementsAre(ZoneMemory{1 << 20, 0, 0}, ZoneMemory{2 << 20, 0, 0}));
}

TEST(ProcFs, TheDriverOfARunningKubeletIsFound) {
  TempTree tree{{"proc/1/comm", "init\n"}, {"proc/77/comm", "kubelet\n"}};
  tree.write("proc/77/cmdline", std::string_view("kubelet\0--cgroup-driver=systemd\0", 32));
  EXPECT_EQ(cgroupDriverOfKubelet(tree.path("proc/")).value(), "systemd");
  tree.write("kubelet.yaml", "kind: KubeletConfiguration\ncgroupDriver: \"systemd\" # x\n");
  const std::string cmdline =
      std::string("kubelet\0--config\0", 17) + tree.path("kubelet.yaml") + '\0';
  tree.write("proc/77/cmdline", cmdline);
  EXPECT_EQ(cgroupDriverOfKubelet(tree.path("proc/")).value(), "systemd");
  tree.write("proc/77/cmdline", "kubelet");
  EXPECT_EQ(cgroupDriverOfKubelet(tree.path("proc/")).value(), "cgroupfs");
  tree.remove("proc/77");
  EXPECT_FALSE(cgroupDriverOfKubelet(tree.path("proc/")));
}

TEST(CpuTopology, SiblingsAreNumberedAsLscpuDoes) {
  FakeHost host(CgroupVersion::V2, {.cpus = 8, .threadsPerCore = 2, .numaNodes = 2});
  const auto topology = readCpuTopology(host.dirs());
  ASSERT_TRUE(topology) << topology.error().message;
  ASSERT_EQ(topology->count(), 8U);
  // Cores 0 and 1 on node 0; core i has the CPUs i and i + 4.
  EXPECT_EQ(topology->cpus[0], (CpuPlace{0, 0, 0, 0, 0}));
  EXPECT_EQ(topology->cpus[1], (CpuPlace{4, 0, 0, 0, 0}));
  EXPECT_EQ(topology->cpus[4], (CpuPlace{2, 2, 1, 1, 1}));
  EXPECT_EQ(topology->cpus[7], (CpuPlace{7, 3, 1, 1, 1}));
  EXPECT_EQ(topology->all().toString(), "0-7");
}

TEST(CpuTopology, WithoutSysItComesFromProc) {
  TempTree tree{
      {"proc/cpuinfo",
       "processor\t: 0\nphysical id\t: 0\ncore id\t: 5\n\nprocessor\t: 1\nphysical id\t: 1\ncore "
       "id\t: 5\n"}};
  const auto topology = readCpuTopology(tree.dirs());
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->cpus[1], (CpuPlace{1, 1, 1, 1, 1}));
  TempTree flat{{"proc/stat", "cpu 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1\ncpu1 1 1 1 1 1 1 1\n"}};
  EXPECT_EQ(readCpuTopology(flat.dirs()).value().count(), 2U);
  EXPECT_FALSE(readCpuTopology(TempTree().dirs()));
}

TEST(CpuTopology, TheModelIsReadWithWhatSpeedsItUp) {
  TempTree tree{
      {"proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\nmodel name : Xeon 8369B\n"},
      {"sys/devices/system/cpu/smt/active", "1\n"},
      {"sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"}};
  tree.write("sysfs/x", "");
  auto dirs = tree.dirs();
  dirs.sysFsRoot = tree.path("sysfs/");
  CpuBasicInfo info = readCpuBasicInfo(dirs);
  EXPECT_EQ(info.model, "Xeon 8369B");
  EXPECT_EQ(info.vendor, "GenuineIntel");
  EXPECT_TRUE(info.hyperThreading);
  EXPECT_TRUE(info.turbo);
  EXPECT_EQ(info.l3WaysMask, "");
  tree.write("sysfs/resctrl/info/L3/cbm_mask", "7ff\n");
  tree.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  info = readCpuBasicInfo(dirs);
  EXPECT_FALSE(info.turbo);
  EXPECT_EQ(info.l3WaysMask, "7ff");
}

TEST(ProcFs, HugePagesAreNoOrdinaryMemory) {
  constexpr std::int64_t kMiB = 1 << 20;
  TempTree tree{{"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4194304 kB\n"},
                {"sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "512\n"},
                {"sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", "1\n"},
                {"sys/devices/system/node/node0/hugepages/hugepages-zkB/nr_hugepages", "9\n"},
                {"sys/devices/system/node/node0/hugepages/x/nr_hugepages", "9\n"},
                {"sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 1024 kB\n"}};
  const auto zones = readZoneMemory(tree.dirs());
  ASSERT_TRUE(zones) << zones.error().message;
  EXPECT_THAT(*zones, ElementsAre(ZoneMemory{2048 * kMiB, 1024 * kMiB, 1024 * kMiB},
                                  ZoneMemory{kMiB, 0, 0}));
  tree.write("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 99999999999999999 kB\n");
  EXPECT_FALSE(readZoneMemory(tree.dirs()));
}

TEST(SmallFile, AFullDiskLeavesTheOldFileAndNamesIt) {
  TempTree tree{{"state", "old"}};
  if (::symlink("/dev/full", tree.path("state.tmp").c_str()) != 0) GTEST_SKIP() << "no symlinks";
  const auto written = replaceFile(tree.path("state"), "new");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(tree.path("state")));
  EXPECT_EQ(tree.read("state"), "old");
  EXPECT_TRUE(replaceFile(tree.path("state"), "new")) << "and when there is room again";
  EXPECT_EQ(tree.read("state"), "new");
}

}  // namespace
}  // namespace koord::koordlet
