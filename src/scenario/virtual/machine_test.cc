#include "scenario/virtual/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(MachineSpecTest, SaysWhatTheAnnotationSays) {
  const auto spec = machineSpecOf({}, R"({"cgroup":"v1","threadsPerCore":2,"numaNodes":4,
      "gates":"SystemConfig=true","files":{"proc/cpuinfo":"x"},"show":["proc/a","proc/b"],
      "metrics":["koordlet_pod_psi"]})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->version, koordlet::CgroupVersion::V1);
  EXPECT_EQ(spec->machine.threadsPerCore, 2);
  EXPECT_EQ(spec->machine.numaNodes, 4);
  EXPECT_EQ(spec->gates, "SystemConfig=true");
  EXPECT_THAT(spec->files, ElementsAre(Pair("proc/cpuinfo", "x")));
  EXPECT_THAT(spec->show, ElementsAre("proc/a", "proc/b"));
  EXPECT_THAT(spec->metrics, ElementsAre("koordlet_pod_psi"));
}

TEST(MachineSpecTest, EveryMemberMayBeMissing) {
  const auto spec = machineSpecOf({}, "{}");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->version, koordlet::CgroupVersion::V2);
  EXPECT_EQ(spec->machine.numaNodes, 1);
}

TEST(MachineSpecTest, ErrorsNameTheMember) {
  for (const auto& [annotation, error] : {
           std::pair(R"([])", "must be a JSON object"),
           std::pair(R"({"cgroup":"v3"})", "cgroup: v1 or v2"),
           std::pair(R"({"cgroup":2})", "cgroup: v1 or v2"),
           std::pair(R"({"threadsPerCore":0})", "threadsPerCore: a number from 1 to 64"),
           std::pair(R"({"numaNodes":"2"})", "numaNodes: a number from 1 to 64"),
           std::pair(R"({"gates":true})", "gates: a text"),
           std::pair(R"({"files":["a"]})", "files: an object with string values by path"),
           std::pair(R"({"files":{"proc/cpuinfo":1}})", "files[proc/cpuinfo]: a text"),
           std::pair(R"({"show":"proc/a"})", "show: a list of paths"),
           std::pair(R"({"show":[1]})", "show: a list of paths"),
           std::pair(R"({"metrics":"x"})", "metrics: a list of names"),
       }) {
    const auto spec = machineSpecOf({}, annotation);
    ASSERT_FALSE(spec) << annotation;
    EXPECT_THAT(spec.error().message, HasSubstr(error)) << annotation;
  }
}

}  // namespace
}  // namespace koord::scenario
