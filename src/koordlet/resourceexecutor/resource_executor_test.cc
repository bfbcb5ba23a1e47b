#include "koordlet/resourceexecutor/resource_executor.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  explicit Fixture(CgroupVersion version)
      : files(version, {.cpus = 8}),
        host(*Host::detect(files.dirs())),
        executor(host, loop, {}, audit) {}

  std::string be() const { return host.besteffort(); }
  UpdateOutcome set(CgroupFile file, std::string dir, std::string value) {
    return executor.update({file, std::move(dir), std::move(value), "test"}).value();
  }

  FakeHost files;
  VirtualLoop loop;
  Host host;
  AuditRing audit;
  ResourceExecutor executor;
};

class ResourceExecutorTest : public testing::TestWithParam<CgroupVersion> {
 protected:
  bool v2() const { return GetParam() == CgroupVersion::V2; }
  Fixture f{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, ResourceExecutorTest,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

TEST_P(ResourceExecutorTest, WritesInTheLanguageOfTheVersion) {
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "2"), UpdateOutcome::Written);
  EXPECT_EQ(f.set(CgroupFile::CpuCfsQuota, f.be(), "250000"), UpdateOutcome::Written);
  EXPECT_EQ(f.set(CgroupFile::MemoryLimit, f.be(), "1048576"), UpdateOutcome::Written);
  EXPECT_EQ(f.files.cgroupText(CgroupFile::CpuShares, f.be()), v2() ? "1" : "2");
  EXPECT_EQ(f.files.cgroupText(CgroupFile::CpuCfsQuota, f.be()), "250000");
  EXPECT_EQ(f.set(CgroupFile::CpuCfsQuota, f.be(), "-1"), UpdateOutcome::Written);
  EXPECT_EQ(f.files.cgroupText(CgroupFile::CpuCfsQuota, f.be()), v2() ? "max" : "-1");
}

TEST_P(ResourceExecutorTest, NothingIsWrittenWhenTheFileMeansTheSame) {
  EXPECT_EQ(f.set(CgroupFile::CpusetCpus, f.be(), "0,1,2,3,4,5,6,7"), UpdateOutcome::Unchanged);
  EXPECT_EQ(f.set(CgroupFile::CpuCfsQuota, f.be(), "-1"), UpdateOutcome::Unchanged);
  EXPECT_EQ(f.audit.added(), 0U);
}

TEST_P(ResourceExecutorTest, DriftIsRepairedAtTheLatestAfterTheForcedUpdate) {
  f.set(CgroupFile::CpuShares, f.be(), "2");
  f.files.setCgroupText(CgroupFile::CpuShares, f.be(), "77");
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "2"), UpdateOutcome::Unchanged);
  f.loop.advance(60s);
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "2"), UpdateOutcome::Written);
  EXPECT_EQ(f.files.cgroupText(CgroupFile::CpuShares, f.be()), v2() ? "1" : "2");
}

TEST_P(ResourceExecutorTest, TheCacheForgetsWhatIsNoLongerHandedIn) {
  f.set(CgroupFile::CpuShares, f.be(), "2");
  EXPECT_EQ(f.executor.cacheSize(), 1U);
  f.loop.advance(3min);
  f.executor.collectGarbage();
  EXPECT_EQ(f.executor.cacheSize(), 0U);
}

TEST_P(ResourceExecutorTest, TheMostSharesBecomeTheMostWeight) {
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "262144"), UpdateOutcome::Written);
  EXPECT_EQ(f.files.cgroupText(CgroupFile::CpuShares, f.be()), v2() ? "10000" : "262144");
  EXPECT_FALSE(f.executor.update({CgroupFile::CpuShares, f.be(), "262145", "test"}));
  // The file of v2 takes weights only.
  EXPECT_TRUE(validateCgroupValue(CgroupFile::CpuShares, CgroupVersion::V1, "262144"));
  EXPECT_FALSE(validateCgroupValue(CgroupFile::CpuShares, CgroupVersion::V2, "262144"));
}

TEST_P(ResourceExecutorTest, BadValuesAndUnknownCgroupsChangeNothing) {
  const auto bad = f.executor.update({CgroupFile::CpuShares, f.be(), "1", "test"});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("cpu.shares"));
  EXPECT_FALSE(f.executor.update({CgroupFile::CpusetCpus, f.be(), "a-b", "test"}));
  EXPECT_EQ(f.set(CgroupFile::CpuShares, "kubepods/gone", "2"), UpdateOutcome::Gone);
  EXPECT_EQ(f.set(CgroupFile::CpuBvtWarpNs, f.be(), "-1"), UpdateOutcome::Unsupported);
  EXPECT_EQ(f.set(CgroupFile::PagecacheLimitEnable, f.be(), "1"), UpdateOutcome::Unsupported);
}

TEST_P(ResourceExecutorTest, EveryChangeIsOnRecord) {
  f.set(CgroupFile::CpuShares, f.be(), "1024");
  f.set(CgroupFile::CpuCfsQuota, f.be(), "5000");
  const auto document = f.audit.toJson(1);
  EXPECT_EQ(at(document, "total")->to_number<int>(), v2() ? 2 : 1);  // v1 has 1024 shares already
  const auto& entry = at(document, "entries")->get_array().at(0);
  EXPECT_EQ(textAt(entry, "cgroup"), f.be());
  EXPECT_EQ(textAt(entry, "file"), v2() ? "cpu.max" : "cpu.cfs_quota_us");
  EXPECT_EQ(textAt(entry, "old"), v2() ? "max 100000" : "-1");
  EXPECT_EQ(textAt(entry, "new"), "5000");
  EXPECT_EQ(textAt(entry, "reason"), "test");
}

// The order of writes is what counts; the audit has it.
std::vector<std::string> writes(const AuditRing& audit) {
  std::vector<std::string> result;
  for (const auto& entry : audit.entries())
    result.push_back(entry.cgroup.substr(entry.cgroup.rfind('/') + 1) + "=" + entry.after);
  return result;
}

TEST_P(ResourceExecutorTest, ALeveledCpusetMovesThroughTheUnionAndEndsAtTheTarget) {
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  for (const auto& dir : {f.be(), pod}) f.files.setCgroupText(CgroupFile::CpusetCpus, dir, "0-3");
  const std::vector<CgroupUpdate> levels[] = {{{CgroupFile::CpusetCpus, f.be(), "2-5", "t"}},
                                              {{CgroupFile::CpusetCpus, pod, "2-5", "t"}}};
  f.executor.updateLeveled(levels);
  EXPECT_THAT(writes(f.audit),
              testing::ElementsAre("besteffort=0-5", "podu=0-5", "podu=2-5", "besteffort=2-5"));
  f.executor.updateLeveled(levels);
  EXPECT_EQ(f.audit.added(), 4U);
}

TEST_P(ResourceExecutorTest, LimitsGrowFromTheTopAndShrinkFromTheBottom) {
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  const auto levels = [&](std::string top, std::string bottom) {
    return std::vector<std::vector<CgroupUpdate>>{{{CgroupFile::CpuCfsQuota, f.be(), top, "t"}},
                                                  {{CgroupFile::CpuCfsQuota, pod, bottom, "t"}}};
  };
  f.executor.updateLeveled(levels("200000", "100000"));
  f.files.settle();
  f.executor.updateLeveled(levels("400000", "300000"));
  f.files.settle();
  f.executor.updateLeveled(levels("-1", "-1"));
  const std::string none = v2() ? "max" : "-1";
  EXPECT_THAT(writes(f.audit),
              testing::ElementsAre("podu=100000", "besteffort=200000", "besteffort=400000",
                                   "podu=300000", "besteffort=" + none, "podu=" + none));
}

TEST_P(ResourceExecutorTest, AFightIsGivenUpAndTriedAgainLater) {
  int fights = 0;
  f.executor.onConflict([&](std::string_view file, std::string_view) {
    EXPECT_EQ(file, "cpuset.cpus");
    ++fights;
  });
  const auto round = [&] {
    const auto outcome =
        f.executor
            .update({CgroupFile::CpusetCpus, f.be(), "0-1", "test"}, ResourceExecutor::Caching::Yes)
            .value();
    f.files.setCgroupText(CgroupFile::CpusetCpus, f.be(), "0-7");  // another writer
    f.executor.changed(f.host.layout.dir(Subsystem::Cpuset, f.be()) + "cpuset.cpus");
    f.loop.advance(1s);
    return outcome;
  };
  for (int i = 0; i < 6; ++i) EXPECT_EQ(round(), UpdateOutcome::Written);
  EXPECT_EQ(round(), UpdateOutcome::InConflict);
  EXPECT_EQ(round(), UpdateOutcome::InConflict);
  EXPECT_EQ(fights, 1);
  const json::value view = f.executor.conflictsView();
  ASSERT_EQ(view.get_array().size(), 1U);
  EXPECT_EQ(textAt(view.get_array()[0], "ours"), "0-1");
  EXPECT_EQ(textAt(view.get_array()[0], "theirs"), "0-7");
  f.loop.advance(5min);
  EXPECT_EQ(round(), UpdateOutcome::Written);
}

TEST_P(ResourceExecutorTest, ValuesThatChangeOnOurSideAreNoFight) {
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(f.set(CgroupFile::CpusetCpus, f.be(), i % 2 ? "0-1" : "0-3"), UpdateOutcome::Written);
    f.loop.advance(1s);
  }
}

TEST_P(ResourceExecutorTest, AmountsOfMemoryAreComparedInPages) {
  f.files.setCgroupText(CgroupFile::MemoryLimit, f.be(), "1048576\n");
  EXPECT_EQ(f.set(CgroupFile::MemoryLimit, f.be(), "1048577"), UpdateOutcome::Unchanged);
  EXPECT_EQ(f.set(CgroupFile::MemoryLimit, f.be(), "1052672"), UpdateOutcome::Written);
}

TEST_P(ResourceExecutorTest, OtherFilesAreWrittenOnceAndOnRecord) {
  f.files.tree().write("proc/sys/vm/x", "1\n");
  const FileUpdate update{f.files.tree().path("proc/sys/vm/x"), "2", "test"};
  EXPECT_EQ(f.executor.updateFile(update), UpdateOutcome::Written);
  EXPECT_EQ(f.executor.updateFile(update), UpdateOutcome::Unchanged);
  EXPECT_EQ(f.audit.entries().back().before, "1");
  EXPECT_EQ(f.executor.updateFile({f.files.tree().path("nowhere"), "2", "test"}),
            UpdateOutcome::Gone);
}

TEST_P(ResourceExecutorTest, ValuesOfSeveralDevicesInOneFileAreEachRemembered) {
  const CgroupFile file = v2() ? CgroupFile::IoWeight : CgroupFile::BlkioReadIops;
  const auto entry = [&](const char* device) {
    return CgroupUpdate{file, f.be(), std::string(device) + " 50", "test"};
  };
  f.files.setCgroupText(file, f.be(), "8:0 50\n8:16 50\n");
  if (!v2()) {
    f.files.tree().write("cgroup/blkio/kubepods/blkio.throttle.read_iops_device", "");
    f.files.tree().write("cgroup/blkio/kubepods/besteffort/blkio.throttle.read_iops_device",
                         "8:0 50\n8:16 50\n");
  }
  const Host host = *Host::detect(f.files.dirs());
  ResourceExecutor executor(host, f.loop, {}, f.audit);
  EXPECT_EQ(executor.update(entry("8:0")).value(), UpdateOutcome::Unchanged);
  EXPECT_EQ(executor.update(entry("8:16")).value(), UpdateOutcome::Unchanged);
  EXPECT_EQ(executor.cacheSize(), 2U);
}

TEST_P(ResourceExecutorTest, WhoInsistsWritesOnAndTheFightIsOnRecord) {
  int fights = 0;
  f.executor.onConflict([&](std::string_view, std::string_view) { ++fights; });
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(f.executor
                  .update({CgroupFile::CpusetCpus, f.be(), "0-1", "test"},
                          ResourceExecutor::Caching::ForceWrite)
                  .value(),
              UpdateOutcome::Written);
    f.files.setCgroupText(CgroupFile::CpusetCpus, f.be(), "0-7");  // kubelet's CPU manager
    f.loop.advance(10s);
  }
  EXPECT_EQ(fights, 3);
  EXPECT_EQ(f.executor.conflictsView().get_array().size(), 1U);
}

TEST_P(ResourceExecutorTest, WhatIsLookedAtEveryRoundIsGivenUpWhenOthersKeepChangingIt) {
  int written = 0;
  for (int i = 0; i < 60; ++i) {
    const auto outcome = f.executor.update({CgroupFile::CpuCfsQuota, f.be(), "120000", "test"},
                                           ResourceExecutor::Caching::No);
    written += outcome.value() == UpdateOutcome::Written ? 1 : 0;
    f.files.setCgroupText(CgroupFile::CpuCfsQuota, f.be(), v2() ? "100000 100000" : "100000");
    f.loop.advance(1s);
  }
  EXPECT_EQ(written, 6);
}

TEST_P(ResourceExecutorTest, WhatSomebodyWroteIsLookedAtWhenOurValueComesNext) {
  const std::string be = f.host.layout.dir(Subsystem::Cpu, f.be());
  const std::string shares = be + (v2() ? "cpu.weight" : "cpu.shares");
  f.set(CgroupFile::CpuShares, f.be(), "2");
  EXPECT_FALSE(f.executor.changed(shares));  // we ourselves wrote it
  f.files.setCgroupText(CgroupFile::CpuShares, f.be(), "77");
  EXPECT_FALSE(f.executor.changed(be + "nothing.of.ours"));
  EXPECT_FALSE(f.executor.changed("/elsewhere/cpu.shares"));
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "2"), UpdateOutcome::Unchanged);
  EXPECT_TRUE(f.executor.changed(shares));
  EXPECT_EQ(f.set(CgroupFile::CpuShares, f.be(), "2"), UpdateOutcome::Written);
}

TEST_P(ResourceExecutorTest, ADirectoryThatWasMadeAnewHasNothingOfOurs) {
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  f.set(CgroupFile::CpuShares, pod, "256");
  f.files.removePod(KubeQos::BestEffort, "u");
  f.files.addPod(KubeQos::BestEffort, "u", {});
  f.executor.forgetDir(f.host.layout.dir(Subsystem::Cpu, f.be()) + "podu");
  EXPECT_EQ(f.set(CgroupFile::CpuShares, pod, "256"), UpdateOutcome::Written);
}

TEST_P(ResourceExecutorTest, YoungCgroupsAreLookedAtOftenAndOldOnesNotAtAll) {
  EXPECT_EQ(f.executor.nextRepair(), std::nullopt);
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  f.set(CgroupFile::CpuShares, pod, "256");
  EXPECT_EQ(f.executor.nextRepair(), 100ms);
  f.loop.advance(100ms);
  EXPECT_FALSE(f.executor.repairNewCgroups());
  f.files.setCgroupText(CgroupFile::CpuShares, pod, "2");
  f.loop.advance(100ms);
  EXPECT_TRUE(f.executor.repairNewCgroups());
  EXPECT_EQ(f.set(CgroupFile::CpuShares, pod, "256"), UpdateOutcome::Written);
  f.loop.advance(11s);
  EXPECT_FALSE(f.executor.repairNewCgroups());
  EXPECT_EQ(f.executor.nextRepair(), std::nullopt);
}

TEST_P(ResourceExecutorTest, ARepairDoesNotMakeAnOldCgroupYoung) {
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  f.set(CgroupFile::CpuShares, pod, "256");
  f.loop.advance(30s);
  f.executor.repairNewCgroups();
  ASSERT_EQ(f.executor.nextRepair(), std::nullopt);
  f.files.setCgroupText(CgroupFile::CpuShares, pod, "2");
  EXPECT_TRUE(f.executor.changed(f.host.layout.dir(Subsystem::Cpu, pod) +
                                 (v2() ? "cpu.weight" : "cpu.shares")));
  EXPECT_EQ(f.set(CgroupFile::CpuShares, pod, "256"), UpdateOutcome::Written);
  EXPECT_EQ(f.executor.nextRepair(), std::nullopt);
}

TEST_P(ResourceExecutorTest, YouthEndsWhoeverKeepsWriting) {
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  const std::pair<CgroupFile, const char*> values[] = {{CgroupFile::CpusetCpus, "0-1"},
                                                       {CgroupFile::MemoryLimit, "8192"}};
  for (const auto& [file, value] : values) f.set(file, pod, value);
  for (int i = 0; i < 9; ++i) {  // as kubelet's static CPU manager, and too seldom for a fight
    f.loop.advance(9s);
    const auto& [file, value] = values[i % 2];
    f.files.setCgroupText(file, pod, i % 2 == 0 ? "0-7" : "4096");
    f.executor.repairNewCgroups();
    f.set(file, pod, value);
  }
  EXPECT_EQ(f.executor.nextRepair(), std::nullopt);
}

TEST_P(ResourceExecutorTest, FilesThatComeLateAreSeenThoughTheirCgroupIsLongKnown) {
  if (v2()) return;  // one directory is all
  const auto pod = f.files.addPod(KubeQos::BestEffort, "u", {});
  f.files.tree().remove("cgroup/memory/" + pod);
  f.files.tree().remove("cgroup/cpuset/" + pod);
  f.set(CgroupFile::CpuShares, pod, "256");
  f.loop.advance(30s);
  f.executor.repairNewCgroups();
  EXPECT_EQ(f.set(CgroupFile::MemoryLimit, pod, "4096"), UpdateOutcome::Gone);
  EXPECT_EQ(f.set(CgroupFile::CpusetCpus, pod, "0"), UpdateOutcome::Gone);
  // One of them, and then the other.
  for (const auto& [file, text] :
       {std::pair(CgroupFile::MemoryLimit, "-1"), {CgroupFile::CpusetCpus, "0-7"}}) {
    f.loop.advance(100ms);
    EXPECT_FALSE(f.executor.repairNewCgroups());
    f.files.setCgroupText(file, pod, text);
    f.loop.advance(100ms);
    EXPECT_TRUE(f.executor.repairNewCgroups());
  }
  // The wait for a file that never appears ends.
  f.files.tree().remove("cgroup/memory/" + pod);
  for (int i = 0; i < 60; ++i) {
    f.set(CgroupFile::MemoryLimit, pod, "4096");
    f.loop.advance(1s);
    f.executor.repairNewCgroups();
  }
  EXPECT_EQ(f.executor.nextRepair(), std::nullopt);
}

}  // namespace
}  // namespace koord::koordlet
