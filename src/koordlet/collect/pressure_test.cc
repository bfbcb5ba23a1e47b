#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/collect/cpi_collector.h"
#include "koordlet/collect/psi_collector.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kWaits =
    "some avg10=12.50 avg60=3.00 avg300=1.00 total=123\nfull avg10=2.25 avg60=0.00 avg300=0.00 "
    "total=4\n";

TEST(Pressure, BothDegreesAreReadAndOldKernelsHaveOne) {
  const auto both = parsePressure(kWaits);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->some.avg10, 12.5);
  EXPECT_EQ(both->full->avg10, 2.25);
  EXPECT_FALSE(parsePressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0")->full);
  for (const auto* text :
       {"", "some", "some avg10=x avg60=0 avg300=0", "full avg10=0 avg60=0 avg300=0",
        "some avg10=101 avg60=0 avg300=0", "some avg10=nan avg60=0 avg300=0"})
    EXPECT_FALSE(parsePressure(text)) << text;
}

class PressureTest : public testing::Test {
 protected:
  PressureTest() {
    const auto dir = files_.addPod(KubeQos::Burstable, "u", {"containerd://c1", "containerd://c2"});
    for (const auto& where : {dir, dir + "/c1"})
      for (const auto file :
           {CgroupFile::CpuPressure, CgroupFile::MemoryPressure, CgroupFile::IoPressure})
        files_.setCgroupText(file, where, kWaits);
    states_.setPods({viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
                                R"({"metadata":{"name":"p","namespace":"d","uid":"u"},
                "status":{"phase":"Running","qosClass":"Burstable","containerStatuses":[
                  {"name":"a","containerID":"containerd://c1","state":{"running":{}}},
                  {"name":"b","containerID":"containerd://c2","state":{"running":{}}}]}})")),
                            files_.driver())});
    metrics_.setNode("n1");
  }
  std::optional<double> last(Metric metric, std::string_view subject) {
    return cache_.last(metric, subject, loop_.wallNow() - 1h, loop_.wallNow());
  }

  FakeHost files_{CgroupVersion::V2, {.cpus = 4}};
  VirtualLoop loop_;
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  MetricCache cache_{10s, {}};
  Metrics metrics_;
};

TEST_F(PressureTest, PodsAndContainersAreMeasuredAndOneThatIsGoneIsLeftOut) {
  PsiCollector collector(host_, loop_, states_, cache_, metrics_);
  collector.collect();
  EXPECT_EQ(last(Metric::PodCpuSome, "u"), 12.5);
  EXPECT_EQ(last(Metric::ContainerIoFull, "c1"), 2.25);
  EXPECT_FALSE(last(Metric::ContainerCpuSome, "c2"));
  EXPECT_EQ(collector.problem(), "");
  const std::string text = metrics_.externalText();
  EXPECT_THAT(text, HasSubstr("koordlet_pod_psi{cpu_full_supported=\"true\",node=\"n1\""));
  EXPECT_THAT(text, HasSubstr("container_name=\"a\""));
  states_.setPods({});
  collector.collect();
  EXPECT_THAT(metrics_.externalText(), testing::Not(HasSubstr("koordlet_container_psi{")));
}

struct ThreeToOne final : PerfCounters {
  Result<CpuWork> read() override { return CpuWork{3e9, 1e9}; }
};

TEST_F(PressureTest, ContainersTakeTurnsWhereNotAllCanBeCountedAtOnce) {
  std::vector<std::string> opened;
  CpiCollector collector(
      host_, loop_, states_, cache_, metrics_, 1,
      [&](const std::string& dir, const CpuSet& cpus) -> Result<std::unique_ptr<PerfCounters>> {
        EXPECT_EQ(cpus.size(), 4);
        opened.push_back(dir.substr(dir.size() - 3, 2));  // ends in a slash
        return std::make_unique<ThreeToOne>();
      });
  for (int i = 0; i < 3; ++i) {
    collector.begin();
    collector.end();
  }
  EXPECT_THAT(opened, ElementsAre("c1", "c2", "c1"));
  EXPECT_EQ(last(Metric::ContainerCycles, "c2"), 3e9);
  EXPECT_THAT(metrics_.externalText(), HasSubstr("koordlet_container_cpi{"));
}

TEST_F(PressureTest, AMachineWithoutCountersSaysSo) {
  CpiCollector collector(
      host_, loop_, states_, cache_, metrics_, 10,
      [](const std::string&, const CpuSet&) -> Result<std::unique_ptr<PerfCounters>> {
        return fail(ErrorCode::NotFound, "count cycles: no such device");
      });
  collector.begin();
  collector.end();
  EXPECT_THAT(collector.problem(), HasSubstr("no such device"));
}

// This host may have no performance counters; then the error must name the directory.
TEST(PerfCountersTest, TheKernelCountsOrSaysWhyNot) {
  const auto counters = openPerfCounters("/sys/fs/cgroup", {0});
  if (counters) {
    EXPECT_TRUE((*counters)->read());
  } else {
    EXPECT_THAT(counters.error().message, HasSubstr("/sys/fs/cgroup"));
  }
  EXPECT_FALSE(openPerfCounters("/nowhere", {0}));
}

}  // namespace
}  // namespace koord::koordlet
