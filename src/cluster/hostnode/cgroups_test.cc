#include "cluster/hostnode/cgroups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "cluster/hostnode/fake_cgroup_fs.h"
#include "cluster/hostnode/machine.h"

namespace koord::cluster {
namespace {

CgroupLayout v1Layout() {
  return {1,
          "/cg",
          {{"cpu", "/cg/cpu"},
           {"cpuacct", "/cg/cpuacct"},
           {"cpuset", "/cg/cpuset"},
           {"memory", "/cg/memory"}}};
}

FakeCgroupFs v1Tree() {
  FakeCgroupFs fs;
  fs.dirs = {"/cg", "/cg/cpu", "/cg/cpuacct", "/cg/cpuset", "/cg/memory"};
  fs.files = {{"/cg/cpuset/cpuset.cpus", "0-3\n"}, {"/cg/cpuset/cpuset.mems", "0\n"}};
  return fs;
}

TEST(CgroupsV1Test, MakesEveryLevelInEveryHierarchyAndInheritsTheCpuset) {
  FakeCgroupFs fs = v1Tree();
  Cgroups cgroups(v1Layout(), fs);
  const auto made =
      cgroups.create("kubepods/besteffort/pod1",
                     {.cpuShares = 2, .cpuQuotaUs = 50'000, .memoryLimitBytes = 1 << 20});
  ASSERT_TRUE(made) << made.error().message;
  for (const char* mount : {"/cg/cpu", "/cg/cpuacct", "/cg/cpuset", "/cg/memory"})
    EXPECT_TRUE(fs.dirs.contains(std::string(mount) + "/kubepods/besteffort/pod1")) << mount;
  EXPECT_EQ(fs.files["/cg/cpuset/kubepods/cpuset.cpus"], "0-3");
  EXPECT_EQ(fs.files["/cg/cpuset/kubepods/besteffort/pod1/cpuset.mems"], "0");
  EXPECT_EQ(fs.files["/cg/cpu/kubepods/besteffort/pod1/cpu.shares"], "2");
  EXPECT_EQ(fs.files["/cg/cpu/kubepods/besteffort/pod1/cpu.cfs_quota_us"], "50000");
  EXPECT_EQ(fs.files["/cg/cpu/kubepods/besteffort/pod1/cpu.cfs_period_us"], "100000");
  EXPECT_EQ(fs.files["/cg/memory/kubepods/besteffort/pod1/memory.limit_in_bytes"], "1048576");
}

TEST(CgroupsV1Test, ANewPodInheritsTheCpusetThatBestEffortIsHeldTo) {
  FakeCgroupFs fs = v1Tree();
  Cgroups cgroups(v1Layout(), fs);
  ASSERT_TRUE(cgroups.create("kubepods/besteffort", {}));
  fs.files["/cg/cpuset/kubepods/besteffort/cpuset.cpus"] = "3";
  ASSERT_TRUE(cgroups.create("kubepods/besteffort/pod2/c", {}));
  EXPECT_EQ(fs.files["/cg/cpuset/kubepods/besteffort/pod2/c/cpuset.cpus"], "3");
}

TEST(CgroupsV2Test, SwitchesControllersOnAboveButNotInTheNewCgroup) {
  FakeCgroupFs fs;
  fs.dirs = {"/cg"};
  Cgroups cgroups({2, "/cg", {}}, fs);
  ASSERT_TRUE(cgroups.create("kubepods/pod1",
                             {.cpuShares = 1024, .cpuQuotaUs = -1, .memoryLimitBytes = -1}));
  EXPECT_TRUE(fs.files.contains("/cg/cgroup.subtree_control"));
  EXPECT_TRUE(fs.files.contains("/cg/kubepods/cgroup.subtree_control"));
  EXPECT_FALSE(fs.files.contains("/cg/kubepods/pod1/cgroup.subtree_control"));
  EXPECT_EQ(fs.files["/cg/kubepods/pod1/cpu.weight"], "39");
  EXPECT_EQ(fs.files["/cg/kubepods/pod1/cpu.max"], "max 100000");
  EXPECT_EQ(fs.files["/cg/kubepods/pod1/memory.max"], "max");
}

TEST(CgroupsTest, RemovingTakesTheWholeSubtreeOnceItsProcessesAreGone) {
  FakeCgroupFs fs = v1Tree();
  Cgroups cgroups(v1Layout(), fs);
  ASSERT_TRUE(cgroups.create("kubepods/pod1/c1", {}));
  fs.files["/cg/memory/kubepods/pod1/c1/cgroup.procs"] = "41\n42\n";
  const auto busy = cgroups.remove("kubepods/pod1");
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::Conflict);
  EXPECT_EQ(cgroups.processes("kubepods"), (std::vector<int>{41, 42}));
  cgroups.kill("kubepods/pod1");
  ASSERT_TRUE(cgroups.remove("kubepods/pod1"));
  EXPECT_FALSE(cgroups.exists("kubepods/pod1"));
  EXPECT_TRUE(cgroups.exists("kubepods"));
}

TEST(CgroupsTest, AMissingControllerIsNamed) {
  FakeCgroupFs fs = v1Tree();
  CgroupLayout layout = v1Layout();
  layout.controllers.erase("memory");
  const auto writable = checkWritable(layout, fs);
  ASSERT_FALSE(writable);
  EXPECT_NE(writable.error().message.find("memory"), std::string::npos);
}

// The same steps on the real kernel.
TEST(CgroupsTest, ROOT_TheKernelTakesWhatAKubeletWrites) {
  RealCgroupFs fs;
  const auto mountinfo = readFile("/proc/self/mountinfo");
  ASSERT_TRUE(mountinfo);
  const auto layout = parseCgroupLayout(*mountinfo);
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  if (!layout) GTEST_SKIP() << layout.error().message;
  if (const auto writable = checkWritable(*layout, fs); !writable)
    GTEST_SKIP() << "cgroups are not writable: " << writable.error().message;
  Cgroups cgroups(*layout, fs);
  const std::string root = "koord-test-" + std::to_string(::getpid());
  const auto made = cgroups.create(
      root + "/pod1/c1", {.cpuShares = 512, .cpuQuotaUs = 50'000, .memoryLimitBytes = 64 << 20});
  EXPECT_TRUE(made) << made.error().message;
  EXPECT_FALSE(cgroups.cpuset(root + "/pod1/c1").empty());
  const auto files = cgroups.joinFiles(root + "/pod1/c1");
  EXPECT_FALSE(files.empty());
  for (const auto& file : files) EXPECT_TRUE(fs.read(file)) << file;
  const auto removed = cgroups.remove(root);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(cgroups.exists(root));
}

}  // namespace
}  // namespace koord::cluster
