#include "cluster/hostnode/cgroup_layout.h"

#include <gtest/gtest.h>

namespace koord::cluster {
namespace {

struct LayoutCase {
  const char* name;
  const char* mountinfo;
  int version;
  const char* root;
  std::map<std::string, std::string> controllers;
  std::vector<std::string> others = {};
};

class CgroupLayoutTest : public testing::TestWithParam<LayoutCase> {};

TEST_P(CgroupLayoutTest, IsFoundInMountinfo) {
  const auto& expected = GetParam();
  const auto layout = parseCgroupLayout(expected.mountinfo);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->version, expected.version);
  EXPECT_EQ(layout->root, expected.root);
  EXPECT_EQ(layout->controllers, expected.controllers);
  EXPECT_EQ(layout->others, expected.others);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, CgroupLayoutTest,
    testing::Values(
        LayoutCase{
            "OneUnifiedTree",
            "22 1 0:20 / /proc rw - proc proc rw\n"
            "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
            2,
            "/sys/fs/cgroup",
            {}},
        LayoutCase{
            "OneControllerPerMountBesideAnUnusedUnifiedTree",
            "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
            "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
            "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
            "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
            1,
            "/sys/fs/cgroup",
            {{"cpu", "/sys/fs/cgroup/cpu"}, {"cpuacct", "/sys/fs/cgroup/cpuacct"}},
            {"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}},
        LayoutCase{
            "ControllersThatShareAMount",
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
            "34 31 0:31 / /sys/fs/cgroup/cpuset rw shared:5 master:2 - cgroup cgroup rw,cpuset\n",
            1,
            "/sys/fs/cgroup",
            {{"cpu", "/sys/fs/cgroup/cpu,cpuacct"},
             {"cpuacct", "/sys/fs/cgroup/cpu,cpuacct"},
             {"cpuset", "/sys/fs/cgroup/cpuset"}}},
        LayoutCase{"APathWithABlank",
                   "35 25 0:30 / /mnt/my\\040cgroups rw - cgroup2 none rw\n",
                   2,
                   "/mnt/my cgroups",
                   {}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CgroupLayoutTest, AMachineWithoutCgroupsIsAnErrorThatNamesTheFile) {
  const auto layout = parseCgroupLayout("22 1 0:20 / /proc rw - proc proc rw\nbroken line\n");
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, ErrorCode::NotFound);
  EXPECT_NE(layout.error().message.find("/proc/self/mountinfo"), std::string::npos);
}

}  // namespace
}  // namespace koord::cluster
