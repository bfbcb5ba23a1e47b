#include <algorithm>
#include <cmath>

#include "koordlet/agent/agent_testing.h"
#include "koordlet/system/conversions.h"

// Each strategy against a simulated host that reacts: pods want CPU and memory, get what the
// cgroups allow, and koordlet sees the outcome in the next second. The tests check how fast a limit
// reaches its target, that it does not overshoot, and that it stays there.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kCpus = 16;
constexpr std::string_view kOneBatchCore =
    R"("requests":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"},
       "limits":{"kubernetes.io/batch-cpu":"16000","kubernetes.io/batch-memory":"8Gi"})";

class ClosedLoops : public AgentFixture {
 protected:
  std::string podOf(const std::string& container) const {
    return container.substr(0, container.rfind('/'));
  }
  std::int64_t quotaOf(const std::string& dir) {
    const auto layout = CgroupLayout::detect(files_.dirs());
    return CgroupReader(*layout).cfsQuotaUs(dir).value();
  }
  void setQuota(const std::string& dir, std::int64_t us) {
    files_.setCgroupText(
        CgroupFile::CpuCfsQuota, dir,
        GetParam() == CgroupVersion::V1 ? std::to_string(us) : fmt::format("{} 100000", us));
  }
  void putSpec(std::string_view spec) {
    cluster_.put("nodeslos", fmt::format(R"({{"metadata":{{"name":"n1"}},"spec":{}}})", spec));
  }
  // BE pods take what their CPUs, their quota and the LS pods leave them.
  double given(double ls, double wanted) {
    double most = std::min(static_cast<double>(beCpus().size()), kCpus - ls - 0.5);
    if (const auto quota = beQuota(); quota > 0)
      most = std::min(most, static_cast<double>(quota) / static_cast<double>(kCfsPeriodUs));
    return std::clamp(wanted, 0.0, std::max(most, 0.0));
  }
  void live(double ls, double wantedByBe) { second(ls, given(ls, wantedByBe)); }
  std::uint64_t writes() const { return agent_->audit().added(); }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, ClosedLoops,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

TEST_P(ClosedLoops, TheCpusOfBestEffortFollowAServicesDay) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kOneBatchCore);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  startAgent();
  for (int i = 0; i < 20; ++i) live(1, 16);
  constexpr int kGrowth = 2;  // a tenth of the CPUs
  const double day[] = {1, 3, 6, 9, 9, 4, 1};
  for (const double ls : day) {
    // 65 % of 16 CPUs, less the LS pod's usage and half a core of the system.
    const int target = std::max(static_cast<int>(std::ceil(10.4 - ls - 0.5)), 2);
    int before = beCpus().size();
    for (int i = 0; i < 12; ++i) {
      live(ls, 16);
      const int now = beCpus().size();
      EXPECT_LE(now, std::max(before + kGrowth, target)) << "a bounded step up at " << ls;
      if (i >= 1) {
        EXPECT_LE(now, target + 1) << "no more than its share after two seconds";
      }
      if (i >= 10) {
        EXPECT_NEAR(now, target, 1) << "there within ten seconds at " << ls;
      }
      before = now;
    }
  }
}

TEST_P(ClosedLoops, CpusStayAsTheyAreWhileNothingMuchChanges) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kOneBatchCore);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  startAgent();
  for (int i = 0; i < 20; ++i) live(3.3, 16);
  const auto before = writes();
  const CpuSet cpus = beCpus();
  for (int i = 0; i < 60; ++i) live(i % 2 ? 3.2 : 3.4, 16);
  EXPECT_EQ(beCpus(), cpus);
  EXPECT_EQ(writes(), before);
}

TEST_P(ClosedLoops, TheQuotaOfBestEffortFollowsAServicesDay) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kOneBatchCore);
  cluster_.putSlo(
      R"({"enable":true,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cfsQuota"})");
  startAgent();
  for (int i = 0; i < 25; ++i) live(1, 16);
  constexpr std::int64_t kGrowth = kCpus * kCfsPeriodUs / 10, kIgnored = kCpus * kCfsPeriodUs / 100;
  for (const double ls : {1.0, 5.0, 9.5, 11.0, 2.0}) {
    const auto target = std::max<std::int64_t>(
        static_cast<std::int64_t>((10.4 - ls - 0.5) * static_cast<double>(kCfsPeriodUs)), 2000);
    std::int64_t before = beQuota();
    for (int i = 0; i < 12; ++i) {
      live(ls, 16);
      const std::int64_t now = beQuota();
      EXPECT_LE(now, std::max(before + kGrowth, target)) << "a bounded step up at " << ls;
      if (i >= 2) {
        EXPECT_LE(now, target + 2 * kIgnored) << "no more than its share at " << ls;
      }
      before = now;
    }
    EXPECT_NEAR(static_cast<double>(before), static_cast<double>(target), 2.0 * kIgnored);
    const auto settled = writes();
    for (int i = 0; i < 20; ++i) live(ls + (i % 2 ? 0.05 : -0.05), 16);
    EXPECT_EQ(beQuota(), before) << "less than a hundredth of the node is no reason to write";
    EXPECT_EQ(writes(), settled);
  }
}

TEST_P(ClosedLoops, AThrottledServiceIsLiftedUntilItIsNotAndNoFurther) {
  const auto web = addPod("web", KubeQos::Burstable, "LS", 9500,
                          R"("limits":{"cpu":"4"},"requests":{"cpu":"4"})");
  for (const auto& dir : {podOf(web), web}) setQuota(dir, 400'000);
  putSpec(R"({"cpuBurstStrategy":{"policy":"cfsQuotaBurstOnly","cfsQuotaBurstPercent":300,
               "sharePoolThresholdPercent":50}})");
  startAgent();
  const auto wants = [&](double cores, double others) {
    const double most = static_cast<double>(quotaOf(web)) / static_cast<double>(kCfsPeriodUs);
    files_.consumeCpu(web, std::min(cores, most), 1s);
    for (const auto& dir : {podOf(web), web}) files_.addPeriods(dir, 10, cores > most ? 5 : 0);
    second(others, 0, 0.1);
    EXPECT_EQ(quotaOf(podOf(web)), quotaOf(web)) << "the pod has what its container has";
  };
  for (int i = 0; i < 5; ++i) wants(2, 0.5);
  EXPECT_EQ(quotaOf(web), 400'000) << "who is not throttled is not lifted";
  std::int64_t before = 400'000;
  for (int i = 0; i < 12; ++i) {
    wants(6, 0.5);
    EXPECT_GE(quotaOf(web), before);
    EXPECT_LE(quotaOf(web), before * 12 / 10 + 1) << "a fifth at a time";
    before = quotaOf(web);
  }
  EXPECT_GE(before, 600'000);
  EXPECT_LE(before, 600'000 * 12 / 10) << "not a step more than it needs";
  for (int i = 0; i < 30; ++i) wants(6, 0.5);
  EXPECT_EQ(quotaOf(web), before) << "and there it stays";
  // Others fill the node's shared CPUs: it comes down again, by a fifth at a time, to its own.
  for (int i = 0; i < 30; ++i) {
    wants(6, 9);
    EXPECT_LE(quotaOf(web), before);
    EXPECT_GE(quotaOf(web), std::min<std::int64_t>(before, before * 8 / 10 - 1));
    before = quotaOf(web);
  }
  EXPECT_EQ(before, 400'000);
}

TEST_P(ClosedLoops, ALeakIsEvictedOnceAndTheRestStays) {
  const std::vector<std::string> names{"leak", "calm"};
  for (const auto& name : names) addPod(name, KubeQos::BestEffort, "BE", 5500, kOneBatchCore);
  cluster_.putSlo(
      R"({"enable":true,"memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":60})");
  startAgent();
  std::int64_t leaked = 4 * kGiB, peak = 0;
  for (int i = 0; i < 120; ++i) {
    if (!cluster_.evictions.empty() && leaked > 0) {  // it ends, and its memory comes back
      leaked = 0;
      files_.removePod(KubeQos::BestEffort, "leak");
      std::erase_if(pods_.pods, [](const auto& pod) { return pod->metadata.name == "leak"; });
    } else if (leaked > 0) {
      leaked += kGiB / 2;
      files_.setMemory(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "leak"), leaked);
    }
    // Without the leak the node is far below the threshold.
    const std::int64_t used = 30 * kGiB + leaked;
    files_.setMemory(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "calm"), 2 * kGiB);
    files_.setMemoryUsed(used);
    peak = std::max(peak, used);
    second(1, 0);
  }
  EXPECT_THAT(cluster_.evictions, testing::ElementsAre("leak"));
  EXPECT_LE(peak, 64 * kGiB * 75 / 100) << "it went soon after the threshold";
}

TEST_P(ClosedLoops, StarvingBestEffortGoesUntilTheRestIsSatisfiedAndNotAllAtOnce) {
  options_.gates = *FeatureGates::parse("BECPUEvict=true");
  constexpr std::string_view kFour = R"("requests":{"kubernetes.io/batch-cpu":"4000"})";
  std::map<std::string, std::string> running;
  for (const auto* name : {"a", "b", "c"})
    running[name] = addPod(name, KubeQos::BestEffort, "BE", 5500, kFour);
  cluster_.putSlo(R"({"enable":true,"cpuEvictBESatisfactionLowerPercent":50,
                      "cpuEvictBESatisfactionUpperPercent":60,"cpuEvictTimeWindowSeconds":20})");
  startAgent();
  std::vector<int> at;
  for (int i = 0; i < 240; ++i) {
    const double ls = i < 60 ? 2 : 6;
    const double each =
        given(ls, 16) / static_cast<double>(std::max<std::size_t>(running.size(), 1));
    for (const auto& [name, dir] : running) files_.consumeCpu(dir, each, 1s);
    second(ls, 0);
    for (const auto& name : cluster_.evictions) {
      if (running.erase(name) == 0) continue;
      at.push_back(i);
      files_.removePod(KubeQos::BestEffort, name);
      std::erase_if(pods_.pods, [&](const auto& pod) { return pod->metadata.name == name; });
    }
  }
  // 8 cores are enough for 12, 4 are not: one pod is evicted, and then 4 of 8 are a half, which is
  // not above the lower bound.
  ASSERT_FALSE(at.empty());
  EXPECT_GE(at.front(), 60 + 6) << "not before a third of the window has been bad";
  for (std::size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], 20) << "the cool-down";
  EXPECT_GE(running.size(), 1U) << "who is satisfied stays";
  const auto evictions = cluster_.evictions.size();
  for (int i = 0; i < 60; ++i) live(2, 4);
  EXPECT_EQ(cluster_.evictions.size(), evictions);
}

TEST_P(ClosedLoops, ProtectedMemoryFollowsThePodsAndThenNothingIsWritten) {
  options_.gates = *FeatureGates::parse("CgroupReconcile=true");
  constexpr std::string_view kTwo = R"("requests":{"memory":"2Gi"},"limits":{"memory":"4Gi"})";
  const auto makeFiles = [&](const std::string& dir) {
    for (const auto file : {CgroupFile::MemoryMin, CgroupFile::MemoryLow})
      files_.setCgroupText(file, dir, "0");
    files_.setCgroupText(CgroupFile::MemoryHigh, dir, "max");
  };
  const std::string burstable = qosDir(CgroupDriver::Cgroupfs, KubeQos::Burstable);
  for (const KubeQos qos : kKubeQosClasses) makeFiles(qosDir(CgroupDriver::Cgroupfs, qos));
  const auto add = [&](const std::string& name) {
    const auto dir = addPod(name, KubeQos::Burstable, "LS", 9500, kTwo);
    for (const auto& one : {podOf(dir), dir}) makeFiles(one);
    return dir;
  };
  const auto minimum = [&](const std::string& dir) {
    return std::stoll(files_.cgroupText(CgroupFile::MemoryMin, dir));
  };
  const auto first = add("one");
  putSpec(R"({"resourceQOSStrategy":{"lsClass":{"memoryQOS":{"enable":true,"minLimitPercent":50,
               "lowLimitPercent":60,"throttlingPercent":80}}}})");
  startAgent();
  seconds(15, 1, 0);
  EXPECT_EQ(minimum(first), kGiB);
  EXPECT_EQ(minimum(burstable), kGiB);
  const auto second = add("two");
  std::int64_t before = kGiB;
  for (int i = 0; i < 15; ++i) {
    seconds(1, 1, 0);
    const std::int64_t pods = minimum(podOf(first)) + minimum(podOf(second));
    EXPECT_GE(minimum(burstable), pods) << "never less than what is promised below";
    EXPECT_GE(minimum(burstable), before);
    before = minimum(burstable);
  }
  EXPECT_EQ(before, 2 * kGiB);
  const auto settled = writes();
  seconds(60, 1, 0);
  EXPECT_EQ(writes(), settled);
  pods_.pods.erase(pods_.pods.begin() + 1);
  files_.removePod(KubeQos::Burstable, "one");
  seconds(15, 1, 0);
  EXPECT_EQ(minimum(burstable), kGiB);
}

TEST_P(ClosedLoops, CachesFollowTheirPercentagesAndAreGivenBack) {
  if (GetParam() == CgroupVersion::V1) GTEST_SKIP() << "resctrl is the same on both";
  auto& tree = files_.tree();
  tree.write("proc/cpuinfo", "vendor_id : GenuineIntel\nflags : fpu cat_l3 mba\n");
  const std::string root = "sys/fs/resctrl/";
  const auto path = [&](const std::string& name) {
    return files_.dirs().sysFsRoot + "resctrl/" + name;
  };
  const std::string base = path("").substr(tree.path("").size());
  tree.write(base + "info/L3/cbm_mask", "7ff\n");
  tree.write(base + "info/L3/min_cbm_bits", "1\n");
  tree.write(base + "info/MB/bandwidth_gran", "10\n");
  tree.write(base + "info/MB/min_bandwidth", "10\n");
  tree.write(base + "schemata", "L3:0=7ff;1=7ff\nMB:0=100;1=100\n");
  for (const auto* group : {"LSR", "LS", "BE"}) {
    tree.write(base + group + "/schemata", "L3:0=7ff;1=7ff\nMB:0=100;1=100\n");
    tree.write(base + group + "/tasks", "");
  }
  const auto putPercent = [&](bool enable, int percent) {
    putSpec(fmt::format(R"({{"resourceQOSStrategy":{{"beClass":{{"resctrlQOS":{{"enable":{},
                             "catRangeStartPercent":0,"catRangeEndPercent":{},"mbaPercent":{}}}}}}}}})",
                        enable, percent, percent));
  };
  const auto schemata = [&] { return tree.read(base + "BE/schemata"); };
  putPercent(true, 30);
  startAgent();
  seconds(15, 1, 0);
  // A file of a test keeps what was written last: the bandwidth.
  EXPECT_THAT(schemata(), testing::HasSubstr("MB:0=30;1=30"));
  EXPECT_THAT(toJson(qos()), testing::HasSubstr("L3:0=f;1=f"));
  putPercent(true, 60);
  seconds(3, 1, 0);
  EXPECT_THAT(toJson(qos()), testing::HasSubstr("L3:0=7f;1=7f"));
  putPercent(false, 60);
  seconds(3, 1, 0);
  EXPECT_THAT(toJson(qos()), testing::HasSubstr("L3:0=7ff;1=7ff"));
}

}  // namespace
}  // namespace koord::koordlet
