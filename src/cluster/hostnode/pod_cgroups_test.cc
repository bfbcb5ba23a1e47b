#include "cluster/hostnode/pod_cgroups.h"

#include <gtest/gtest.h>

#include <limits>

#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

struct PathCase {
  const char* name;
  const char* spec;
  const char* cgroup;
  CgroupValues pod;
  CgroupValues container;  // of the first one
};

class PodCgroupsTest : public testing::TestWithParam<PathCase> {};

TEST_P(PodCgroupsTest, HasThePathAndValuesOfAKubelet) {
  const auto& expected = GetParam();
  const auto pod = podOf("u1", expected.spec);
  EXPECT_EQ(podCgroup(pod), expected.cgroup);
  EXPECT_EQ(podValues(pod.spec), expected.pod);
  EXPECT_EQ(containerValues(pod.spec.containers.at(0)), expected.container);
}

constexpr std::int64_t kMi = 1 << 20;

INSTANTIATE_TEST_SUITE_P(
    Pods, PodCgroupsTest,
    testing::Values(
        PathCase{
            "GuaranteedHasSharesQuotaAndMemory",
            R"({"containers": [{"name": "a", "resources": {"limits": {"cpu": "500m", "memory": "64Mi"},
                                                            "requests": {"cpu": "500m", "memory": "64Mi"}}}]})",
            "kubepods/podu1",
            {.cpuShares = 512, .cpuQuotaUs = 50'000, .memoryLimitBytes = 64 * kMi},
            {.cpuShares = 512, .cpuQuotaUs = 50'000, .memoryLimitBytes = 64 * kMi}},
        PathCase{
            "BurstableWithoutLimitsEverywhereHasSharesOnly",
            R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
                                {"name": "b"}]})",
            "kubepods/burstable/podu1",
            {.cpuShares = 1024},
            {.cpuShares = 1024, .cpuQuotaUs = 200'000}},
        PathCase{
            "BurstableWithAllCpuLimitsHasTheirSum",
            R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
                                {"name": "b", "resources": {"limits": {"cpu": "1"}}}]})",
            "kubepods/burstable/podu1",
            {.cpuShares = 2048, .cpuQuotaUs = 300'000},
            {.cpuShares = 1024, .cpuQuotaUs = 200'000}},
        PathCase{"BatchResourcesAreNothingToAKubelet",
                 R"({"containers": [{"name": "a", "resources": {
                   "requests": {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"},
                   "limits": {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"}}}]})",
                 "kubepods/besteffort/podu1",
                 {.cpuShares = 2},
                 {.cpuShares = 2}},
        PathCase{"AnInitContainerCountsWhenItNeedsMost",
                 R"({"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "3"}}}],
                 "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}]})",
                 "kubepods/burstable/podu1",
                 {.cpuShares = 3072},
                 {.cpuShares = 1024}},
        PathCase{"OverheadComesOnTop",
                 R"({"overhead": {"cpu": "1", "memory": "32Mi"}, "containers": [{"name": "a",
                   "resources": {"requests": {"cpu": "1", "memory": "64Mi"},
                                 "limits": {"cpu": "1", "memory": "64Mi"}}}]})",
                 "kubepods/podu1",
                 {.cpuShares = 2048, .cpuQuotaUs = 200'000, .memoryLimitBytes = 96 * kMi},
                 {.cpuShares = 1024, .cpuQuotaUs = 100'000, .memoryLimitBytes = 64 * kMi}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PodCgroupsTest, SharesAndQuotaStayInTheKernelsRange) {
  EXPECT_EQ(sharesOfMilliCpu(0), 2);
  EXPECT_EQ(sharesOfMilliCpu(1'000'000), 262'144);
  EXPECT_EQ(quotaOfMilliCpu(5), 1'000);
  EXPECT_EQ(quotaOfMilliCpu(0), -1);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sharesOfMilliCpu(kMost), 262'144);
  EXPECT_GT(quotaOfMilliCpu(kMost), 0);
}

TEST(PodCgroupsTest, TheSandboxIdLooksLikeAContainerIdAndIsTheSameEachTime) {
  const auto id = sandboxIdOf("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9");
  EXPECT_EQ(id.size(), 64u);
  EXPECT_EQ(id.find('-'), std::string::npos);
  EXPECT_EQ(id, sandboxIdOf("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"));
  EXPECT_EQ(sandboxIdOf(""), "");
}

}  // namespace
}  // namespace koord::cluster
