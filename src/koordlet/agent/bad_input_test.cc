#include "koordlet/agent/agent_testing.h"

// Invalid input: the last valid values stay in force, koordlet names what is invalid, and
// everything else continues.

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kBatchPod =
    R"("requests":{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"},
       "limits":{"kubernetes.io/batch-cpu":"2000","kubernetes.io/batch-memory":"4Gi"})";

class BadInput : public AgentFixture {
 protected:
  BadInput() {
    options_.gates = *FeatureGates::parse(
        "BEMemoryEvict=true,MemoryEvict=true,MemoryAllocatableEvict=true,BECPUEvict=true,"
        "CPUEvict=true,CPUAllocatableEvict=true,CgroupReconcile=true,BlkIOReconcile=true,"
        "SystemConfig=true,PSICollector=true,HugePageReport=true");
    be_ = addPod("be", KubeQos::BestEffort, "BE", 5500, kBatchPod);
    files_.setMemoryUsed(20 * kGiB);
  }
  void putSpec(std::string_view spec) {
    cluster_.put("nodeslos", fmt::format(R"({{"metadata":{{"name":"n1"}},"spec":{}}})", spec));
  }
  std::uint64_t writes() const { return agent_->audit().added(); }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, BadInput, testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

constexpr std::string_view kGood =
    R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":65}})";

TEST_P(BadInput, ANodeSloThatMakesNoSenseLeavesTheLastGoodOneInForce) {
  putSpec(kGood);
  startAgent();
  seconds(15, 2, 4);
  ASSERT_EQ(beCpus().size(), 8);
  const CpuSet cpus = beCpus();
  const auto before = writes();
  constexpr std::string_view kNonsense[] = {
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":9223372036854775807}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":-9223372036854775808}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":"65"}})",
      R"({"resourceUsedThresholdWithBE":{"enable":"yes"}})",
      R"({"resourceUsedThresholdWithBE":[1,2]})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":-5}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":101}})",
  };
  for (const auto spec : kNonsense) {
    SCOPED_TRACE(spec);
    putSpec(spec);
    seconds(3, 2, 4);
    EXPECT_EQ(beCpus(), cpus);
  }
  EXPECT_EQ(writes(), before);
  EXPECT_THAT(cluster_.evictions, IsEmpty());
  putSpec(R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":40}})");
  seconds(3, 2, 4);  // 6.4 less 2.5
  EXPECT_EQ(beCpus().size(), 4);
}

TEST_P(BadInput, ThresholdsThatContradictEachOtherEvictNobody) {
  startAgent();
  files_.setMemoryUsed(60 * kGiB);
  files_.setMemory(podDir(CgroupDriver::Cgroupfs, KubeQos::BestEffort, "be"), 20 * kGiB);
  constexpr std::string_view kContradictory[] = {
      // Thresholds at or below the lower bounds, and so on.
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":70,
          "memoryEvictLowerPercent":70}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":50,
          "memoryEvictLowerPercent":90}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":99,
          "cpuEvictBESatisfactionLowerPercent":60,"cpuEvictBESatisfactionUpperPercent":20}})",
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":99,
          "memoryAllocatableEvictThresholdPercent":10,"allocatableEvictPriorityThreshold":9999}})",
  };
  for (const auto spec : kContradictory) {
    SCOPED_TRACE(spec);
    putSpec(spec);
    seconds(5, 2, 4);
    EXPECT_THAT(cluster_.evictions, IsEmpty());
  }
}

TEST_P(BadInput, HugeValuesOfQosClassesReachNoFile) {
  putSpec(kGood);
  for (const KubeQos qos : kKubeQosClasses)
    for (const auto file : {CgroupFile::MemoryMin, CgroupFile::MemoryLow, CgroupFile::MemoryHigh})
      files_.setCgroupText(file, qosDir(CgroupDriver::Cgroupfs, qos), "0");
  startAgent();
  seconds(15, 2, 4);
  const auto before = writes();
  constexpr std::string_view kHuge[] = {
      R"({"lsClass":{"memoryQOS":{"enable":true,"minLimitPercent":9223372036854775807}}})",
      R"({"lsClass":{"memoryQOS":{"enable":true,"throttlingPercent":-1}}})",
      R"({"beClass":{"memoryQOS":{"enable":true,"wmarkRatio":1000000,"wmarkScalePermill":0}}})",
      R"({"beClass":{"resctrlQOS":{"enable":true,"catRangeStartPercent":90,"catRangeEndPercent":10}}})",
      R"({"beClass":{"blkioQOS":{"enable":true,"blocks":[{"name":"/dev/nothing","type":"device",
          "ioCfg":{"readIOPS":9223372036854775807}}]}}})",
      R"({"beClass":{"networkQOS":{"enable":true,"egressLimit":"a lot"}}})",
  };
  for (const auto qos : kHuge) {
    SCOPED_TRACE(qos);
    putSpec(fmt::format(R"({{"resourceUsedThresholdWithBE":{{"enable":true}},
                            "resourceQOSStrategy":{},
                            "systemStrategy":{{"minFreeKbytesFactor":9223372036854775807,
                              "watermarkScaleFactor":-7}},
                            "cpuBurstStrategy":{{"policy":"auto","cpuBurstPercent":9223372036854775807,
                              "cfsQuotaBurstPercent":-1,"cfsQuotaBurstPeriodSeconds":9223372036854775807}}}})",
                        qos));
    seconds(3, 2, 4);
    EXPECT_EQ(beCpus().size(), 8);
  }
  for (const auto& entry : agent_->audit().entries())
    EXPECT_EQ(entry.after.find("92233720368547758"), std::string::npos)
        << entry.cgroup << '/' << entry.file << ": " << entry.after;
  EXPECT_LE(writes() - before, 20U);
}

// Everything that koordlet reads of the host and of its pods, torn at once.
TEST_P(BadInput, TornFilesOfTheMachineChangeNothingAndAreReadAgainWhenTheyAreWhole) {
  putSpec(kGood);
  startAgent();
  seconds(15, 2, 4);
  const CpuSet cpus = beCpus();
  const std::string besteffort = beDir();
  const bool v2 = GetParam() == CgroupVersion::V2;
  const std::string memory = v2 ? "cgroup/" : "cgroup/memory/",
                    cpu = v2 ? "cgroup/" : "cgroup/cpu/";
  const std::string usage =
      v2 ? "cgroup/" + ls_ + "/cpu.stat" : "cgroup/cpuacct/" + ls_ + "/cpuacct.usage";
  const std::vector<std::string> torn{"proc/stat",
                                      "proc/meminfo",
                                      "sys/devices/system/node/node0/meminfo",
                                      "sys/devices/system/cpu/online",
                                      usage,
                                      memory + ls_ + "/memory.stat",
                                      cpu + besteffort + (v2 ? "/cpu.max" : "/cpu.cfs_quota_us"),
                                      "var/lib/kubelet/cpu_manager_state"};
  for (const std::string& garbage :
       {std::string(), std::string("\xff\xfe\0\x01", 4), std::string("-1"),
        std::string("99999999999999999999999"), std::string(4000, '9'),
        std::string("cpu -5 x\nMemTotal: -1 kB\nMemFree: 1 kB\nMemAvailable: 99 kB\n")}) {
    std::map<std::string, std::string> whole;
    for (const auto& file : torn) whole[file] = files_.tree().read(file);
    for (int i = 0; i < 4; ++i) {
      files_.consumeCpu(ls_, 2, 1s);
      files_.consumeCpu(be_, 4, 1s);
      files_.consumeSystemCpu(0.5, 1s);
      for (const auto& file : torn) files_.tree().write(file, garbage);
      loop_.advance(1s);
      EXPECT_EQ(beCpus(), cpus) << "no data is no reason to change anything";
    }
    EXPECT_THAT(cluster_.evictions, IsEmpty());
    for (const auto& [file, text] : whole) files_.tree().write(file, text + "\n");
    files_.settle();
    seconds(3, 2, 4);
    EXPECT_EQ(beCpus(), cpus);
  }
  seconds(2, 6, 4);
  EXPECT_EQ(beCpus().size(), 4) << "and then it works as before";
}

TEST_P(BadInput, CgroupsThatVanishInTheMiddleLeaveTheOthersMeasuredAndHeld) {
  putSpec(kGood);
  for (int i = 0; i < 20; ++i)
    addPod(fmt::format("short-{}", i), KubeQos::BestEffort, "BE", 5500, kBatchPod);
  startAgent();
  seconds(15, 2, 4);
  for (int i = 0; i < 20; ++i) {  // kubelet continues to list them
    files_.removePod(KubeQos::BestEffort, fmt::format("short-{}", i));
    seconds(1, i % 2 ? 2 : 6, 3);
    EXPECT_EQ(files_.cgroupText(CgroupFile::CpusetCpus, be_), beCpus().toString());
  }
  EXPECT_THAT(cluster_.evictions, IsEmpty());
  EXPECT_TRUE(agent_->cache().last(Metric::PodCpu, "be", loop_.wallNow() - 2s, loop_.wallNow()));
}

// A kubelet that accepts requests and never answers.
struct SilentPods final : PodSource {
  explicit SilentPods(FakePods& pods, Executor& executor) : source(pods), executor(executor) {}
  FakePods& source;
  Executor& executor;
  std::vector<Completer<Result<>>> waiting;
  bool silent = false;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    if (silent) {
      auto [future, completer] = Future<Result<>>::make(executor);
      waiting.push_back(std::move(completer));
      auto never = std::move(future);
      (void)co_await never;
    }
    co_return source.pods;
  }
};

TEST_P(BadInput, AKubeletThatHangsDoesNotStopMeasuringAndSuppressing) {
  putSpec(kGood);
  auto source = std::make_unique<SilentPods>(pods_, loop_);
  SilentPods& pods = *source;
  agent_ = std::make_unique<Agent>(loop_, cluster_.api, options_, *Host::detect(files_.dirs()),
                                   metrics_, AgentSources{std::move(source)}, Random(7));
  agent_->start();
  seconds(15, 2, 4);
  ASSERT_EQ(beCpus().size(), 8);
  pods.silent = true;
  seconds(30, 2, 4);
  ASSERT_FALSE(pods.waiting.empty());
  seconds(3, 6, 4);
  EXPECT_EQ(beCpus().size(), 4);
  EXPECT_EQ(agent_->states().pods().size(), 2U);
  pods.silent = false;
  addPod("later", KubeQos::BestEffort, "BE", 5500, kBatchPod);
  for (auto& completer : pods.waiting) completer.complete(fail(ErrorCode::Unavailable, "timeout"));
  seconds(15, 2, 4);
  EXPECT_EQ(agent_->states().pods().size(), 3U);
}

TEST_P(BadInput, WithoutADiskForItsFilesKoordletGoesOn) {
  files_.tree().write("full", "");
  options_.historyDir = files_.tree().path("full/history");
  options_.prediction.directory = files_.tree().path("full/predictions");
  putSpec(kGood);
  startAgent();
  seconds(130, 2, 4);  // files are written each minute
  EXPECT_EQ(beCpus().size(), 8);
  EXPECT_EQ(cluster_.reports.empty(), false);
}

}  // namespace
}  // namespace koord::koordlet
