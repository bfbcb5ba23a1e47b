#include "koordlet/collect/numa_collector.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::DoubleNear;
using testing::Optional;

constexpr std::int64_t kMiB = 1 << 20;

// Eight CPUs on two NUMA nodes, and one pod.
class NumaCollecting : public testing::TestWithParam<CgroupVersion> {
 protected:
  NumaCollecting() {
    pod_ = files_.addPod(KubeQos::Burstable, "web", {});
    for (const int node : {0, 1}) setMemory(node, 1024 * kMiB);
    setPodMemory("N0=0 N1=0");
    host_ = *Host::detect(files_.dirs());
    auto object = std::make_shared<api::Pod>();
    object->metadata.uid = "web";
    object->status.phase = "Running";
    object->status.qosClass = "Burstable";
    states_.setPods({viewOf(object, CgroupDriver::Cgroupfs)});
    collector_.emplace(*host_, loop_, states_, cache_, 1s);
  }
  // As the kernel reports it: half of the unused memory is free, the other half is page cache.
  void setMemory(int node, std::int64_t used) {
    const std::int64_t rest = (4096 * kMiB - used) / 2 / 1024;
    files_.tree().write(fmt::format("sys/devices/system/node/node{}/meminfo", node),
                        fmt::format("Node {0} MemTotal:  4194304 kB\nNode {0} MemFree: {1} kB\n"
                                    "Node {0} Active(file): {1} kB\nNode {0} Inactive(file): 0 kB\n"
                                    "Node {0} SReclaimable: 0 kB\n",
                                    node, rest));
  }
  // In pages on version 1, in bytes on version 2.
  void setPodMemory(const std::string& nodes) {
    files_.setCgroupText(
        CgroupFile::MemoryNumaStat, pod_,
        GetParam() == CgroupVersion::V1
            ? fmt::format("total=9 N0=9 N1=9\nhierarchical_total=9 N0=9\nhierarchical_file=7 N0=7\n"
                          "hierarchical_anon=3 {}\nhierarchical_unevictable=1 N0=0 N1=1\n",
                          nodes)
            : fmt::format("anon {}\nfile N0=70000 N1=1\nunevictable N0=0 N1=4096\n", nodes));
  }
  // Adds `ticks` to each CPU of each NUMA node; a hundred ticks are a second.
  void round(int ticksOfNode0, int ticksOfNode1) {
    std::string text = "cpu 0 0 0 0 0 0 0\n";
    for (int cpu = 0; cpu < 8; ++cpu)
      text += fmt::format("cpu{} {} 0 0 9 9 0 0\n", cpu,
                          ticks_[cpu] += cpu < 4 ? ticksOfNode0 : ticksOfNode1);
    files_.tree().write("proc/stat", text);
    cache_.append(Metric::SystemCpu, "", loop_.wallNow(), 0.8);
    collector_->collect();
  }
  std::optional<double> last(Metric metric, std::string_view node) {
    return cache_.last(metric, node, loop_.wallNow() - 500ms, loop_.wallNow());
  }

  VirtualLoop loop_;
  FakeHost files_{GetParam(), {.cpus = 8, .numaNodes = 2}};
  std::string pod_;
  int ticks_[8] = {};
  std::optional<Host> host_;
  States states_;
  MetricCache cache_{1s, {}};
  std::optional<NumaCollector> collector_;
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, NumaCollecting,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

TEST_P(NumaCollecting, EachNodeHasItsCpusAndMemoryAndItsShareOfTheSystem) {
  round(0, 0);
  EXPECT_EQ(last(Metric::NumaCpu, "0"), std::nullopt);  // the base
  loop_.advance(1s);
  setPodMemory(GetParam() == CgroupVersion::V1 ? "N0=2 N1=1" : "N0=8192 N1=4096");
  round(75, 25);
  EXPECT_THAT(last(Metric::NumaCpu, "0"), Optional(DoubleNear(3, 1e-6)));
  EXPECT_THAT(last(Metric::NumaCpu, "1"), Optional(DoubleNear(1, 1e-6)));
  EXPECT_THAT(last(Metric::NumaSystemCpu, "0"), Optional(DoubleNear(0.6, 1e-6)));
  EXPECT_THAT(last(Metric::NumaSystemCpu, "1"), Optional(DoubleNear(0.2, 1e-6)));
  EXPECT_THAT(last(Metric::NumaMemory, "0"), Optional(1024.0 * kMiB));
  EXPECT_THAT(last(Metric::NumaSystemMemory, "0"), Optional(1024.0 * kMiB - 8192));
  EXPECT_THAT(last(Metric::NumaSystemMemory, "1"), Optional(1024.0 * kMiB - 8192));
}

TEST_P(NumaCollecting, TenSecondsAreBetweenTheNextOnes) {
  round(0, 0);
  for (int second = 0; second < 10; ++second) {
    loop_.advance(1s);
    round(10, 10);
    EXPECT_EQ(last(Metric::NumaCpu, "0").has_value(), second == 0);
  }
  loop_.advance(1s);
  round(10, 10);
  EXPECT_THAT(last(Metric::NumaCpu, "0"), Optional(DoubleNear(0.4, 1e-6)));
}

TEST_P(NumaCollecting, GarbageOfOneNodeLeavesTheOther) {
  round(0, 0);
  files_.tree().write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: x kB\n");
  files_.setCgroupText(CgroupFile::MemoryNumaStat, pod_,
                       "anon N9=5 N1=99999999999999999 Nx=1 N0\n");
  loop_.advance(1s);
  round(10, 10);
  EXPECT_EQ(last(Metric::NumaMemory, "0"), std::nullopt);
  EXPECT_THAT(last(Metric::NumaMemory, "1"), Optional(1024.0 * kMiB));
  EXPECT_THAT(last(Metric::NumaSystemMemory, "1"), Optional(1024.0 * kMiB));
}

TEST_P(NumaCollecting, ACounterThatRunsBackwardsGivesNoSampleAndNoShares) {
  round(50, 50);
  loop_.advance(1s);
  round(-50, 10);
  EXPECT_EQ(last(Metric::NumaCpu, "0"), std::nullopt);
  EXPECT_EQ(last(Metric::NumaSystemCpu, "1"), std::nullopt);
  EXPECT_THAT(last(Metric::NumaCpu, "1"), Optional(DoubleNear(0.4, 1e-6)));
}

}  // namespace
}  // namespace koord::koordlet
