#include "koordlet/qos/blkio/block_io.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using testing::HasSubstr;

// A disk with a partition, one with a volume group, and a group that is on two.
void addDisks(TempTree& tree) {
  tree.write("sys/block/vdb/dev", "253:16\n");
  tree.write("sys/block/vdb/vdb1/partition", "1\n");
  tree.write("sys/block/vdc/dev", "253:32\n");
  tree.write("sys/block/dm-0/dm/name", "fast--vg-data\n");
  tree.write("sys/block/dm-0/dm/uuid", "LVM-abc\n");
  tree.makeDir("sys/block/dm-0/slaves/vdc");
  tree.write("sys/block/dm-1/dm/name", "wide-data\n");
  tree.write("sys/block/dm-1/dm/uuid", "LVM-def\n");
  tree.makeDir("sys/block/dm-1/slaves/vdb1");
  tree.makeDir("sys/block/dm-1/slaves/vdc");
  tree.write("proc/1/mounts",
             fmt::format("/dev/mapper/fast--vg-data {} ext4 rw 0 0\nproc /proc proc rw 0 0\n",
                         tree.path("kubelet/pods/u/volumes/kubernetes.io~csi/pv-7/mount")));
}

TEST(Storage, DisksAreFoundBehindPartitionsGroupsAndMounts) {
  TempTree tree;
  addDisks(tree);
  const Storage storage = Storage::read(tree.dirs());
  EXPECT_EQ(storage.ofDevice("/dev/vdb"), "253:16");
  EXPECT_EQ(storage.ofDevice("/dev/vdb1"), "253:16");
  EXPECT_EQ(storage.ofDevice("/dev/mapper/fast--vg-data"), "253:32");
  EXPECT_EQ(storage.ofDevice("/dev/sda"), std::nullopt);
  EXPECT_EQ(storage.ofDevice("vdb"), std::nullopt);
  EXPECT_EQ(storage.ofVolumeGroup("fast-vg"), "253:32");
  EXPECT_EQ(storage.ofVolumeGroup("wide"), std::nullopt);
  EXPECT_EQ(storage.ofMountPoint(tree.path("kubelet/pods/u/volumes/kubernetes.io~csi/pv-7/mount")),
            "253:32");
}

class BlockIoTest : public testing::TestWithParam<CgroupVersion> {
 protected:
  BlockIoTest() {
    addDisks(files_.tree());
    if (!v2()) {
      for (const auto* dir : {"kubepods", "kubepods/besteffort"})
        for (const auto* file :
             {"blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device",
              "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device",
              "blkio.cost.weight"})
          files_.tree().write(fmt::format("cgroup/blkio/{}/{}", dir, file), "");
      files_.tree().write("cgroup/blkio/blkio.cost.qos", "");
      files_.tree().write("cgroup/blkio/blkio.cost.model", "");
    } else {
      files_.tree().write("cgroup/kubepods/besteffort/io.max", "");
      files_.tree().write("cgroup/kubepods/besteffort/io.weight", "default 100\n");
      files_.tree().write("cgroup/io.cost.qos", "");
      files_.tree().write("cgroup/io.cost.model", "");
    }
    host_.emplace(*Host::detect(files_.dirs()));
    executor_.emplace(*host_, loop_, ResourceExecutor::Options{}, audit_);
    strategy_.emplace(
        *host_, states_, *executor_,
        [](const std::string&, const std::string& claim) { return claim == "data" ? "pv-7" : ""; });
  }
  bool v2() const { return GetParam() == CgroupVersion::V2; }
  void run(std::string_view be, std::string_view root = "{}") {
    EffectiveSlo slo = defaultSlo();
    slo.qos = *api::decodeText<api::ResourceQOSStrategy>(
        fmt::format(R"({{"beClass":{{"blkioQOS":{}}},"cgroupRoot":{{"blkioQOS":{}}}}})", be, root));
    states_.setSlo(slo);
    strategy_->run();
  }
  std::string be(std::string_view file) {
    return files_.tree().read(
        fmt::format("cgroup/{}kubepods/besteffort/{}", v2() ? "" : "blkio/", file));
  }

  FakeHost files_{GetParam(), {}};
  VirtualLoop loop_;
  States states_;
  AuditRing audit_;
  std::optional<Host> host_;
  std::optional<ResourceExecutor> executor_;
  std::optional<BlockIo> strategy_;
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, BlockIoTest,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

constexpr std::string_view kReadLimit =
    R"({"enable":true,"blocks":[{"name":"/dev/vdb1","type":"device","ioCfg":{"readIOPS":100}}]})";

TEST_P(BlockIoTest, RatesAreSetForTheDiskAndTakenBack) {
  run(kReadLimit);
  if (v2()) {
    EXPECT_EQ(be("io.max"), "253:16 rbps=max wbps=max riops=100 wiops=max");
    EXPECT_EQ(be("io.weight"), "default 100");
  } else {
    EXPECT_EQ(be("blkio.throttle.read_iops_device"), "253:16 100");
    EXPECT_EQ(be("blkio.throttle.write_bps_device"), "");
    EXPECT_EQ(be("blkio.cost.weight"), "253:16 100");
  }
  const auto writes = audit_.added();
  run(kReadLimit);
  EXPECT_EQ(audit_.added(), writes);
  run(R"({"enable":false})");
  EXPECT_EQ(v2() ? be("io.max") : be("blkio.throttle.read_iops_device"),
            v2() ? "253:16 rbps=max wbps=max riops=max wiops=max" : "253:16 0");
}

TEST_P(BlockIoTest, WhatAFormerProcessLimitedIsTakenBack) {
  run(kReadLimit, kReadLimit);
  strategy_.emplace(*host_, states_, *executor_, nullptr);
  executor_.emplace(*host_, loop_, ResourceExecutor::Options{}, audit_);
  run("{}", R"({"enable":false})");
  EXPECT_EQ(v2() ? be("io.max") : be("blkio.throttle.read_iops_device"),
            v2() ? "253:16 rbps=max wbps=max riops=max wiops=max" : "253:16 0");
  EXPECT_EQ(files_.tree().read(v2() ? "cgroup/io.cost.qos" : "cgroup/blkio/blkio.cost.qos"),
            "253:16 enable=0");
}

TEST_P(BlockIoTest, TheRootsFilesAreLeftAloneWhileNodeSloDoesNotSpeakOfThem) {
  const std::string file = v2() ? "cgroup/io.cost.qos" : "cgroup/blkio/blkio.cost.qos";
  files_.tree().write(file, "253:16 enable=1 ctrl=user\n");
  run("{}", "null");
  EXPECT_EQ(files_.tree().read(file), "253:16 enable=1 ctrl=user");
}

constexpr std::string_view kWeight =
    R"({"enable":true,"blocks":[{"name":"/dev/vdb","type":"device","ioCfg":{"ioWeightPercent":60}}]})";

TEST_P(BlockIoTest, OnV2DisksHaveWeightsWhereTheKernelCountsTheirCost) {
  if (!v2()) GTEST_SKIP() << "of v2";
  run(kWeight);
  EXPECT_EQ(be("io.weight"), "default 100");
  EXPECT_THAT(textAt(strategy_->view(), "reason"), HasSubstr("no weight for disk 253:16"));
  run(kWeight, kWeight);  // the root names the disk, too
  EXPECT_EQ(be("io.weight"), "253:16 60");
  EXPECT_EQ(textAt(strategy_->view(), "reason"), "1 cgroups");
}

TEST_P(BlockIoTest, WhatTheKernelPrintsWithDecimalsIsNotWrittenAgain) {
  run("{}", kWeight);
  const std::string file = v2() ? "cgroup/io.cost.qos" : "cgroup/blkio/blkio.cost.qos";
  files_.tree().write(
      file, "253:16 enable=1 ctrl=user rpct=95.00 rlat=3000 wpct=95.00 wlat=3000 min=1.00\n");
  const auto writes = audit_.added();
  loop_.advance(std::chrono::minutes(2));  // the file is looked at again
  run("{}", kWeight);
  EXPECT_EQ(audit_.added(), writes);
}

TEST_P(BlockIoTest, OneUnknownDiskDoesNotStopTheOthers) {
  run(R"({"enable":true,"blocks":[{"name":"/dev/sdz","type":"device","ioCfg":{"readIOPS":1}},
          {"name":"fast-vg","type":"volumegroup","ioCfg":{"writeBPS":4096}}]})");
  EXPECT_THAT(v2() ? be("io.max") : be("blkio.throttle.write_bps_device"),
              HasSubstr(v2() ? "253:32 rbps=max wbps=4096" : "253:32 4096"));
  EXPECT_THAT(textAt(strategy_->view(), "reason"),
              HasSubstr("beClass: device '/dev/sdz' is not on a disk of this node"));
}

TEST_P(BlockIoTest, TheRootSaysWhenADiskIsOverloaded) {
  run("{}", R"({"enable":true,"blocks":[{"name":"/dev/vdb","type":"device",
                "ioCfg":{"readLatency":1000,"readLatencyPercent":99}}]})");
  const std::string prefix = v2() ? "cgroup/io.cost." : "cgroup/blkio/blkio.cost.";
  EXPECT_EQ(files_.tree().read(prefix + "qos"),
            "253:16 enable=1 ctrl=user rpct=99 rlat=1000 wpct=95 wlat=3000");
  EXPECT_EQ(files_.tree().read(prefix + "model"), "253:16 ctrl=auto");
  run("{}", "{}");
  EXPECT_EQ(files_.tree().read(prefix + "qos"), "253:16 enable=0");
}

TEST_P(BlockIoTest, APodsVolumeIsOnItsDisk) {
  const auto dir = files_.addPod(KubeQos::BestEffort, "u", {});
  for (const auto* file : {"blkio.throttle.read_bps_device", "io.max"})
    files_.tree().write(fmt::format("cgroup/{}{}/{}", v2() ? "" : "blkio/", dir, file), "");
  api::Pod pod = *api::decodeText<api::Pod>(
      R"({"metadata":{"name":"p","uid":"u","labels":{"koordinator.sh/qosClass":"BE"}},
          "spec":{"volumes":[{"name":"work","persistentVolumeClaim":{"claimName":"data"}}]},
          "status":{"phase":"Running","qosClass":"BestEffort"}})");
  pod.metadata.annotations["koordinator.sh/blkioQOS"] =
      R"({"blocks":[{"name":"work","type":"podvolume","ioCfg":{"readBPS":8192}}]})";
  states_.setPods({viewOf(std::make_shared<const api::Pod>(std::move(pod)), files_.driver())});
  run("{}");
  EXPECT_THAT(files_.tree().read(fmt::format("cgroup/{}{}/{}", v2() ? "" : "blkio/", dir,
                                             v2() ? "io.max" : "blkio.throttle.read_bps_device")),
              HasSubstr(v2() ? "253:32 rbps=8192" : "253:32 8192"));
}

}  // namespace
}  // namespace koord::koordlet
