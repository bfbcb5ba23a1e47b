#include "base/mountinfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

using testing::ElementsAre;

TEST(MountInfoTest, PointTypeAndOptionsOfTheFileSystemAreRead) {
  const auto mounts = parseMountInfo(
      "22 1 0:20 / /proc rw - proc proc rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:4 master:2 - cgroup none rw,cpu,cpuacct");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].point, "/proc");
  EXPECT_EQ(mounts[0].type, "proc");
  EXPECT_EQ(mounts[1].point, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(mounts[1].type, "cgroup");
  EXPECT_THAT(mounts[1].superOptions, ElementsAre("rw", "cpu", "cpuacct"));
}

TEST(MountInfoTest, PathsAreAsTheyAre) {
  const auto mounts = parseMountInfo("1 1 0:1 / /a\\040b\\134c\\9 rw - tmpfs my\\040disk rw\n");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].point, "/a b\\c\\9");
}

TEST(MountInfoTest, WhatIsNoMountIsLeftOut) {
  EXPECT_TRUE(parseMountInfo("").empty());
  EXPECT_TRUE(parseMountInfo("\n\nnonsense\n1 2 3 - x y\n31 23 0:28 / /a rw - tmpfs\n").empty());
}

}  // namespace
}  // namespace koord
