#include "koordlet/prediction/prediction.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using prediction::Amount;
using testing::HasSubstr;

class Predicting : public testing::Test {
 protected:
  Predicting() {
    options_.directory = tree_.path("checkpoints");
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n1";
    node->status.allocatable["cpu"] = *Quantity::parse("16");
    node->status.allocatable["memory"] = *Quantity::parse("64Gi");
    states_.setNode(node);
    metrics_.setNode("n1");
    addPod("web", 9500, "4", "8Gi");
  }

  void addPod(const std::string& uid, int priority, const std::string& cpu,
              const std::string& memory) {
    api::Pod pod;
    pod.metadata.uid = uid;
    pod.metadata.name = uid;
    pod.metadata.creationTimestamp = loop_.wallNow() - 48h;
    pod.spec.priority = priority;
    pod.status.phase = "Running";
    pod.status.qosClass = "Burstable";
    auto& container = pod.spec.containers.emplace_back();
    container.resources.requests["cpu"] = *Quantity::parse(cpu);
    container.resources.requests["memory"] = *Quantity::parse(memory);
    views_.push_back(viewOf(std::make_shared<const api::Pod>(pod), CgroupDriver::Systemd));
    states_.setPods(views_);
  }
  // A minute in which the pod uses these amounts, and the node one core more.
  void minute(Prediction& prediction, double cores = 1, std::int64_t bytes = kGiB) {
    loop_.advance(1min);
    const WallTime now = loop_.wallNow();
    cache_.append(Metric::PodCpu, "web", now, cores);
    cache_.append(Metric::PodMemory, "web", now, static_cast<double>(bytes));
    cache_.append(Metric::NodeCpu, "", now, cores + 1);
    cache_.append(Metric::NodeMemory, "", now, static_cast<double>(bytes + kGiB));
    prediction.train();
  }
  Prediction make() { return {loop_, states_, cache_, metrics_, options_}; }

  VirtualLoop loop_;
  TempTree tree_;
  States states_;
  std::vector<PodView> views_;
  MetricCache cache_{1s, {}};
  Metrics metrics_;
  PredictionOptions options_;
};

TEST_F(Predicting, WhatASteadyPodRequestedTooMuchIsReclaimable) {
  auto prediction = make();
  prediction.restore();
  EXPECT_FALSE(prediction.prod());
  for (int i = 0; i < 100; ++i) minute(prediction);
  const auto forecast = prediction.prod();
  ASSERT_TRUE(forecast) << forecast.error().message;
  // By class: 4 cores minus 1.1 times (1.035 of the pods, 1.035 of the system, and 0.025 of an
  // empty model); by pod 2862m. The smaller one counts.
  EXPECT_EQ(forecast->peak.milli, 2304);
  EXPECT_EQ(forecast->reclaimable.milli, 4000 - 2304);
  EXPECT_THAT(metrics_.externalText(),
              HasSubstr("koordlet_node_resource_priority_reclaimable_status{node=\"n1\","
                        "priority=\"koord-prod\"} 0"));
}

TEST_F(Predicting, AYoungPodCountsWithAllItRequested) {
  auto prediction = make();
  for (int i = 0; i < 10; ++i) minute(prediction);
  views_.clear();
  addPod("web", 9500, "4", "8Gi");
  options_.reclaim.coldStart = 72h;
  auto cautious = make();
  for (int i = 0; i < 10; ++i) minute(cautious);
  EXPECT_EQ(cautious.prod()->reclaimable, Amount{});
  EXPECT_EQ(cautious.prod()->peak.milli, 4000);
}

TEST_F(Predicting, ARestartGoesOnWithWhatWasLearnt) {
  auto first = make();
  first.restore();
  for (int i = 0; i < 30; ++i) minute(first);
  const auto before = first.prod();
  first.save();
  auto second = make();
  second.restore();
  EXPECT_EQ(second.modelCount(), first.modelCount());
  ASSERT_TRUE(second.prod());
  EXPECT_EQ(second.prod()->reclaimable, before->reclaimable);
}

TEST_F(Predicting, FilesThatAreTornForeignHalfWrittenOrOldAreDropped) {
  auto first = make();
  first.restore();
  for (int i = 0; i < 3; ++i) minute(first);
  first.save();
  tree_.write("checkpoints/web", tree_.read("checkpoints/web").substr(0, 40));
  tree_.write("checkpoints/gone-pod", tree_.read("checkpoints/__node__"));
  tree_.write("checkpoints/__node__.tmp", "{");
  tree_.write("checkpoints/__node-sys__",
              R"({"LastUpdated":"2020-01-01T00:00:00Z","CPU":{},"Memory":{}})");
  auto second = make();
  second.restore();
  for (const auto* name : {"web", "gone-pod", "__node__.tmp", "__node-sys__"})
    EXPECT_EQ(tree_.read(fmt::format("checkpoints/{}", name)), "") << name;
  EXPECT_EQ(second.modelCount(), first.modelCount() - 2);
}

TEST_F(Predicting, ADirectoryThatCannotBeWrittenCostsOnlyTheFiles) {
  tree_.write("checkpoints", "a file");
  auto prediction = make();
  prediction.restore();
  for (int i = 0; i < 5; ++i) minute(prediction);
  prediction.save();
  EXPECT_TRUE(prediction.prod());
}

TEST_F(Predicting, ModelsOfPodsThatAreGoneGoWithTheirFiles) {
  auto prediction = make();
  prediction.restore();
  minute(prediction);
  prediction.save();
  EXPECT_NE(tree_.read("checkpoints/web"), "");
  states_.setPods({});
  loop_.advance(31min);
  cache_.append(Metric::NodeCpu, "", loop_.wallNow(), 1);
  cache_.append(Metric::NodeMemory, "", loop_.wallNow(), 1);
  prediction.train();
  prediction.collectGarbage();
  EXPECT_EQ(tree_.read("checkpoints/web"), "");
  EXPECT_NE(tree_.read("checkpoints/__node__"), "");
}

TEST_F(Predicting, AClockThatIsSetCostsNothingThatWasLearnt) {
  auto prediction = make();
  prediction.restore();
  minute(prediction);
  prediction.save();
  const std::size_t models = prediction.modelCount();
  // After the clock was set forward, no sample is within its last minute.
  loop_.jumpWallClock(48h);
  loop_.advance(1min);
  prediction.train();
  prediction.collectGarbage();
  EXPECT_EQ(prediction.modelCount(), models);
  EXPECT_NE(tree_.read("checkpoints/web"), "");
  // A clock that was set back does not prevent saving either.
  loop_.jumpWallClock(-96h);
  loop_.advance(11min);
  minute(prediction);
  tree_.remove("checkpoints/web");
  prediction.save();
  EXPECT_NE(tree_.read("checkpoints/web"), "");
}

TEST_F(Predicting, NothingIsLearntOfASystemThatWasNotMeasured) {
  auto prediction = make();
  loop_.advance(1min);
  cache_.append(Metric::PodCpu, "web", loop_.wallNow(), 1);
  cache_.append(Metric::PodMemory, "web", loop_.wallNow(), 1);
  prediction.train();
  EXPECT_THAT(prediction.prod().error().message, HasSubstr("__node-sys__"));
}

TEST_F(Predicting, AtMostTwelveFilesAreWrittenAMinute) {
  for (int i = 0; i < 40; ++i) {
    addPod(fmt::format("p{}", i), 9500, "1", "1Gi");
    cache_.append(Metric::PodCpu, fmt::format("p{}", i), loop_.wallNow() + 1min, 1);
    cache_.append(Metric::PodMemory, fmt::format("p{}", i), loop_.wallNow() + 1min, 1);
  }
  auto prediction = make();
  prediction.restore();
  minute(prediction);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(options_.directory),
                         std::filesystem::directory_iterator());
  };
  prediction.save();
  EXPECT_EQ(files(), 12);
  prediction.save();
  EXPECT_EQ(files(), 24);
}

}  // namespace
}  // namespace koord::koordlet
