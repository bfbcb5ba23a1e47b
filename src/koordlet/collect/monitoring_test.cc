#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/collect/cold_page_collector.h"
#include "koordlet/collect/resctrl_collector.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class ResctrlMonitoring : public testing::Test {
 protected:
  ResctrlMonitoring() { metrics_.setNode("n1"); }
  void cache(const std::string& group, const std::string& id, const std::string& occupancy,
             const std::string& total) {
    const std::string dir = fmt::format("sys/fs/resctrl/{}/mon_data/mon_L3_{}/", group, id);
    files_.tree().write(dir + "llc_occupancy", occupancy);
    files_.tree().write(dir + "mbm_local_bytes", "Unavailable\n");
    files_.tree().write(dir + "mbm_total_bytes", total);
  }
  FakeHost files_{CgroupVersion::V2, {.cpus = 4}};
  VirtualLoop loop_;
  Host host_ = *Host::detect(files_.dirs());
  Metrics metrics_;
  ResctrlCollector collector_{host_, loop_, metrics_, 10s};
};

TEST_F(ResctrlMonitoring, OccupancyIsBytesAndBandwidthBytesPerSecond) {
  cache("BE", "00", "8192\n", "1000\n");
  cache("BE", "02", "4096\n", "5000\n");  // ids have gaps
  collector_.collect();
  EXPECT_THAT(
      metrics_.externalText(),
      HasSubstr("koordlet_resctrl_llc_occupancy{cache_id=\"0\",node=\"n1\",qos=\"BE\"} 8192"));
  EXPECT_THAT(metrics_.externalText(), Not(HasSubstr("koordlet_resctrl_memory_bandwidth{")));
  loop_.advance(10s);
  cache("BE", "00", "8192\n", "21000\n");
  cache("BE", "02", "4096\n", "4000\n");  // runs backwards
  collector_.collect();
  const std::string text = metrics_.externalText();
  EXPECT_THAT(
      text,
      HasSubstr("koordlet_resctrl_memory_bandwidth{cache_id=\"0\",mb_type=\"mbm_total_bytes\","
                "node=\"n1\",qos=\"BE\"} 2000"));
  EXPECT_THAT(text, Not(HasSubstr("mbm_local_bytes")));
  EXPECT_THAT(text, Not(HasSubstr("bandwidth{cache_id=\"2\"")));
}

TEST_F(ResctrlMonitoring, GroupsThatAreGoneHaveNoSeries) {
  cache("LS", "00", "4096\n", "1\n");
  collector_.collect();
  files_.tree().remove("sys/fs/resctrl/LS/mon_data/mon_L3_00/llc_occupancy");
  collector_.collect();
  EXPECT_THAT(metrics_.externalText(), Not(HasSubstr("llc_occupancy{")));
}

constexpr std::string_view kIdle =
    "# version: 1.0\n# buckets: 1,2,5,15,30,60,120,240\n#  [1,2) [2,5)\n"
    "  csei  9 9 9 9 9 9 9 9\n  cfei  1 1 1 1 1 100 20 3\n  dfei  0 0 0 0 0 1000 0 0\n"
    "  cfui  0 0 0 0 0 0 0 0\n  dfui  5 5 5 5 5 0 0 10000\n  slab  0 0 0 0 0 7 7 7\n";

TEST(ColdPages, FilePagesThatWereIdleForAMinuteAreCold) {
  EXPECT_EQ(coldBytesIn(kIdle), 123 + 1000 + 10'000);
  EXPECT_FALSE(coldBytesIn("csei 1 2 3\n"));
  EXPECT_FALSE(coldBytesIn(""));
}

TEST(ColdPages, WhatIsUsedWithoutThemIsKept) {
  FakeHost files(CgroupVersion::V1, {.cpus = 4, .memoryBytes = 1 << 30});
  const auto dir = files.addPod(KubeQos::Burstable, "u", {});
  for (const auto& where : {std::string(), "/" + dir})
    files.tree().write(fmt::format("cgroup/memory{}/memory.idle_page_stats", where), kIdle);
  files.tree().write("sys/kernel/mm/kidled/scan_period_in_seconds", "0\n");
  files.tree().write("sys/kernel/mm/kidled/use_hierarchy", "0\n");
  files.setMemory(dir, 1'000'000);
  VirtualLoop loop;
  const Host host = *Host::detect(files.dirs());
  States states;
  states.setPods({viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
                             R"({"metadata":{"name":"p","uid":"u"},
                                 "status":{"phase":"Running","qosClass":"Burstable"}})")),
                         files.driver())});
  MetricCache cache(5s, {});
  ColdPageCollector collector(host, loop, states, cache);
  ASSERT_TRUE(collector.start());
  EXPECT_EQ(files.tree().read("sys/kernel/mm/kidled/scan_period_in_seconds"), "5");
  collector.collect();
  const auto last = [&](Metric metric, std::string_view subject) {
    return cache.last(metric, subject, loop.wallNow() - 1s, loop.wallNow());
  };
  const auto pod = last(Metric::PodMemoryWithHotPages, "u");
  ASSERT_TRUE(pod);
  EXPECT_GE(*pod, 1'000'000 - 11'123);
  EXPECT_TRUE(last(Metric::NodeMemoryWithHotPages, ""));
  // Files of pods that are gone are closed.
  EXPECT_GT(files.tree().openFiles(), 0);
  states.setPods({});
  for (int round = 0; round < 2; ++round) collector.collect();
  EXPECT_EQ(files.tree().openFiles(), 0);
}

TEST(ColdPages, OtherKernelsDoNotCountThem) {
  FakeHost files(CgroupVersion::V2, {.cpus = 4});
  VirtualLoop loop;
  const Host host = *Host::detect(files.dirs());
  States states;
  MetricCache cache(5s, {});
  ColdPageCollector collector(host, loop, states, cache);
  EXPECT_FALSE(collector.start());
  collector.collect();
  EXPECT_EQ(cache.seriesCount(), 0u);
}

}  // namespace
}  // namespace koord::koordlet
