// Which pods are evicted for CPU, seen at the API server.

#include "koordlet/agent/agent_testing.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class EvictedForCpu : public AgentFixture {
 protected:
  void start(const char* gate, std::string_view threshold, std::string_view allocatable) {
    options_.gates = *FeatureGates::parse(gate);
    cluster_.put("nodes", fmt::format(R"({{"metadata":{{"name":"n1","uid":"node"}},
      "status":{{"capacity":{{"cpu":"16","memory":"64Gi"}},"allocatable":{}}}}})",
                                      allocatable));
    cluster_.putSlo(threshold);
    startAgent();
  }
  // The last pod in the list, changed.
  void change(const std::function<void(api::Pod&)>& fn) {
    api::Pod pod = *pods_.pods.back();
    fn(pod);
    pods_.pods.back() = std::make_shared<const api::Pod>(std::move(pod));
  }
  void addBatch(const std::string& name, int milli) {
    be_ = addPod(name, KubeQos::BestEffort, "BE", 5500,
                 fmt::format(R"("requests":{{"kubernetes.io/batch-cpu":"{}"}})", milli));
    change([](api::Pod& pod) { pod.metadata.labels["koordinator.sh/eviction-enabled"] = "true"; });
  }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, EvictedForCpu,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

constexpr const char* kRequestThresholds =
    R"({"enable":true,"cpuAllocatableEvictThresholdPercent":100,"cpuAllocatableEvictLowerPercent":90,
        "allocatableEvictPriorityThreshold":6000})";

TEST_P(EvictedForCpu, WhatProtectedPodsWerePromisedCounts) {
  addBatch("protected", 8000);
  change([](api::Pod& pod) {
    pod.metadata.annotations["koordinator.sh/eviction-policy"] = R"(["BECPUEvict"])";
  });
  addBatch("other", 8000);
  start("CPUAllocatableEvict=true", kRequestThresholds, R"({"kubernetes.io/batch-cpu":"10000"})");
  seconds(40, 1, 1);
  EXPECT_THAT(cluster_.evictions, testing::Each("other"));
  EXPECT_FALSE(cluster_.evictions.empty());
}

TEST_P(EvictedForCpu, WhatPodsThatEndedWerePromisedDoesNot) {
  addBatch("ended", 8000);
  change([](api::Pod& pod) { pod.status.phase = "Succeeded"; });
  addBatch("other", 8000);
  start("CPUAllocatableEvict=true", kRequestThresholds, R"({"kubernetes.io/batch-cpu":"10000"})");
  seconds(40, 1, 1);
  EXPECT_TRUE(cluster_.evictions.empty());
}

TEST_P(EvictedForCpu, SidecarsCountAsReleased) {
  for (int i = 0; i < 10; ++i) {
    addBatch(fmt::format("batch-{}", i), 1000);
    change([](api::Pod& pod) {
      api::Container sidecar = pod.spec.containers.front();
      sidecar.name = "sidecar";
      sidecar.restartPolicy = "Always";
      pod.spec.initContainers.push_back(sidecar);
    });
  }
  // BE pods request 20 cores of 16; the lower bound requires 5.6 of them back: three pods.
  start("CPUAllocatableEvict=true", kRequestThresholds, R"({"kubernetes.io/batch-cpu":"16000"})");
  seconds(30, 1, 1);
  std::ranges::sort(cluster_.evictions);
  const auto again = std::ranges::unique(cluster_.evictions);
  cluster_.evictions.erase(again.begin(), again.end());
  EXPECT_EQ(cluster_.evictions.size(), 3U);
}

}  // namespace
}  // namespace koord::koordlet
