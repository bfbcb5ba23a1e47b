// Tests the recommender: recommended requests, matching of pods, and the controller on the embedded
// API server with reports, restarts and errors.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "api/codec.h"
#include "apiserver/embedded_cluster.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "manager/recommender/controller.h"
#include "manager/recommender/status.h"
#include "manager/recommender/usage_share.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
constexpr double kMi = 1 << 20;

ContainerModel fed(double cores, double bytes, Duration during) {
  ContainerModel model;
  MemoryWindow window;
  for (Duration t{}; t <= during; t += 1min) model.add(cores, bytes, kStart + t, window);
  return model;
}

TEST(ContainerModel, RecommendsThePercentileWithItsMargin) {
  const auto advice = fed(1.0, 1024 * kMi, 24h).advice();
  // The end of bucket 22 is 1.0357 cores.
  EXPECT_EQ(advice.target.cpu.toString(), "1140m");
  EXPECT_GE(advice.target.memory.toDouble(), 1024 * kMi * 1.1);
  EXPECT_LE(advice.target.memory.toDouble(), 1024 * kMi * 1.1 * 1.06);
  EXPECT_NEAR(advice.confidence, 1, 0.01);
}

TEST(ContainerModel, HalfOfTheTimeBusyIsRecommendedAsBusy) {
  ContainerModel model;
  MemoryWindow window;
  for (int i = 0; i < 200; ++i) model.add(i % 2 ? 1.0 : 0.1, kMi, kStart + i * 1min, window);
  EXPECT_EQ(model.advice().target.cpu.toString(), "1140m");
}

TEST(ContainerModel, NeverLessThanTheLeastAmounts) {
  const auto advice = fed(0.001, kMi, 1h).advice();
  EXPECT_EQ(advice.target.cpu.toString(), "28m") << "the end of the first bucket, and the margin";
  EXPECT_EQ(advice.target.memory.toString(), "250Mi");
  EXPECT_EQ(advice.lower.memory.toString(), "250Mi");
}

TEST(ContainerModel, BoundsCloseInOnTheTargetAsDaysPass) {
  double width = 1e18;
  for (const Duration known : {Duration(1h), Duration(24h), Duration(7 * 24h)}) {
    const auto advice = fed(0.5, 512 * kMi, known).advice();
    EXPECT_LE(advice.lower.cpu, advice.target.cpu);
    EXPECT_LE(advice.target.cpu, advice.upper.cpu);
    EXPECT_LE(advice.target.memory, advice.upper.memory);
    const double now = advice.upper.cpu.toDouble() - advice.lower.cpu.toDouble();
    EXPECT_LT(now, width);
    width = now;
  }
}

TEST(ContainerModel, OfADayOnlyThePeakOfMemoryCounts) {
  ContainerModel model;
  MemoryWindow window;
  for (int i = 0; i < 1000; ++i) model.add(0.1, 300 * kMi, kStart + i * 1min, window);
  model.add(0.1, 900 * kMi, kStart + 1000min, window);
  model.add(0.1, 300 * kMi, kStart + 1001min, window);
  EXPECT_GE(model.memoryPercentile(0.5), 900 * kMi) << "a thousand low samples do not hide it";
  EXPECT_EQ(model.memoryPercentile(0.01), model.memoryPercentile(1)) << "it is the only one";
}

TEST(ContainerModel, AContainerThatWasKilledForMemoryNeedsMoreThanItAskedFor) {
  ContainerModel model;
  MemoryWindow window;
  model.add(0.1, 500 * kMi, kStart, window);
  model.addOutOfMemory(1000 * kMi, kStart + 1min, window);
  EXPECT_GE(model.advice().target.memory.toDouble(), 1000 * kMi * 1.2 * 1.1);
}

TEST(ContainerModel, OldUseIsForgotten) {
  ContainerModel model = fed(4.0, kMi, 24h);
  MemoryWindow window;
  for (int i = 0; i < 5 * 24 * 60; ++i) model.add(0.1, kMi, kStart + 24h + i * 1min, window);
  EXPECT_LT(model.advice().target.cpu.toDouble(), 0.2);
}

TEST(ContainerModel, WhatIsSavedIsReadBack) {
  const ContainerModel model = fed(1.5, 700 * kMi, 30h);
  const auto loaded = ContainerModel::load(model.save());
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->advice().target, model.advice().target);
  EXPECT_EQ(loaded->advice().lower, model.advice().lower);
  EXPECT_EQ(loaded->samples(), model.samples());
  EXPECT_EQ(loaded->firstSample(), model.firstSample());
}

TEST(ContainerModel, BrokenCheckpointsNameTheField) {
  json::value saved = fed(1, kMi, 1h).save();
  const auto broken = [&](const char* name, json::value value) {
    json::value document = saved;
    document.as_object()[name] = std::move(value);
    const auto loaded = ContainerModel::load(document);
    return loaded ? std::string("fine") : loaded.error().message;
  };
  EXPECT_THAT(broken("cpu", nullptr), HasSubstr("cpu"));
  EXPECT_THAT(broken("samples", -1), HasSubstr("samples"));
  EXPECT_THAT(broken("firstSample", "soon"), HasSubstr("firstSample"));
  EXPECT_THAT(broken("memory", parseJson(R"({"referenceTimestamp":"2026-01-01T00:00:00Z",
      "totalWeight":1,"bucketWeights":{"99999":1}})")
                                   .value()),
              HasSubstr("memory"));
  EXPECT_FALSE(ContainerModel::load(json::value()));
}

TEST(UsageShare, FollowsWhatContainersAskFor) {
  const auto pod = api::decodeText<api::Pod>(R"({"spec":{"containers":[
      {"name":"a","resources":{"requests":{"cpu":"3","memory":"1Gi"}}},
      {"name":"b","resources":{"requests":{"cpu":"1"}}}]}})")
                       .value();
  const api::ResourceList usage{{"cpu", Quantity::of(2)}, {"memory", Quantity::of(1000)}};
  const auto shares = shareUsage(pod, usage);
  EXPECT_DOUBLE_EQ(shares[0].cores, 1.5);
  EXPECT_DOUBLE_EQ(shares[1].cores, 0.5);
  EXPECT_DOUBLE_EQ(shares[0].bytes, 1000);
  const auto silent =
      api::decodeText<api::Pod>(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})").value();
  EXPECT_DOUBLE_EQ(shareUsage(silent, usage)[1].cores, 1.0);
}

TEST(RecommendationPods, SaysWhichFieldIsWrong) {
  const auto problem = [](std::string_view spec) {
    const auto pods =
        RecommendationPods::compile(api::decodeText<api::Recommendation>(spec).value().spec);
    return pods ? std::string("fine") : pods.error().message;
  };
  EXPECT_THAT(problem(R"({"spec":{"target":{"type":"podSelector"}}})"),
              HasSubstr("spec.target.podSelector"));
  EXPECT_THAT(problem(R"({"spec":{"target":{"type":"workload"}}})"),
              HasSubstr("spec.target.workload"));
  EXPECT_THAT(problem(R"({"spec":{"target":{"type":"node"}}})"), HasSubstr("spec.target.type"));
  EXPECT_THAT(problem(R"({"spec":{"target":{"type":"podSelector","podSelector":{"matchExpressions":[
      {"key":"a","operator":"Near"}]}}}})"),
              HasSubstr("spec.target.podSelector"));
}

class RecommenderTest : public testing::Test {
 protected:
  RecommenderTest() {
    const std::filesystem::path crds = std::filesystem::path(KOORD_DEPLOY) / "crds";
    cluster_.install(crds / "analysis.koordinator.sh_recommendations.yaml");
    cluster_.install(crds / "slo.koordinator.sh_nodemetrics.yaml");
    cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"shop"}})");
    put(api::ReplicaSet::kType, R"({"metadata":{"name":"web-1","ownerReferences":[
        {"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d","controller":true}]},
        "spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
        "spec":{"containers":[{"name":"main","image":"x"}]}}}})");
    pod("web-1-a", "web-1");
    cluster_.put(api::NodeMetric::kType, R"({"metadata":{"name":"n1"},"spec":{}})");
    start();
  }
  ~RecommenderTest() override { stop(); }

  void start() {
    pods_.emplace(cluster_, loop_, kube::WatchScope{}, Random(1));
    nodeMetrics_.emplace(cluster_, loop_, kube::WatchScope{}, Random(2));
    controller_.emplace(cluster_, loop_, *pods_, *nodeMetrics_, metrics_, Random(3));
    pods_->start();
    nodeMetrics_->start();
    controller_->start();
    loop_.advance(2s);
  }
  void stop() {
    controller_.reset();
    nodeMetrics_.reset();
    pods_.reset();
    loop_.runReady();
  }
  // In the namespace shop.
  void put(const api::ResourceType& type, std::string_view text) {
    json::value object = parseJson(text).value();
    object.as_object()["metadata"].as_object()["namespace"] = "shop";
    cluster_.put(type, toJson(object));
  }
  void pod(const std::string& name, const std::string& replicaSet) {
    put(api::Pod::kType, fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"app":"web"}},
        "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{}","uid":"r","controller":true}}]}},
        "spec":{{"containers":[{{"name":"main","image":"x"}}]}}}})",
                                     name, replicaSet));
  }
  void recommend(std::string_view target) {
    put(api::Recommendation::kType,
        fmt::format(R"({{"metadata":{{"name":"web"}},"spec":{{"target":{}}}}})", target));
    loop_.advance(2s);
  }
  void report(std::string_view cpu, std::string_view memory) {
    cluster_.put(api::NodeMetric::kType,
                 fmt::format(
                     R"({{"metadata":{{"name":"n1"}},"spec":{{}},"status":{{"updateTime":"{}",
            "podsMetric":[{{"namespace":"shop","name":"web-1-a",
            "podUsage":{{"resources":{{"cpu":"{}","memory":"{}"}}}}}}]}}}})",
                     formatTime(loop_.wallNow()), cpu, memory));
  }
  void reports(std::string_view cpu, std::string_view memory, int minutes) {
    for (int i = 0; i < minutes; ++i) {
      report(cpu, memory);
      loop_.advance(1min);
    }
  }
  api::Recommendation now() {
    return api::decode<api::Recommendation>(
               *cluster_.get(api::Recommendation::kType, "web", "shop"))
        .value();
  }
  std::vector<std::string> conditions() {
    std::vector<std::string> shown;
    for (const auto& condition : now().status.conditions)
      shown.push_back(condition.type + "=" + condition.status);
    return shown;
  }
  std::string target(std::string_view resource) {
    const auto status = now().status;
    if (!status.podStatus || status.podStatus->containerStatuses.empty()) return "";
    const auto& list = status.podStatus->containerStatuses[0].resources;
    const auto it = list.find(resource);
    return it == list.end() ? "" : it->second.toString();
  }

  static constexpr const char* kWorkload =
      R"({"type":"workload","workload":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}})";

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  std::optional<kube::Informer<api::Pod>> pods_;
  std::optional<kube::Informer<api::NodeMetric>> nodeMetrics_;
  std::optional<RecommenderController> controller_;
};

TEST_F(RecommenderTest, ADeploymentIsRecommendedWhatItsPodsUse) {
  recommend(kWorkload);
  reports("1", "1Gi", 10);
  EXPECT_EQ(target("cpu"), "1140m");
  EXPECT_THAT(conditions(), ElementsAre("FetchingHistory=True", "LowConfidence=True"));
}

TEST_F(RecommenderTest, PodsAreFoundBySelectorToo) {
  recommend(R"({"type":"podSelector","podSelector":{"matchLabels":{"app":"web"}}})");
  reports("1", "1Gi", 3);
  EXPECT_EQ(target("cpu"), "1140m");
}

TEST_F(RecommenderTest, WithoutPodsNothingIsRecommended) {
  recommend(R"({"type":"workload","workload":{"kind":"Deployment","name":"api"}})");
  reports("1", "1Gi", 3);
  EXPECT_THAT(conditions(), ElementsAre("NoObjectsMatched=True"));
  EXPECT_FALSE(now().status.podStatus);
}

TEST_F(RecommenderTest, WhenThePodsGoTheAdviceGoes) {
  recommend(kWorkload);
  reports("1", "1Gi", 3);
  ASSERT_EQ(target("cpu"), "1140m");
  cluster_.remove(api::Pod::kType, "web-1-a", "shop");
  loop_.advance(3min);
  EXPECT_FALSE(now().status.podStatus);
  pod("web-1-a", "web-1");
  loop_.advance(2min);
  EXPECT_EQ(target("cpu"), "1140m") << "what was learnt is not forgotten";
}

TEST_F(RecommenderTest, ARestartGoesOnFromWhatWasSaved) {
  recommend(kWorkload);
  reports("1", "1Gi", 60);
  const auto before = now();
  ASSERT_FALSE(before.metadata.annotations.empty());
  stop();
  start();
  loop_.advance(2min);
  const auto explained = controller_->explain({"shop", "web"});
  ASSERT_TRUE(explained) << explained.error().message;
  const auto samples =
      find((*find(*explained, "containers")).get_array()[0], "samples")->to_number<int>();
  EXPECT_GE(samples, 49) << "all but those of the last ten minutes";
  EXPECT_LE(samples, 60) << "and none twice";
  EXPECT_EQ(target("cpu"), "1140m");
}

TEST_F(RecommenderTest, WhatCouldNotBeSavedIsSavedOnceTheServerIsBack) {
  recommend(kWorkload);
  bool down = true;
  cluster_.failure = [&](const kube::Request& request) -> std::optional<Error> {
    if (!down || request.resource != "recommendations" || !request.subresource.empty() ||
        request.verb != kube::Verb::Patch)
      return std::nullopt;
    return Error{ErrorCode::Unavailable, "the server is down", {}};
  };
  reports("2", "1Gi", 12);
  down = false;
  loop_.advance(3min);  // no more reports
  stop();
  start();
  loop_.advance(1min);
  const auto explained = controller_->explain({"shop", "web"});
  ASSERT_TRUE(explained);
  const auto* containers = find(*explained, "containers");
  ASSERT_TRUE(containers && containers->is_array() && !containers->get_array().empty());
  EXPECT_GE(find(containers->get_array()[0], "samples")->get_int64(), 11);
}

TEST_F(RecommenderTest, RestartsAddNoPeaksOfMemory) {
  recommend(kWorkload);
  reports("1", "4Gi", 1);
  reports("1", "1Gi", 20);
  const std::string before = target("memory");
  for (int i = 0; i < 12; ++i) {
    stop();
    start();
    reports("1", "1Gi", 12);
  }
  EXPECT_EQ(target("memory"), before)
      << "of a pod's day one peak counts, however often it restarts";
}

TEST_F(RecommenderTest, AnotherTargetLearnsTheDaysPeaksAnew) {
  recommend(kWorkload);
  reports("1", "4Gi", 3);
  recommend(R"({"type":"podSelector","podSelector":{"matchLabels":{"app":"web"}}})");
  reports("1", "3900Mi", 3);
  EXPECT_EQ(target("memory"), "4376Mi") << "not the least that is ever recommended";
}

TEST_F(RecommenderTest, OddWindowsInACheckpointAreLeftOut) {
  recommend(kWorkload);
  reports("1", "1Gi", 15);
  const auto checkpoint =
      parseJson(now().metadata.annotations.at("analysis.koordinator.sh/checkpoint")).value();
  for (const char* windows : {R"(7)", R"({"u":7})", R"({"u":{"main":{"ends":"x","peak":1}}})",
                              R"({"u":{"main":{"ends":"2999-01-01T00:00:00Z","peak":1}}})",
                              R"({"u":{"main":{"ends":"2020-01-01T00:00:00Z","peak":1e300}}})",
                              R"({"u":{"main":{"ends":"2020-01-01T00:00:00Z","peak":-1}}})"}) {
    stop();
    json::value changed = checkpoint;
    changed.as_object()["windows"] = parseJson(windows).value();
    json::value object = *cluster_.get(api::Recommendation::kType, "web", "shop");
    object.as_object()["metadata"]
        .as_object()["annotations"]
        .as_object()["analysis.koordinator.sh/checkpoint"] = toJson(changed);
    cluster_.put(api::Recommendation::kType, toJson(object));
    start();
    reports("1", "1Gi", 2);
    EXPECT_EQ(target("cpu"), "1140m") << windows;
  }
}

TEST_F(RecommenderTest, ACheckpointOfGarbageIsToldAndLearntAnew) {
  stop();
  put(api::Recommendation::kType,
      fmt::format(
          R"({{"metadata":{{"name":"web","annotations":{{"analysis.koordinator.sh/checkpoint":"{{\"until\":7"}}}},
          "spec":{{"target":{}}}}})",
          kWorkload));
  start();
  reports("1", "1Gi", 3);
  EXPECT_EQ(target("cpu"), "1140m");
}

TEST_F(RecommenderTest, TheSameReportCountsOnce) {
  recommend(kWorkload);
  report("1", "1Gi");
  loop_.advance(1s);
  json::value again = *cluster_.get(api::NodeMetric::kType, "n1");
  again.as_object()["metadata"].as_object()["labels"] = {{"seen", "again"}};
  cluster_.put(api::NodeMetric::kType, toJson(again));
  loop_.advance(1min);
  const auto explained = controller_->explain({"shop", "web"}).value();
  EXPECT_EQ(find(find(explained, "containers")->get_array()[0], "samples")->to_number<int>(), 1);
}

TEST_F(RecommenderTest, AtRestNothingIsWritten) {
  recommend(kWorkload);
  reports("1", "1Gi", 30);
  loop_.advance(15min);
  const auto before = now().metadata.resourceVersion;
  loop_.advance(2h);
  EXPECT_EQ(now().metadata.resourceVersion, before);
}

TEST_F(RecommenderTest, ADayOfReportsEndsTheFirstCondition) {
  recommend(kWorkload);
  reports("1", "1Gi", 24 * 60 + 2);
  EXPECT_THAT(conditions(), ElementsAre("FetchingHistory=False", "LowConfidence=True"));
}

TEST(RecommendationStatus, AWeekOfSamplesIsTrusted) {
  const auto statusAfter = [](Duration known, const api::RecommendationStatus& before) {
    const ContainerModel model = fed(0.5, 512 * kMi, known);
    RecommendationFacts facts;
    facts.now = kStart + known;
    facts.pods = 1;
    facts.models["main"] = &model;
    return recommendationStatus(facts, before);
  };
  const auto early = statusAfter(25h, {});
  ASSERT_EQ(early.conditions.size(), 1u);
  EXPECT_EQ(early.conditions[0].type, "LowConfidence");
  EXPECT_EQ(early.conditions[0].status, "True");
  const auto late = statusAfter(7 * 24h, early);
  EXPECT_EQ(late.conditions[0].status, "False");
  EXPECT_FALSE(late.conditions[0].message.empty()) << "the schema wants one";
  EXPECT_TRUE(differsEnough(early, late));
  EXPECT_FALSE(differsEnough(late, statusAfter(7 * 24h + 10min, late))) << "nothing moved";
}

}  // namespace
}  // namespace koord::manager
