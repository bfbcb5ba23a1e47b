#include "koordlet/qos/sysreconcile/system_config.h"

#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using testing::HasSubstr;

class SystemConfigTest : public testing::Test {
 protected:
  SystemConfigTest() {
    states_.setNode(std::make_shared<const api::Node>(*api::decodeText<api::Node>(
        R"({"metadata":{"name":"n"},"status":{"capacity":{"memory":"128Gi"}}})")));
    files_.tree().write("proc/sys/vm/min_free_kbytes", "67584\n");
    files_.tree().write("proc/sys/vm/watermark_scale_factor", "10\n");
    files_.tree().write("sys/kernel/debug/sched_features", "GENTLE_FAIR_SLEEPERS NO_WA_IDLE\n");
  }
  void run(std::string_view strategy) {
    EffectiveSlo slo = defaultSlo();
    slo.system = *api::decodeText<api::SystemStrategy>(strategy);
    states_.setSlo(slo);
    strategy_.run();
  }
  std::string read(std::string_view file) { return files_.tree().read(file); }
  std::string reason() { return std::string(textAt(strategy_.view(), "reason")); }

  FakeHost files_{CgroupVersion::V2, {}};
  VirtualLoop loop_;
  States states_;
  AuditRing audit_;
  Host host_ = *Host::detect(files_.dirs());
  ResourceExecutor executor_{host_, loop_, {}, audit_};
  SystemConfig strategy_{host_, states_, executor_};
};

TEST_F(SystemConfigTest, WatermarksFollowTheNodesMemory) {
  run(R"({"minFreeKbytesFactor":100,"watermarkScaleFactor":150})");
  EXPECT_EQ(read("proc/sys/vm/min_free_kbytes"), "1342177");
  EXPECT_EQ(read("proc/sys/vm/watermark_scale_factor"), "150");
  EXPECT_EQ(audit_.entries().front().before, "67584");
  run(R"({"minFreeKbytesFactor":100,"watermarkScaleFactor":150})");
  EXPECT_EQ(audit_.added(), 2U);
}

TEST_F(SystemConfigTest, WhatTheKernelWouldNotBearIsNotWritten) {
  run(R"({"minFreeKbytesFactor":10000,"watermarkScaleFactor":1,"memcgReapBackGround":1})");
  EXPECT_EQ(read("proc/sys/vm/min_free_kbytes"), "67584");
  EXPECT_EQ(read("proc/sys/vm/watermark_scale_factor"), "10");
  EXPECT_THAT(reason(), HasSubstr("watermark_scale_factor: 1 is not within 10..400"));
}

TEST_F(SystemConfigTest, FeaturesOfTheSchedulerAreToggledByName) {
  run(R"({"schedFeatures":{"GENTLE_FAIR_SLEEPERS":true,"WA_IDLE":true,"NOBODY_KNOWS":true}})");
  EXPECT_EQ(read("sys/kernel/debug/sched_features"), "WA_IDLE");  // what was written
  EXPECT_EQ(audit_.added(), 1U);
  EXPECT_THAT(reason(), HasSubstr("no feature NOBODY_KNOWS"));
}

}  // namespace
}  // namespace koord::koordlet
