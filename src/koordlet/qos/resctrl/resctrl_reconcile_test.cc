#include "koordlet/qos/resctrl/resctrl_reconcile.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using testing::HasSubstr;

// As read on a Xeon with two sockets, and on an EPYC whose first die's cache has id 0 and its
// second id 4 (single dies are switched off).
struct RecordedMachine {
  const char* flags;
  const char* vendor;
  const char* mask;
  const char* leastWays;
  const char* schemata;
};
constexpr RecordedMachine kIntel{"fpu rdt_a cat_l3 cdp_l3 mba", "GenuineIntel", "7ff\n", "1\n",
                                 "    MB:0=100;1=100\n    L3:0=7ff;1=7ff\n"};
constexpr RecordedMachine kAmd{"fpu rdt_a cat_l3 cdp_l3 mba", "AuthenticAMD", "ffff\n", "1\n",
                               "    MB:0=2048;4=2048\n    L3:0=ffff;4=ffff\n"};

class ResctrlTest : public testing::Test {
 protected:
  void boot(const RecordedMachine& machine) {
    tree().write("proc/cpuinfo", fmt::format("processor\t: 0\nvendor_id\t: {}\nflags\t\t: {}\n",
                                             machine.vendor, machine.flags));
    tree().write("sys/fs/resctrl/info/L3/cbm_mask", machine.mask);
    tree().write("sys/fs/resctrl/info/L3/min_cbm_bits", machine.leastWays);
    tree().write("sys/fs/resctrl/info/MB/bandwidth_gran", "10\n");
    tree().write("sys/fs/resctrl/info/MB/min_bandwidth", "10\n");
    tree().write("sys/fs/resctrl/schemata", machine.schemata);
    // The kernel fills a new group's directory.
    for (const auto* group : {"LSR", "LS", "BE"}) {
      tree().write(fmt::format("sys/fs/resctrl/{}/schemata", group), machine.schemata);
      tree().write(fmt::format("sys/fs/resctrl/{}/tasks", group), "");
    }
    host_.emplace(*Host::detect(files_.dirs()));
    executor_.emplace(*host_, loop_, ResourceExecutor::Options{}, audit_);
    strategy_.emplace(*host_, states_, *executor_);
  }
  TempTree& tree() { return files_.tree(); }
  void setSlo(std::string_view qos) {
    EffectiveSlo slo = defaultSlo();
    slo.qos = *api::decodeText<api::ResourceQOSStrategy>(qos);
    states_.setSlo(slo);
  }
  std::string addPod(std::string_view uid, std::string_view annotations = "{}") {
    const auto dir = files_.addPod(KubeQos::BestEffort, uid, {"containerd://c"});
    auto pod = api::decodeText<api::Pod>(fmt::format(
        R"({{"metadata":{{"uid":"{}","labels":{{"koordinator.sh/qosClass":"BE"}},"annotations":{}}},
            "status":{{"phase":"Running","qosClass":"BestEffort"}}}})",
        uid, annotations));
    pods_.push_back(viewOf(std::make_shared<const api::Pod>(*std::move(pod)), files_.driver()));
    states_.setPods(pods_);
    return joinPath(dir, "c");
  }
  std::string group(std::string_view name, std::string_view file) {
    return tree().read(fmt::format("sys/fs/resctrl/{}/{}", name, file));
  }

  FakeHost files_{CgroupVersion::V1, {}};
  VirtualLoop loop_;
  States states_;
  AuditRing audit_;
  std::vector<PodView> pods_;
  std::optional<Host> host_;
  std::optional<ResourceExecutor> executor_;
  std::optional<ResctrlReconcile> strategy_;
};

constexpr std::string_view kBe30 =
    R"({"beClass":{"resctrlQOS":{"enable":true,"catRangeStartPercent":0,"catRangeEndPercent":30,
                                 "mbaPercent":35}}})";

TEST_F(ResctrlTest, IntelTakesWaysAndPercentsInItsOwnSteps) {
  boot(kIntel);
  setSlo(kBe30);
  strategy_->run();
  // Two writes to one file; the fake keeps the last, the audit has both.
  ASSERT_EQ(audit_.entries().size(), 2U);
  EXPECT_EQ(audit_.entries()[0].after, "L3:0=f;1=f;");
  EXPECT_EQ(audit_.entries()[1].after, "MB:0=40;1=40;");
  strategy_->run();
  EXPECT_EQ(audit_.added(), 2U);
}

TEST_F(ResctrlTest, AmdTakesAbsoluteBandwidthAndCachesWithGapsInTheirIds) {
  boot(kAmd);
  setSlo(kBe30);
  strategy_->run();
  ASSERT_EQ(audit_.entries().size(), 2U);
  EXPECT_EQ(audit_.entries()[0].after, "L3:0=1f;4=1f;");
  EXPECT_EQ(audit_.entries()[1].after, "MB:0=56;4=56;");
}

TEST_F(ResctrlTest, WhatTheFileSaysAlreadyIsNotWritten) {
  boot(kIntel);
  setSlo(R"({"beClass":{"resctrlQOS":{"enable":true,"catRangeStartPercent":0,
             "catRangeEndPercent":100,"mbaPercent":100}}})");
  strategy_->run();
  EXPECT_EQ(audit_.added(), 0U);
}

TEST_F(ResctrlTest, ThreadsOfAllContainersAndTheSandboxMoveOnce) {
  boot(kIntel);
  setSlo(kBe30);
  const auto container = addPod("u1");
  files_.setCgroupText(CgroupFile::Tasks, container, "101\n102\n");
  tree().write("cgroup/cpu/kubepods/besteffort/podu1/sandbox/tasks", "100\n");
  tree().write("sys/fs/resctrl/BE/tasks", "102\n");
  strategy_->run();
  EXPECT_EQ(group("BE", "tasks"), "102\n101\n100");
  strategy_->run();
  EXPECT_EQ(group("BE", "tasks"), "102\n101\n100");
  EXPECT_EQ(group("LS", "tasks"), "");
}

TEST_F(ResctrlTest, PodsWithAnAnnotationOfTheirOwnAndClassesThatAreOffStayWhereTheyAre) {
  boot(kIntel);
  setSlo(kBe30);
  files_.setCgroupText(CgroupFile::Tasks, addPod("u1", R"({"node.koordinator.sh/resctrl":"{}"})"),
                       "101\n");
  strategy_->run();
  EXPECT_EQ(group("BE", "tasks"), "");
}

TEST_F(ResctrlTest, AMachineWhereNobodyWantsItIsLeftAlone) {
  boot(kIntel);
  for (const auto* name : {"LSR", "LS", "BE"})
    tree().remove(fmt::format("sys/fs/resctrl/{}", name));
  setSlo(R"({"beClass":{"resctrlQOS":{"enable":false,"catRangeStartPercent":0,
             "catRangeEndPercent":100,"mbaPercent":100}}})");
  strategy_->run();
  EXPECT_FALSE(tree().read("sys/fs/resctrl/schemata").empty());
  EXPECT_EQ(textAt(strategy_->view(), "reason"), "off: switched off for every class");
}

TEST_F(ResctrlTest, AMissingFlagOrSenselessRangeIsSaidAndTheRestGoesOn) {
  boot({"fpu cat_l3", "GenuineIntel", "7ff\n", "1\n", "L3:0=7ff\n"});
  setSlo(kBe30);
  strategy_->run();
  EXPECT_THAT(textAt(strategy_->view(), "reason"), HasSubstr("the CPU has no mba"));
  boot(kIntel);
  setSlo(R"({"lsClass":{"resctrlQOS":{"enable":true,"catRangeStartPercent":80,
             "catRangeEndPercent":20}},
             "beClass":{"resctrlQOS":{"enable":true,"mbaPercent":50}}})");
  strategy_->run();
  const json::value view = strategy_->view();
  EXPECT_THAT(textAt(*at(view, "groups"), "LS"), HasSubstr("catRangeStartPercent 80"));
  EXPECT_EQ(textAt(*at(view, "groups"), "BE"), "MB:0=50;1=50;");
}

TEST_F(ResctrlTest, HardwareThatTakesNoSingleWayGetsTwo) {
  boot({"cat_l3 mba", "GenuineIntel", "3ff\n", "2\n", "L3:0=3ff\nMB:0=100\n"});
  setSlo(R"({"beClass":{"resctrlQOS":{"enable":true,"catRangeStartPercent":0,
             "catRangeEndPercent":10}}})");
  strategy_->run();
  EXPECT_EQ(group("BE", "schemata"), "L3:0=3;");
  EXPECT_EQ(resctrl::withLeastWays(0x200, 0x3ff, 2), 0x300);
  EXPECT_EQ(resctrl::withLeastWays(0, 0x3ff, 1), 0x200);
}

TEST_F(ResctrlTest, GarbageInTheKernelsFilesCostsTheRound) {
  boot(kIntel);
  setSlo(kBe30);
  tree().write("sys/fs/resctrl/schemata", "L3:0=xyz\n");
  strategy_->run();
  EXPECT_THAT(textAt(strategy_->view(), "reason"), HasSubstr("skipped"));
  tree().write("sys/fs/resctrl/info/L3/cbm_mask", "fffffffffffffffff");
  strategy_->run();
  EXPECT_THAT(textAt(strategy_->view(), "reason"), HasSubstr("cbm_mask"));
  EXPECT_EQ(audit_.added(), 0U);
}

}  // namespace
}  // namespace koord::koordlet
