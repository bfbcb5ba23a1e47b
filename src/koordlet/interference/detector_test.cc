#include "koordlet/interference/detector.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PodView podOf(std::string_view uid, std::string_view qos) {
  return viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(
                    fmt::format(R"({{"metadata":{{"name":"web-{0}","namespace":"d","uid":"{0}",
                        "labels":{{"koordinator.sh/qosClass":"{1}"}},
                        "ownerReferences":[{{"kind":"ReplicaSet","name":"web-7f9c","controller":true}}]}},
                        "status":{{"phase":"Running","qosClass":"Burstable","containerStatuses":[
                          {{"name":"c","containerID":"containerd://{0}-c","state":{{"running":{{}}}}}}]}}}})",
                                uid, qos))),
                CgroupDriver::Cgroupfs);
}

class InterferenceTest : public testing::Test {
 protected:
  InterferenceTest() { states_.setPods({podOf("a", "LS"), podOf("b", "BE")}); }
  // One minute with `cpi` cycles per instruction, in which tasks wait for the CPU `wait` percent.
  void minute(double cpi, double wait = 1) {
    loop_.advance(60s);
    for (const auto* id : {"a-c", "b-c"}) {
      cache_.append(Metric::ContainerInstructions, id, loop_.wallNow(), 1e9);
      cache_.append(Metric::ContainerCycles, id, loop_.wallNow(), cpi * 1e9);
      cache_.append(Metric::ContainerCpuSome, id, loop_.wallNow(), wait);
    }
    detector_.run();
  }
  void normal(int minutes) {
    for (int i = 0; i < minutes; ++i) minute(i % 2 ? 0.95 : 1.05, i % 2 ? 0.8 : 1.2);
  }

  VirtualLoop loop_;
  States states_;
  MetricCache cache_{10s, {}};
  Metrics metrics_;
  AuditRing audit_;
  InterferenceDetector detector_{loop_, states_, cache_, metrics_, audit_};
};

TEST_F(InterferenceTest, AVerdictNeedsABaselineAndThreeBadMinutes) {
  normal(10);
  minute(3);
  EXPECT_THAT(detector_.current(), IsEmpty());  // the baseline is not ready yet
  normal(120);
  minute(2);
  minute(2);
  EXPECT_THAT(detector_.current(), IsEmpty());
  minute(2);
  ASSERT_THAT(detector_.current(), SizeIs(1));
  const Interference found = detector_.current().front();
  EXPECT_EQ(found.pod, "web-a");
  EXPECT_EQ(found.application, "d/web");
  EXPECT_EQ(found.cause, "cpi");
  EXPECT_THAT(found.reason(), HasSubstr("2.00 cycles per instruction, mean 1."));
  EXPECT_EQ(audit_.entries().back().after, "cpi");
  EXPECT_THAT(toJson(detector_.extensionOf("a")), HasSubstr("cycles per instruction"));
  EXPECT_TRUE(detector_.extensionOf("b").is_null());
}

TEST_F(InterferenceTest, SingleBadMinutesSayNothing) {
  normal(60);
  for (int i = 0; i < 30; ++i) {
    minute(2);
    normal(4);
    EXPECT_THAT(detector_.current(), IsEmpty());
  }
}

TEST_F(InterferenceTest, ItEndsWhenItIsOverAndDoesNotBecomeNormal) {
  normal(60);
  for (int i = 0; i < 600; ++i) minute(2);
  EXPECT_THAT(detector_.current(), SizeIs(1));
  normal(5);
  EXPECT_THAT(detector_.current(), IsEmpty());
  EXPECT_EQ(audit_.added(), 2U);
  EXPECT_EQ(audit_.entries().back().before, "cpi");
}

TEST_F(InterferenceTest, WaitingTellsOfTheResource) {
  normal(60);
  for (int i = 0; i < 3; ++i) minute(1, 40);
  ASSERT_THAT(detector_.current(), SizeIs(1));
  EXPECT_THAT(detector_.current().front().reason(), HasSubstr("waits for cpu 40.0% of the time"));
}

TEST_F(InterferenceTest, WaitsTooShortToMatterAreNone) {
  normal(60);
  for (int i = 0; i < 5; ++i) minute(1, 4);
  EXPECT_THAT(detector_.current(), IsEmpty());
}

TEST_F(InterferenceTest, APodThatIsGoneIsForgotten) {
  normal(60);
  for (int i = 0; i < 3; ++i) minute(2);
  ASSERT_THAT(detector_.current(), SizeIs(1));
  states_.setPods({});
  loop_.advance(6min);
  detector_.run();
  EXPECT_THAT(detector_.current(), IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
