#include "koordlet/qos/interference/relief.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "kube/fake_api.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReliefTest : public testing::Test {
 protected:
  ReliefTest() {
    states_.setNode(std::make_shared<const api::Node>(*api::decodeText<api::Node>(
        R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"16","memory":"64Gi"}}})")));
    states_.setPods({podOf("web", "LS", 9500), podOf("small", "BE", 5500), podOf("big", "BE", 5500),
                     podOf("dear", "BE", 5999)});
    api_.answer = [this](const kube::Request& request) -> Result<std::string> {
      if (request.subresource == "eviction") {
        evictions_.push_back(request.name);
        if (request.name == refused_) return fail(ErrorCode::TooManyRequests, "budget");
      }
      return std::string("{}");
    };
  }
  static PodView podOf(std::string_view name, std::string_view qos, int priority) {
    return viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(fmt::format(
                      R"({{"metadata":{{"name":"{0}","namespace":"d","uid":"{0}",
                          "labels":{{"koordinator.sh/qosClass":"{1}"}}}},
                          "spec":{{"priority":{2}}},"status":{{"phase":"Running"}}}})",
                      name, qos, priority))),
                  CgroupDriver::Cgroupfs);
  }
  InterferenceRelief& relief(bool suppress, bool evict) {
    return relief_.emplace(loop_, states_, cache_, evictor_,
                           InterferenceRelief::Features{suppress, evict});
  }
  Interference verdict(const std::string& cause) {
    return {"web", "web", "d", "c", "d/web", cause, 2, 1, 0.1, since_};
  }
  // A minute in which BE pods use that many milli-cores.
  void minute(double be, const std::vector<Interference>& interferences) {
    loop_.advance(1min);
    cache_.append(Metric::BeCpuUsage, "", loop_.wallNow(), be);
    for (const auto& [pod, share] : {std::pair("small", 0.2), {"big", 0.5}, {"dear", 0.3}}) {
      cache_.append(Metric::PodCpu, pod, loop_.wallNow(), be / 1000 * share);
      cache_.append(Metric::PodMemory, pod, loop_.wallNow(), (1 - share) * 1e9);
    }
    relief_->run(interferences);
    loop_.advance(10ms);
  }
  std::int64_t ceiling() const { return relief_->ceiling() ? relief_->ceiling()->milli : -1; }

  VirtualLoop loop_;
  kube::FakeApi api_{loop_};
  States states_;
  MetricCache cache_{1min, {}};
  Metrics metrics_;
  AuditRing audit_;
  kube::EventRecorder events_{api_, loop_, "test", Random(1)};
  Evictor evictor_{api_, loop_, events_, audit_, metrics_};
  std::optional<InterferenceRelief> relief_;
  WallTime since_ = loop_.wallNow();
  std::vector<std::string> evictions_;
  std::string refused_;
};

TEST_F(ReliefTest, TheCeilingFallsWhileSomebodySuffersAndRisesAfterwards) {
  relief(true, false);
  minute(8000, {});
  EXPECT_EQ(ceiling(), -1);
  minute(8000, {verdict("cpi")});
  EXPECT_EQ(ceiling(), 6000);
  EXPECT_THAT(relief_->ceiling()->why, HasSubstr("d/web 2.00 cycles per instruction"));
  minute(6000, {verdict("cpi")});
  EXPECT_EQ(ceiling(), 4500);
  minute(4500, {});
  EXPECT_EQ(ceiling(), 6000);
  minute(6000, {});
  minute(6000, {});
  minute(6000, {});
  EXPECT_EQ(ceiling(), 14'221);
  minute(6000, {});
  EXPECT_EQ(ceiling(), -1);
}

TEST_F(ReliefTest, BestEffortKeepsTheLeast) {
  relief(true, false);
  for (int i = 0; i < 10; ++i) minute(4000, {verdict("cpu")});
  EXPECT_EQ(ceiling(), 2000);
}

TEST_F(ReliefTest, WaitingForMemoryOrIoIsNoReasonToTakeCpu) {
  relief(true, false);
  minute(8000, {verdict("memory"), verdict("io")});
  EXPECT_EQ(ceiling(), -1);
}

TEST_F(ReliefTest, AnUnmeasuredBestEffortIsNotHeld) {
  relief(true, false);
  relief_->run({verdict("cpi")});
  EXPECT_EQ(ceiling(), -1);
}

TEST_F(ReliefTest, APodGoesWhenTakingCpuDidNotHelp) {
  relief(true, true);
  for (int i = 0; i < 5; ++i) minute(2000, {verdict("cpi")});
  EXPECT_THAT(evictions_, IsEmpty());
  minute(2000, {verdict("cpi")});
  EXPECT_THAT(evictions_, ElementsAre("big"));
  for (int i = 0; i < 9; ++i) minute(2000, {verdict("cpi")});
  EXPECT_THAT(evictions_, ElementsAre("big")) << "ten minutes' peace";
  minute(2000, {verdict("cpi")});
  EXPECT_EQ(evictions_.size(), 2u);
  EXPECT_THAT(toJson(relief_->view()), HasSubstr("d/big"));
}

TEST_F(ReliefTest, WhoWaitsForMemoryIsHelpedByTheGreatestUserOfMemory) {
  relief(false, true);
  for (int i = 0; i < 4; ++i) minute(2000, {verdict("memory")});
  EXPECT_THAT(evictions_, IsEmpty());
  minute(2000, {verdict("memory")});
  EXPECT_THAT(evictions_, ElementsAre("small"));
}

TEST_F(ReliefTest, ARefusedEvictionIsTriedOnTheNextPodAndThenNotForAWhile) {
  refused_ = "big";
  relief(false, true);
  for (int i = 0; i < 12; ++i) minute(2000, {verdict("cpi")});
  EXPECT_THAT(evictions_, ElementsAre("big", "small"));
}

TEST_F(ReliefTest, SwitchedOffNothingIsDone) {
  relief(false, false);
  for (int i = 0; i < 30; ++i) minute(8000, {verdict("cpi"), verdict("memory")});
  EXPECT_EQ(ceiling(), -1);
  EXPECT_THAT(evictions_, IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
