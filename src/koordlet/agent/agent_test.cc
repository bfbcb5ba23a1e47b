#include "koordlet/agent/agent_testing.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AgentTest : public AgentFixture {
 protected:
  // The cgroups whose quota was written after the first `changes` changes, in order.
  std::vector<std::string> quotaWritesSince(std::uint64_t changes) const {
    std::vector<std::string> cgroups;
    const auto& entries = agent_->audit().entries();
    for (std::size_t i = changes; i < entries.size(); ++i)
      if (entries[i].file.starts_with("cpu.cfs_quota") || entries[i].file == "cpu.max")
        cgroups.push_back(entries[i].cgroup);
    return cgroups;
  }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, AgentTest, testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

constexpr std::string_view kBatch =
    R"("requests":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"},
       "limits":{"kubernetes.io/batch-cpu":"2000","kubernetes.io/batch-memory":"4Gi"})";

TEST_P(AgentTest, BestEffortShrinksWithinTwoIntervalsWhenLatencySensitiveDemandRisesAndGrowsBack) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  startAgent();
  seconds(15, 2, 4);
  // 65% of 16 = 10.4; minus 2 and the system's 0.5: 7.9 cores, 8 CPUs.
  EXPECT_EQ(beCpus().size(), 8);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, be_), beCpus().toString());

  seconds(2, 6, 4);  // 10.4 - 6.5 = 3.9
  EXPECT_EQ(beCpus().size(), 4);
  EXPECT_THAT(textAt(qos(), "cpuSuppress", "reason"), HasSubstr("LS pods use 6.00"));
  EXPECT_EQ(textAt(qos(), "cpuSuppress", "beCpuset"), beCpus().toString());

  // Back by at most a tenth of the node (2 CPUs) per round, and never above the budget.
  int before = beCpus().size();
  for (int i = 0; i < 6; ++i) {
    second(2, 4);
    EXPECT_LE(beCpus().size(), std::min(before + 2, 8));
    EXPECT_GE(beCpus().size(), before);
    before = beCpus().size();
  }
  EXPECT_EQ(before, 8);
}

TEST_P(AgentTest, BestEffortIsHeldDownWhileAServiceSuffersFromItsNeighbours) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  options_.gates = *FeatureGates::parse("PSICollector=true,InterferenceCPUSuppress=true");
  const auto waits = [&](double percent) {
    const auto text = fmt::format("some avg10={0:.2f} avg60=0.00 avg300=0.00 total=0\n", percent);
    for (const auto file :
         {CgroupFile::CpuPressure, CgroupFile::MemoryPressure, CgroupFile::IoPressure})
      files_.setCgroupText(file, ls_,
                           file == CgroupFile::CpuPressure
                               ? text
                               : "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  };
  waits(1);
  startAgent();
  seconds(45 * 60, 2, 4);  // the baselines are learnt
  EXPECT_EQ(beCpus().size(), 8);
  waits(40);
  seconds(4 * 60, 2, 4);
  EXPECT_LE(beCpus().size(), 3);
  EXPECT_THAT(textAt(qos(), "cpuSuppress", "reason"),
              HasSubstr("because d/ls waits for cpu 40.0%"));
  waits(1);
  seconds(25 * 60, 2, 4);
  EXPECT_EQ(beCpus().size(), 8);
}

TEST_P(AgentTest, AContainerThatComesWhileNothingElseChangesIsNarrowedInTheNextRound) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  startAgent();
  seconds(30, 2, 4);
  const std::string dir = be_.substr(0, be_.rfind('/'));
  files_.addPod(KubeQos::BestEffort, "be", {"containerd://second"});
  const std::string made = files_.containerDir(dir, "containerd://second");
  files_.setCgroupText(CgroupFile::CpusetCpus, made, "0-15");
  files_.settle();
  seconds(1, 2, 4);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, made), beCpus().toString());
}

TEST_P(AgentTest, BestEffortGetsNoCpuThatKubepodsDoesNotHave) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  files_.setCgroupText(CgroupFile::CpusetCpus, kubepodsDir(CgroupDriver::Cgroupfs), "0-5");
  files_.settle();
  cluster_.putSlo(R"({"enable":false})");
  startAgent();
  seconds(3, 1, 1);
  EXPECT_EQ(beCpus().toString(), "0-5");
}

TEST_P(AgentTest, WhenAllIsUsedUpBestEffortKeepsTwoCpus) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 15, 1);
  EXPECT_EQ(beCpus().size(), 2);
}

TEST_P(AgentTest, TheQuotaPolicyFollowsTheBudgetAndIsGivenBackWhenSwitchedOff) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressPolicy":"cfsQuota"})");
  startAgent();
  seconds(15, 4, 2);  // 10.4 - 4 - 0.5 = 5.9 cores
  EXPECT_NEAR(static_cast<double>(beQuota()), 590'000, 16'000);
  EXPECT_EQ(beCpus().size(), 16);
  // The pod's own quota would throttle a second time.
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsQuota, be_),
            GetParam() == CgroupVersion::V1 ? "-1" : "max 100000");
  seconds(2, 8, 2);
  EXPECT_NEAR(static_cast<double>(beQuota()), 190'000, 16'000);
  cluster_.putSlo(R"({"enable":false,"cpuSuppressPolicy":"cfsQuota"})");
  seconds(2, 8, 2);
  EXPECT_EQ(beQuota(), -1);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsQuota, be_),
            GetParam() == CgroupVersion::V1 ? "200000" : "200000 100000");
}

TEST_P(AgentTest, SwitchingOffGivesEveryCpuBack) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 8, 1);
  ASSERT_LT(beCpus().size(), 4);
  cluster_.putSlo(R"({"enable":false})");
  seconds(2, 8, 1);
  EXPECT_EQ(beCpus().size(), 16);
}

TEST_P(AgentTest, ManagedBestEffortStaysWhereTheSchedulerPlacedItAndTheRestIsNotSuppressed) {
  options_.gates = *FeatureGates::parse("BECPUManager=true");
  be_ = addPod("placed", KubeQos::BestEffort, "BE", 5500, kBatch);
  api::Pod placed = *pods_.pods.back();
  placed.metadata.annotations["scheduling.koordinator.sh/resource-status"] =
      R"({"numaNodeResources":[{"node":0,"resources":{"kubernetes.io/batch-cpu":"1000"}}]})";
  pods_.pods.back() = std::make_shared<const api::Pod>(placed);
  const auto free = addPod("free", KubeQos::BestEffort, "BE", 5500, kBatch);
  const auto exclusive = addPod("lse", KubeQos::Guaranteed, "LSE", 9500, "");
  api::Pod owner = *pods_.pods.back();
  owner.metadata.annotations["scheduling.koordinator.sh/resource-status"] = R"({"cpuset":"0-1"})";
  pods_.pods.back() = std::make_shared<const api::Pod>(owner);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":65})");
  startAgent();
  files_.setCgroupText(CgroupFile::CpusetCpus, be_, "2-5");
  seconds(25, 9, 4);  // CPU suppress would limit it to two CPUs
  EXPECT_EQ(beCpus().toString(), "2-15");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, free), "2-15");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, be_), "2-15") << "its NUMA node, less LSE's";
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, exclusive), "0-1");
  EXPECT_THAT(textAt(qos(), "cpuSuppress", "reason"), HasSubstr("BECPUManager"));
}

TEST_P(AgentTest, NumaNodesAndWhatHooksDoAreInTheMetrics) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  options_.gates = *FeatureGates::parse("NodeMetricPromMetrics=true");
  files_.tree().write("sys/devices/system/node/node0/meminfo",
                      "Node 0 MemTotal: 67108864 kB\nNode 0 MemFree: 57108864 kB\n");
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(70, 2, 4);
  cluster_.put("nodes", R"({"metadata":{"name":"n1","uid":"node",
      "annotations":{"node.koordinator.sh/cpu-normalization-ratio":"fast"}},
      "status":{"capacity":{"cpu":"16","memory":"64Gi"},"allocatable":{"cpu":"16","memory":"64Gi"}}})");
  seconds(1, 2, 4);
  const std::string text = metrics_.internalText();
  EXPECT_THAT(text, HasSubstr("koordlet_cpu_normalization_ratio{node=\"n1\"} 1"));
  EXPECT_THAT(text, HasSubstr("koordlet_cpu_normalization_ratio_invalid{node=\"n1\"} 1"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(koordlet_node_metric_numa_node_usage{node="n1",numa_node_id="0",resource="cpu",unit="core"})"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(koordlet_node_metric_numa_system_usage{node="n1",numa_node_id="0",resource="memory",unit="byte"})"));
  EXPECT_THAT(text,
              HasSubstr(R"(koordlet_collect_node_numa_info_status{node="n1",status="succeeded"})"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(koordlet_runtime_hook_reconciler_invoked_duration_milliseconds_count{level="container",node="n1",resource_type="cpu.shares",status="success"})"));
  ASSERT_FALSE(cluster_.reports.empty());
  const auto& last = cluster_.reports.back();
  const auto& zones = at(last, "status", "nodeMetric", "numaUsages")->get_array();
  ASSERT_EQ(zones.size(), 1U);
  EXPECT_EQ(zones[0].at("numaNodeID"), 0) << "the API server insists on it";
}

TEST_P(AgentTest, ABrokenSectionLeavesTheLastGoodOneInForce) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 8, 1);
  const int suppressed = beCpus().size();
  cluster_.putSlo(R"({"enable":true,"cpuSuppressThresholdPercent":900})");
  seconds(3, 8, 1);
  EXPECT_EQ(beCpus().size(), suppressed);
  cluster_.putSlo(R"({"enable":"yes"})");
  seconds(3, 8, 1);
  EXPECT_EQ(beCpus().size(), suppressed);
}

TEST_P(AgentTest, UnderTheStaticPolicyOnlyContainersAreHeldDownAndOwnedCpusAreNobodyElses) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  files_.tree().write("kubelet/cpu_manager_state",
                      R"({"policyName":"static","defaultCpuSet":"0-11",
                          "entries":{"guaranteed":{"c":"12-15"}},"checksum":1})");
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 6, 4);
  const auto containerCpus = [&] {
    return *CpuSet::parse(files_.cgroupText(CgroupFile::CpusetCpus, be_));
  };
  const std::string pod = podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "be");
  EXPECT_EQ(beCpus().toString(), "0-11");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, pod), "0-11");
  EXPECT_EQ(containerCpus().size(), 4);
  EXPECT_TRUE(containerCpus().isSubsetOf(beCpus()));
  // Kubelet puts the container back.
  const CpuSet chosen = containerCpus();
  files_.setCgroupText(CgroupFile::CpusetCpus, be_, "0-11");
  files_.settle();
  second(6, 4);
  EXPECT_EQ(containerCpus(), chosen);
  cluster_.putSlo(R"({"enable":false})");
  seconds(2, 6, 4);
  EXPECT_EQ(containerCpus().toString(), "0-11");
}

TEST_P(AgentTest, WhereOthersOwnAllButOneCpuThatOneIsBestEfforts) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  files_.tree().write("kubelet/cpu_manager_state",
                      R"({"policyName":"static","defaultCpuSet":"0",
                          "entries":{"guaranteed":{"c":"1-15"}},"checksum":1})");
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(5, 1, 1);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, be_), "0");
}

TEST_P(AgentTest, CpusReservedByNumberAreNotBestEfforts) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.put("nodes", R"({"metadata":{"name":"n1","uid":"node","annotations":{
      "node.koordinator.sh/reservation":"{\"resources\":{\"cpu\":\"1500m\"}}"}},
    "status":{"capacity":{"cpu":"16","memory":"64Gi"},"allocatable":{"cpu":"16","memory":"64Gi"}}})");
  cluster_.putSlo(R"({"enable":false})");
  startAgent();
  seconds(3, 1, 1);
  // One whole core of two threads.
  EXPECT_EQ(beCpus().size(), 14);
  EXPECT_FALSE(beCpus().contains(0));
}

TEST_P(AgentTest, TheQuotaOfBestEffortIsLiftedBeforeItsPodsGetTheirsBack) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressPolicy":"cfsQuota"})");
  startAgent();
  seconds(15, 8, 2);
  ASSERT_GT(beQuota(), 0);
  const std::uint64_t before = agent_->audit().added();
  cluster_.putSlo(R"({"enable":true,"cpuSuppressPolicy":"cpuset"})");
  seconds(1, 8, 2);
  const auto quotas = quotaWritesSince(before);
  ASSERT_GE(quotas.size(), 2U);
  EXPECT_EQ(quotas.front(), beDir());
}

TEST_P(AgentTest, ARestartDoesNotBlankTheLongAggregates) {
  startAgent();
  seconds(1000, 3, 0);
  agent_.reset();
  seconds(20, 3, 0);
  cluster_.reports.clear();
  startAgent();
  seconds(10, 3, 0);
  ASSERT_THAT(cluster_.reports, SizeIs(1));
  const auto report = *api::decode<api::NodeMetric>(cluster_.reports.back());
  EXPECT_FALSE(report.status.nodeMetric->aggregatedNodeUsages[2].usage.at("p95").resources.empty());
}

TEST_P(AgentTest, BatchResourcesBecomeCgroupLimitsOfPodAndContainer) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  startAgent();
  seconds(3, 1, 1);
  const bool v2 = GetParam() == CgroupVersion::V2;
  for (const std::string& dir : {be_, podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "be")}) {
    EXPECT_EQ(files_.cgroupText(CgroupFile::CpuShares, dir), v2 ? "39" : "1024");
    EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsQuota, dir), v2 ? "200000 100000" : "200000");
    EXPECT_EQ(files_.cgroupText(CgroupFile::MemoryLimit, dir), "4294967296");
  }
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuShares, ls_), v2 ? "100" : "1024");
}

TEST_P(AgentTest, QuotasOnFasterCpusAreShorterWhatEverCpuBurstDoes) {
  const auto web = addPod("web", KubeQos::Burstable, "LS", 9500, R"("limits":{"cpu":"4"})");
  const bool v2 = GetParam() == CgroupVersion::V2;
  for (const auto& dir : {web, web.substr(0, web.rfind('/'))})
    files_.setCgroupText(CgroupFile::CpuCfsQuota, dir, v2 ? "400000 100000" : "400000");
  options_.gates = *FeatureGates::parse("CPUNormalization=true");
  const auto putNode = [&](std::string_view ratio) {
    cluster_.put("nodes", fmt::format(R"({{"metadata":{{"name":"n1","uid":"node","annotations":{{
        "node.koordinator.sh/cpu-normalization-ratio":"{}"}}}},
      "status":{{"capacity":{{"cpu":"16"}},"allocatable":{{"cpu":"16"}}}}}})",
                                      ratio));
  };
  const auto expectQuota = [&](const std::string& quota) {
    for (int i = 0; i < 5; ++i) {
      second(1, 0);
      EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsQuota, web), v2 ? quota + " 100000" : quota);
    }
  };
  putNode("1.20");
  startAgent();
  seconds(12, 1, 0);
  expectQuota("333334");
  cluster_.put("nodeslos",
               R"({"metadata":{"name":"n1"},"spec":{"cpuBurstStrategy":{"policy":"auto"}}})");
  seconds(12, 1, 0);
  expectQuota("333334");
  cluster_.put("nodeslos",
               R"({"metadata":{"name":"n1"},"spec":{"cpuBurstStrategy":{"policy":"none"}}})");
  putNode("1.00");
  seconds(12, 1, 0);
  expectQuota("400000");
}

TEST_P(AgentTest, ThePodsOfBestEffortLoseTheirQuotaBeforeAllOfItGetsOne) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true,"cpuSuppressPolicy":"cpuset"})");
  startAgent();
  seconds(15, 8, 2);
  const std::uint64_t before = agent_->audit().added();
  cluster_.putSlo(R"({"enable":true,"cpuSuppressPolicy":"cfsQuota"})");
  seconds(2, 8, 2);
  const auto quotas = quotaWritesSince(before);
  ASSERT_GE(quotas.size(), 3U);
  EXPECT_EQ(std::ranges::find(quotas, beDir()) - quotas.begin(), 2)
      << "after the pod and its container";
}

TEST_P(AgentTest, APodIsFoundByItsCgroupBeforeTheNextList) {
  startAgent();
  seconds(4, 1, 0);
  const int lists = pods_.lists;
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  seconds(2, 1, 0);
  EXPECT_EQ(pods_.lists, lists + 1);
  EXPECT_EQ(files_.cgroupText(CgroupFile::MemoryLimit, be_), "4294967296");
}

TEST_P(AgentTest, MemoryPressureEvictsTheOrderedPrefixAndThenWaits) {
  for (const auto& [name, priority, gib] :
       {std::tuple("a", 5000, 3), std::tuple("b", 5000, 8), std::tuple("c", 5500, 20)}) {
    addPod(name, KubeQos::BestEffort, "BE", priority, kBatch);
    files_.setMemory(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, name), gib * kGiB);
  }
  cluster_.putSlo(
      R"({"enable":true,"memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":60})");
  files_.setMemoryUsed(44 * kGiB);  // 68%
  startAgent();
  seconds(5, 1, 0);
  EXPECT_THAT(cluster_.evictions, IsEmpty());
  files_.setMemoryUsed(48 * kGiB);  // 75%: 15% of 64 GiB must be freed, 9.6 GiB
  seconds(3, 1, 0);
  EXPECT_THAT(cluster_.evictions, ElementsAre("b", "a"));
  EXPECT_THAT(textAt(qos(), "memoryEvict", "lastEviction"), HasSubstr("d/b, d/a"));
  EXPECT_THAT(cluster_.events,
              Contains("evictPodSuccess: evict Pod:d/b, reason: evicted, message: trigger by "
                       "koordlet feature BEMemoryEvict, kill pod: b"));
  seconds(6, 1, 0);  // still full, but the two evicted pods are terminating
  EXPECT_THAT(cluster_.evictions, ElementsAre("b", "a"));
}

TEST_P(AgentTest, APodThatABudgetProtectsIsPassedOver) {
  for (const auto* name : {"a", "b"}) {
    addPod(name, KubeQos::BestEffort, "BE", 5000, kBatch);
    files_.setMemory(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, name), 10 * kGiB);
  }
  cluster_.refusedPods = {"a"};
  cluster_.putSlo(R"({"enable":true})");
  files_.setMemoryUsed(46 * kGiB);
  startAgent();
  seconds(4, 1, 0);
  EXPECT_THAT(cluster_.evictions, ElementsAre("b"));
  EXPECT_THAT(cluster_.events,
              Contains("evictPodFail: evict Pod:d/a, reason: evicted, message: trigger by koordlet "
                       "feature BEMemoryEvict, kill pod: a, error Cannot evict pod as it would "
                       "violate its budget"));
  EXPECT_THAT(metrics_.internalText(),
              HasSubstr("koordlet_pod_eviction_failed{node=\"n1\",reason=\"TooManyRequests\"} 1"));
}

TEST_P(AgentTest, StarvingBestEffortPodsAreEvictedUntilTheOthersAreSatisfied) {
  options_.gates = *FeatureGates::parse("BECPUEvict=true");
  be_ = addPod("a", KubeQos::BestEffort, "BE", 5000,
               R"("requests":{"kubernetes.io/batch-cpu":"6000"})");
  addPod("b", KubeQos::BestEffort, "BE", 5500, R"("requests":{"kubernetes.io/batch-cpu":"6000"})");
  cluster_.putSlo(R"({"enable":true,"cpuEvictBESatisfactionLowerPercent":40,
                      "cpuEvictBESatisfactionUpperPercent":60,"cpuEvictTimeWindowSeconds":30})");
  startAgent();
  seconds(60, 2, 5);
  EXPECT_THAT(cluster_.evictions, IsEmpty());  // 8 of 12 cores
  seconds(18, 8, 2);
  EXPECT_THAT(cluster_.evictions, IsEmpty());  // not for long enough
  // Two CPUs of 12 requested and both used: less than 40%.
  seconds(20, 8, 2);
  EXPECT_THAT(cluster_.evictions, ElementsAre("a"));
  EXPECT_THAT(textAt(qos(), "cpuEvict", "lastEviction"), HasSubstr("d/a"));
}

// Kills the requested containers, except those with "stuck" in their ids.
struct FakeRuntime final : ContainerRuntime {
  FakeRuntime(Executor& executor, std::vector<std::string>& killed)
      : executor(executor), killed(killed) {}
  Executor& executor;
  std::vector<std::string>& killed;
  std::vector<RuntimeContainer> running;
  Future<Result<>> stop(const std::string& id, Duration grace) override {
    EXPECT_EQ(grace, Duration::zero());
    auto [future, completer] = Future<Result<>>::make(executor);
    if (id.find("stuck") == std::string::npos) {
      killed.push_back(id);
      completer.complete({});
    } else {
      completer.complete(fail(ErrorCode::Unavailable, "the runtime does not answer"));
    }
    return std::move(future);
  }
  Future<Result<std::vector<RuntimeContainer>>> list() override {
    auto [future, completer] = Future<Result<std::vector<RuntimeContainer>>>::make(executor);
    completer.complete(running);
    return std::move(future);
  }
};

TEST_P(AgentTest, AContainerThatKubeletDoesNotTellOfYetIsKilledAsWell) {
  be_ = addPod("new", KubeQos::BestEffort, "BE", 5500, kBatch);
  files_.setMemory(be_.substr(0, be_.rfind('/')), 10 * kGiB);
  api::Pod starting = *pods_.pods.back();
  starting.status.containerStatuses.front().state = {};
  pods_.pods.back() = std::make_shared<const api::Pod>(std::move(starting));
  std::vector<std::string> killed;
  auto runtime = std::make_unique<FakeRuntime>(loop_, killed);
  runtime->running = {{"new-c", "c", "new", true, "containerd"},
                      {"next", "d", "new", false, "containerd"},
                      {"other", "c", "ls", true, "containerd"}};
  runtime_ = std::move(runtime);
  cluster_.refusedPods = {"new"};
  cluster_.putSlo(R"({"enable":true,"memoryEvictThresholdPercent":70})");
  files_.setMemoryUsed(60 * kGiB);
  startAgent();
  seconds(4, 1, 1);
  EXPECT_THAT(killed, ElementsAre("containerd://new-c"));
}

TEST_P(AgentTest, ContainersAreKilledWhateverABudgetSaysAndEvictedWhereTheyCannotBe) {
  for (const auto* name : {"a", "stuck"}) {
    be_ = addPod(name, KubeQos::BestEffort, "BE", 5500, kBatch);
    files_.setMemory(be_, 10 * kGiB);
    files_.setMemory(be_.substr(0, be_.rfind('/')), 10 * kGiB);
  }
  cluster_.refusedPods = {"a"};
  std::vector<std::string> killed;
  runtime_ = std::make_unique<FakeRuntime>(loop_, killed);
  cluster_.putSlo(R"({"enable":true,"memoryEvictThresholdPercent":70})");
  startAgent();
  seconds(5, 1, 1);
  files_.setMemoryUsed(60 * kGiB);
  seconds(3, 1, 1);
  EXPECT_THAT(killed, ElementsAre("containerd://a-c"));
  EXPECT_THAT(cluster_.evictions, ElementsAre("stuck"));
  EXPECT_TRUE(std::ranges::any_of(agent_->audit().entries(), [](const AuditEntry& entry) {
    return entry.cgroup == "d/a" && entry.after == "killed";
  }));
}

TEST_P(AgentTest, WithOnlyEvictByApiNothingIsKilled) {
  be_ = addPod("a", KubeQos::BestEffort, "BE", 5500, kBatch);
  std::vector<std::string> killed;
  runtime_ = std::make_unique<FakeRuntime>(loop_, killed);
  options_.onlyEvictByApi = true;
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(5, 1, 1);
  files_.setMemoryUsed(60 * kGiB);
  seconds(3, 1, 1);
  EXPECT_THAT(killed, IsEmpty());
  EXPECT_THAT(cluster_.evictions, ElementsAre("a"));
}

TEST_P(AgentTest, PodsGoWhenTheNodesCpuIsAtItsThresholdAndTheyAllowIt) {
  options_.gates = *FeatureGates::parse("CPUEvict=true");
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  api::Pod willing = *pods_.pods.back();
  willing.metadata.labels["koordinator.sh/eviction-enabled"] = "true";
  pods_.pods.back() = std::make_shared<const api::Pod>(std::move(willing));
  cluster_.putSlo(R"({"enable":true,"cpuEvictThresholdPercent":80,"cpuEvictLowerPercent":70,
                      "evictEnabledPriorityThreshold":5999,"cpuEvictTimeWindowSeconds":10})");
  startAgent();
  seconds(30, 8, 2);  // 10.5 of 16
  EXPECT_THAT(cluster_.evictions, IsEmpty());
  EXPECT_THAT(textAt(qos(), "cpuEvict", "reason"), HasSubstr("node CPU at 65.6%, threshold 80%"));
  seconds(15, 12, 2);
  EXPECT_THAT(cluster_.evictions, ElementsAre("be"));
}

TEST_P(AgentTest, PinnedPodsHaveTheirCpusAndOthersShareTheRest) {
  const auto pinned = addPod("lsr", KubeQos::Guaranteed, "LSR", 9500, "");
  api::Pod pod = *pods_.pods.back();
  pod.metadata.annotations["scheduling.koordinator.sh/resource-status"] = R"({"cpuset":"0-3"})";
  pods_.pods.back() = std::make_shared<const api::Pod>(std::move(pod));
  startAgent();
  seconds(3, 1, 1);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, pinned), "0-3");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, ls_), "4-15");
  EXPECT_THAT(metrics_.internalText(),
              HasSubstr("koordlet_cpuset_share_pool_cpu_cores{node=\"n1\"} 12"));
}

TEST_P(AgentTest, NodeMetricIsReportedAtOnceAndThenEveryInterval) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  files_.setMemoryUsed(10 * kGiB);
  startAgent();
  seconds(5, 3, 1);
  ASSERT_THAT(cluster_.reports, SizeIs(1));
  seconds(65, 3, 1);
  ASSERT_THAT(cluster_.reports, SizeIs(2));
  const auto status = *api::decode<api::NodeMetric>(cluster_.reports.back());
  ASSERT_TRUE(status.status.nodeMetric);
  EXPECT_NEAR(status.status.nodeMetric->nodeUsage.resources.at("cpu").toDouble(), 4.5, 0.1);
  EXPECT_EQ(status.status.nodeMetric->nodeUsage.resources.at("memory").toString(), "10Gi");
  EXPECT_NEAR(status.status.nodeMetric->systemUsage.resources.at("cpu").toDouble(), 0.5, 0.1);
  // One minute of samples is not enough for an aggregate of five minutes.
  ASSERT_THAT(status.status.nodeMetric->aggregatedNodeUsages, SizeIs(3));
  EXPECT_TRUE(status.status.nodeMetric->aggregatedNodeUsages[0].usage.at("p95").resources.empty());
  ASSERT_THAT(status.status.podsMetric, SizeIs(2));
  EXPECT_EQ(status.status.podsMetric[0].name, "be");
  EXPECT_EQ(status.status.podsMetric[0].priority, "koord-batch");
  EXPECT_EQ(status.status.podsMetric[0].qos, "BE");
  EXPECT_NEAR(status.status.podsMetric[0].podUsage.resources.at("cpu").toDouble(), 1, 0.01);
  seconds(130, 3, 1);
  const auto later = *api::decode<api::NodeMetric>(cluster_.reports.back());
  EXPECT_FALSE(later.status.nodeMetric->aggregatedNodeUsages[0].usage.at("p95").resources.empty());
  EXPECT_TRUE(later.status.nodeMetric->aggregatedNodeUsages[2].usage.at("p95").resources.empty());
}

TEST_P(AgentTest, WhatServicesRequestedTooMuchIsReportedAsReclaimable) {
  pods_.pods.clear();
  ls_ = addPod("web", KubeQos::Burstable, "LS", 9500, R"("requests":{"cpu":"8","memory":"16Gi"})");
  options_.prediction.reclaim.coldStart = 0s;
  startAgent();
  seconds(240, 2, 0);
  const auto report = *api::decode<api::NodeMetric>(cluster_.reports.back());
  ASSERT_TRUE(report.status.prodReclaimableMetric);
  const auto& reclaimable = report.status.prodReclaimableMetric->resource.resources;
  EXPECT_GT(reclaimable.at("cpu").toDouble(), 4);
  EXPECT_LT(reclaimable.at("cpu").toDouble(), 6);
  EXPECT_GT(reclaimable.at("memory").toDouble(), 8.0 * kGiB);
}

TEST_P(AgentTest, PageCacheCountsForPodsAndHostApplicationsWhereThatIsThePolicy) {
  const std::string nginx = "host-latency-sensitive/nginx";
  files_.setMemory(nginx, kGiB);
  files_.setMemory(ls_, kGiB);
  files_.setMemory(ls_.substr(0, ls_.rfind('/')), kGiB);
  files_.setCgroupText(CgroupFile::CpuacctUsage, nginx, "0\n");
  if (GetParam() == CgroupVersion::V2)
    files_.setCgroupText(CgroupFile::CpuStat, nginx, "usage_usec 0\n");
  cluster_.put("nodemetrics", R"({"metadata":{"name":"n1","generation":2},"spec":{
      "metricCollectPolicy":{"reportIntervalSeconds":60,
                             "nodeMemoryCollectPolicy":"usageWithPageCache"}}})");
  cluster_.put("nodeslos", R"({"metadata":{"name":"n1"},"spec":{"hostApplications":[
      {"name":"nginx","priority":"koord-prod","qos":"LS"}]}})");
  startAgent();
  seconds(130, 2, 0);
  const auto report = *api::decode<api::NodeMetric>(cluster_.reports.back());
  ASSERT_THAT(report.status.podsMetric, SizeIs(1));
  ASSERT_THAT(report.status.hostApplicationMetric, SizeIs(1));
  const double withFiles = static_cast<double>(kGiB) + 4096;
  EXPECT_EQ(report.status.podsMetric[0].podUsage.resources.at("memory").toDouble(), withFiles);
  EXPECT_EQ(report.status.hostApplicationMetric[0].usage.resources.at("memory").toDouble(),
            withFiles);
}

TEST_P(AgentTest, AnUnreachableKubeletLeavesThePodsAsTheyWere) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 2, 4);
  pods_.unreachable = true;
  seconds(30, 6, 4);
  EXPECT_EQ(beCpus().size(), 4);
  EXPECT_THAT(agent_->states().pods(), SizeIs(2));
}

TEST_P(AgentTest, ARestartedAgentGoesOnFromWhatTheKernelHas) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  cluster_.putSlo(R"({"enable":true})");
  startAgent();
  seconds(15, 6, 4);
  ASSERT_EQ(beCpus().size(), 4);
  agent_.reset();  // as after a kill: nothing is reverted
  seconds(5, 6, 4);
  EXPECT_EQ(beCpus().size(), 4);
  startAgent();
  for (int i = 0; i < 10; ++i) {
    second(6, 4);
    EXPECT_EQ(beCpus().size(), 4);
  }
  EXPECT_THAT(textAt(qos(), "cpuSuppress", "reason"), HasSubstr("BE pods may use 3.9"));
}

TEST_P(AgentTest, WithoutNodeSloNothingIsTouchedButMeasuringGoesOn) {
  be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatch);
  startAgent();
  seconds(5, 14, 4);
  EXPECT_EQ(beCpus().size(), 16);
  EXPECT_EQ(textAt(qos(), "cpuSuppress", "reason"), "no NodeSLO for this node yet");
  EXPECT_THAT(cluster_.reports, SizeIs(1));
  EXPECT_THAT(metrics_.internalText(), HasSubstr("koordlet_node_used_cpu_cores{node=\"n1\"} 18.5"));
}

TEST_P(AgentTest, TheReportSaysWhatIsOffAndWhy) {
  startAgent();
  const auto lines = agent_->report();
  EXPECT_THAT(lines, testing::Contains(HasSubstr("cgroup driver cgroupfs")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("resctrl: off")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("RdtResctrl is enabled but has no effect")));
  EXPECT_THAT(lines, testing::Contains(HasSubstr("no socket of containerd")));
}

TEST(FeatureGatesTest, UnknownNamesAndValuesAreErrorsThatNameThem) {
  EXPECT_THAT(FeatureGates::parse("Nope=true").error().message,
              HasSubstr("unrecognized feature gate: Nope"));
  EXPECT_THAT(FeatureGates::parse("BatchResource=maybe").error().message,
              HasSubstr("BatchResource=maybe"));
  const auto gates = FeatureGates::parse("BatchResource=false, BEMemoryEvict=true");
  ASSERT_TRUE(gates);
  EXPECT_FALSE(gates->enabled("BatchResource"));
  EXPECT_TRUE(gates->enabled("BEMemoryEvict"));
  EXPECT_TRUE(gates->enabled("RdtResctrl"));
  EXPECT_FALSE(gates->enabled("BECPUManager"));
}

}  // namespace
}  // namespace koord::koordlet
