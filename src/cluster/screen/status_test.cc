#include "cluster/screen/status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/time.h"
#include "cluster/screen/columns.h"
#include "cluster/screen/overview.h"
#include "cluster/screen/text_table.h"

namespace koord::cluster {
namespace {

using testing::Contains;
using testing::HasSubstr;

template <class T>
std::shared_ptr<const T> object(std::string_view text) {
  auto decoded = api::decodeText<T>(text);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
  return std::make_shared<const T>(decoded ? *std::move(decoded) : T{});
}

std::vector<std::string> overviewLines(const ClusterStatus& status, int width, int height) {
  std::vector<std::string> lines;
  for (const auto& line : overviewOf(status, width, height)) lines.push_back(line.text);
  return lines;
}

Objects oneNode() {
  Objects input;
  input.nodes = {object<api::Node>(
      R"({"metadata": {"name": "box", "labels": {"koordctl.koordinator.sh/node": "host"}},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "kubernetes.io/batch-cpu": "2500",
               "kubernetes.io/batch-memory": "4Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}})")};
  input.pods = {
      object<api::Pod>(
          R"({"metadata": {"name": "web", "namespace": "d", "labels": {"koordinator.sh/qosClass": "LS"}},
        "spec": {"nodeName": "box", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})"),
      object<api::Pod>(
          R"({"metadata": {"name": "job", "namespace": "d", "labels": {"koordinator.sh/qosClass": "BE"}},
        "spec": {"nodeName": "box", "containers": [{"name": "c", "resources": {"requests":
          {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "1Gi"}}}]}, "status": {"phase": "Running"}})"),
      object<api::Pod>(
          R"({"metadata": {"name": "late", "namespace": "d"}, "spec": {"containers": []},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
          "message": "0/1 nodes are available"}]}})")};
  input.metrics = {object<api::NodeMetric>(R"({"metadata": {"name": "box"}, "status": {
    "nodeMetric": {"nodeUsage": {"resources": {"cpu": "1500m", "memory": "2Gi"}}},
    "podsMetric": [{"name": "job", "namespace": "d", "qos": "BE", "podUsage": {"resources": {"cpu": "400m"}}}]}})")};
  return input;
}

TEST(StatusTest, SumsUpANode) {
  ClusterStatus status;
  summarize(oneNode(), status);
  ASSERT_EQ(status.nodes.size(), 1u);
  const auto& node = status.nodes[0];
  EXPECT_TRUE(node.ready);
  EXPECT_TRUE(node.host);
  EXPECT_EQ(node.batch.cpuMilli, 2500);
  EXPECT_EQ(node.batchRequested.cpuMilli, 500);
  EXPECT_EQ(node.used->cpuMilli, 1500);
  EXPECT_EQ(node.beUsed.cpuMilli, 400);
  EXPECT_EQ(node.lsPods, 1);
  EXPECT_EQ(node.bePods, 1);
  EXPECT_EQ(status.pending, std::vector<std::string>{"d/late: 0/1 nodes are available"});
}

TEST(StatusTest, PodsThatHaveEndedUseNothing) {
  Objects input = oneNode();
  input.pods[1] = object<api::Pod>(
      R"({"metadata": {"name": "job", "namespace": "d", "labels": {"koordinator.sh/qosClass": "BE"}},
        "spec": {"nodeName": "box", "containers": [{"name": "c"}]}, "status": {"phase": "Succeeded"}})");
  ClusterStatus status;
  summarize(input, status);
  EXPECT_EQ(status.nodes[0].beUsed.cpuMilli, 0);
  EXPECT_EQ(status.nodes[0].bePods, 0);
}

TEST(StatusTest, SaysHowOldTheUsageIs) {
  Objects input = oneNode();
  auto metric = *input.metrics[0];
  metric.status.updateTime = WallTime{} + std::chrono::hours(10);
  input.metrics[0] = std::make_shared<const api::NodeMetric>(metric);
  input.now = *metric.status.updateTime + std::chrono::seconds(42);
  ClusterStatus status;
  summarize(input, status);
  EXPECT_EQ(status.nodes[0].age, Duration(std::chrono::seconds(42)));
  EXPECT_THAT(overviewLines(status, 0, 0), Contains(testing::EndsWith("  42s")));
  EXPECT_EQ(ageText(std::chrono::seconds(119)), "119s");
  EXPECT_EQ(ageText(std::chrono::minutes(119)), "119m");
  EXPECT_EQ(ageText(std::chrono::hours(47)), "47h");
  EXPECT_EQ(ageText(std::chrono::hours(72)), "3d");
  EXPECT_EQ(ageText(-std::chrono::seconds(1)), "0s");  // clocks of two hosts
}

TEST(StatusTest, ANodeWithLittleBatchCpuSaysWhatIsInTheWay) {
  Objects input = oneNode();
  ClusterStatus without;
  summarize(input, without);
  EXPECT_TRUE(without.littleBatch.empty());  // 2.5 cores
  input.nodes = {object<api::Node>(
      R"({"metadata": {"name": "box"}, "status": {"capacity": {"cpu": "4"},
          "allocatable": {"cpu": "4", "kubernetes.io/batch-cpu": "0"}}})")};
  input.sloConfig = object<api::ConfigMap>(
      R"({"metadata": {"name": "slo-controller-config"}, "data": {"colocation-config":
          "{\"enable\": true, \"cpuReclaimThresholdPercent\": 65}"}})");
  const auto sentence = [&] {
    ClusterStatus status;
    summarize(input, status);
    return status.littleBatch.size() == 1 ? status.littleBatch[0].why : std::string("none");
  };
  EXPECT_EQ(sentence(), "batch-cpu 0 on box: unknown usage: koordlet has not reported yet");
  auto metric = *object<api::NodeMetric>(R"({"metadata": {"name": "box"}, "status": {
    "nodeMetric": {"nodeUsage": {"resources": {"cpu": "3"}}, "systemUsage": {"resources": {"cpu": "1900m"}}},
    "podsMetric": [{"name": "web", "namespace": "d", "qos": "LS", "priority": "koord-prod",
                    "podUsage": {"resources": {"cpu": "800m"}}}]}})");
  metric.status.updateTime = WallTime{} + std::chrono::hours(10);
  input.now = *metric.status.updateTime;
  input.metrics = {std::make_shared<const api::NodeMetric>(metric)};
  EXPECT_EQ(sentence(),
            "batch-cpu 0 on box: 4.00 cores x 65% = 2.60, less system 1.90, less LS pods 0.80: "
            "0.00 left");
  input.now += std::chrono::minutes(20);
  EXPECT_EQ(sentence(),
            "batch-cpu 0 on box: the last report of koordlet is 20m0s old, more than "
            "degradeTimeMinutes 15");
  input.sloConfig =
      object<api::ConfigMap>(R"({"data": {"colocation-config": "{\"enable\": false}"}})");
  EXPECT_THAT(sentence(), HasSubstr("co-location is switched off"));
}

std::shared_ptr<const api::PodMigrationJob> jobOf(const std::string& name,
                                                  const std::string& status) {
  return object<api::PodMigrationJob>(fmt::format(
      R"({{"metadata": {{"name": "{0}", "creationTimestamp": "2026-01-01T10:00:00Z", "annotations": {{
          "descheduler.koordinator.sh/from-node": "n1", "descheduler.koordinator.sh/planned-node": "n2",
          "koordinator.sh/evict-trigger": "LowNodeLoad", "koordinator.sh/evict-reason": "it is hot"}}}},
          "spec": {{"podRef": {{"namespace": "shop", "name": "{0}"}}}}, "status": {1}}})",
      name, status));
}

TEST(StatusTest, ShowsWhatIsMovedWhereAndWhy) {
  Objects input = oneNode();
  input.now = *parseTime("2026-01-01T10:01:00Z");
  input.migrations = {
      jobOf("done",
            R"({"phase": "Succeeded", "nodeName": "n3", "message": "Bind Pod", "conditions": [
          {"type": "Eviction", "status": "True", "lastTransitionTime": "2026-01-01T10:00:48Z"}]})"),
      jobOf("given-up", R"({"phase": "Failed", "reason": "Timeout", "message": "no room"})"),
      jobOf("new", "{}"),
      jobOf("moving", R"({"phase": "Running", "message": "Reservation waits for a pod"})")};
  ClusterStatus status;
  summarize(input, status);
  EXPECT_EQ(
      status.moves.lines,
      (std::vector<std::string>{
          "shop/new: n1 to n2, waits for 60s (LowNodeLoad: it is hot)",
          "shop/moving: n1 to n2, in progress for 60s: Reservation waits for a pod (LowNodeLoad: "
          "it is hot)",
          "shop/done: n1 to n3, moved 12s ago (LowNodeLoad: it is hot)",
          "shop/given-up: n1 to n2, failed 60s ago: no room (LowNodeLoad: it is hot)"}));
  EXPECT_THAT(overviewLines(status, 0, 0), Contains("MOVES  2 in progress  1 done  1 failed"));
  EXPECT_THAT(overviewLines(status, 0, 0), Contains(HasSubstr("shop/done: n1 to n3")));
  EXPECT_THAT(statusLine(status), HasSubstr(", moves 2 in progress 1 done 1 failed"));
  input.migrations.clear();
  ClusterStatus still;
  summarize(input, still);
  EXPECT_THAT(overviewLines(still, 0, 0), testing::Not(Contains(HasSubstr("MOVES"))));
}

ClusterStatus busyCluster() {
  ClusterStatus status;
  summarize(oneNode(), status);
  status.server = "https://127.0.0.1:6443";
  status.kubeconfig = "/var/lib/koordctl/kubeconfig";
  status.components = {{"koord-manager", "leading", 0, {}, "http://127.0.0.1:40001/metrics"},
                       {"koord-scheduler", "leading", 0, {}, "http://127.0.0.1:40002/metrics"},
                       {"koordlet", "running", 2, {}, "http://127.0.0.1:40003/metrics"}};
  for (int i = 0; i < 50; ++i)
    status.nodes.push_back({.name = "a-node-with-a-rather-long-name-" + std::to_string(i)});
  for (int i = 0; i < 20; ++i)
    status.pending.push_back("shop/web-" + std::to_string(i) +
                             " (3m): 0/51 nodes are available: 51 Insufficient cpu, 51 node(s) had "
                             "untolerated taints. preemption: 0/51 nodes are available: 51 "
                             "Preemption is not helpful for scheduling.");
  status.qos = {
      {"box",
       {"CPU suppress (cfsQuota): BE limited to quota 0.02 cores; budget 0 of 4 cores, 0.70 "
        "are used beyond 65%, LS uses 0.10, system 1.90",
        "  why: 65% of 4.00 cores is 2.60; latency-sensitive use 0.10, system 3.20: 0.70 "
        "too much, THE-REASON"},
       {}}};
  return status;
}

TEST(StatusTest, TheOverviewFitsTheWidthAndKeepsWhatMatters) {
  for (const auto& [width, height] : {std::pair{80, 22}, {120, 38}, {200, 60}, {60, 10}}) {
    const auto lines = overviewLines(busyCluster(), width, height);
    for (const auto& line : lines) EXPECT_LE(columnsIn(line), width) << line;
    EXPECT_THAT(lines, Contains(HasSubstr("BATCH-CPU"))) << width;
    EXPECT_THAT(lines, Contains(HasSubstr("THE-REASON"))) << width;
    EXPECT_THAT(lines, Contains(HasSubstr("more nodes (key 2)"))) << width;
    EXPECT_THAT(lines, Contains(HasSubstr("waiting: d/late"))) << width;
    EXPECT_THAT(lines, Contains(HasSubstr("more waiting (key 3)"))) << width;
    EXPECT_THAT(lines, Contains(HasSubstr("koordlet"))) << width;
  }
  // Lists leave room for each other.
  EXPECT_LE(overviewLines(busyCluster(), 200, 60).size(), 60u);
}

TEST(StatusTest, WhatPodsSayOfThemselvesDoesNotReachTheTerminal) {
  ClusterStatus status = busyCluster();
  status.qos.front().lines.front() += "\x1b[2J\ntwo";
  for (const auto& line : overviewLines(status, 0, 0)) {
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_THAT(statusLine(status), HasSubstr("?[2J two"));
}

TEST(StatusTest, NothingIsLeftOutWithoutALimit) {
  const auto lines = overviewLines(busyCluster(), 0, 0);
  EXPECT_THAT(lines, testing::Not(Contains(HasSubstr("more"))));
  EXPECT_THAT(lines, Contains(HasSubstr("shop/web-19")));
  EXPECT_THAT(lines, Contains(HasSubstr("a-node-with-a-rather-long-name-49")));
  EXPECT_THAT(lines, Contains(HasSubstr("LOAD")));
}

TEST(StatusTest, AScreenOfAnySizeIsNoCrash) {
  for (int width = 1; width < 40; ++width)
    for (int height = 1; height < 12; ++height) {
      for (const auto& line : overviewLines(busyCluster(), width, height))
        EXPECT_LE(columnsIn(line), width) << line;
    }
}

TEST(StatusTest, WordsAreCutByCharactersNotBytes) {
  EXPECT_EQ(ellipsized("größer", 6), "größer");
  EXPECT_EQ(ellipsized("größer", 4), "grö…");
  EXPECT_EQ(ellipsized("größer", 1), "…");
  EXPECT_THAT(wrapped("one two three", 7, 2), testing::ElementsAre("one two", "  three"));
  EXPECT_THAT(wrapped("  a longwordthatdoesnotfit", 8, 2),
              testing::ElementsAre("  a", "  longwo", "  rdthat", "  doesno", "  tfit"));
  EXPECT_THAT(wrapped("  あい", 2, 4), testing::ElementsAre("  ", " あ", " い"));
}

TEST(StatusTest, AMegabyteWithoutBlanksIsWrappedInNoTime) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(wrapped(std::string(4'000'000, 'x'), 80, 0).size(), 50'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(StatusTest, ABudgetBelowNothingIsSaidInWords) {
  const auto document =
      parseJson(R"({"node": "box", "cpuSuppress": {"enabled": true, "policy": "cfsQuota",
    "nodeMilli": 2000, "thresholdPercent": 65, "lsUsedMilli": 100, "systemUsedMilli": 1900,
    "budgetMilli": -700, "beQuotaUs": 2000}})");
  ASSERT_TRUE(document);
  EXPECT_THAT(
      describeQos(*document).lines,
      testing::ElementsAre("CPU suppress (cfsQuota): BE limited to quota 0.02 cores; budget 0 "
                           "of 2 cores, 0.70 are used beyond 65%, LS uses 0.10, system "
                           "1.90"));
}

TEST(StatusTest, SaysWhatKoordletDoesAndWhy) {
  const auto document =
      parseJson(R"({"node": "box", "cpuSuppress": {"enabled": true, "policy": "cpuset",
    "nodeMilli": 4000, "lsUsedMilli": 1800, "systemUsedMilli": 100, "budgetMilli": 700, "beCpuset": "0-1",
    "reason": "LS rose"}, "memoryEvict": {"enabled": false}})");
  ASSERT_TRUE(document);
  const auto qos = describeQos(*document);
  EXPECT_EQ(qos.node, "box");
  EXPECT_THAT(qos.lines,
              testing::ElementsAre("CPU suppress (cpuset): BE limited to cpus 0-1; budget "
                                   "0.70 of 4 cores, LS uses 1.80, system 0.10",
                                   "  why: LS rose", "memory eviction: off"));
}

TEST(StatusTest, AnAnswerOfAnotherShapeIsNoCrash) {
  EXPECT_TRUE(describeQos(json::value("text")).lines.empty());
  EXPECT_TRUE(describeQos(json::value(nullptr)).node.empty());
}

TEST(StatusTest, AmountsAreShort) {
  EXPECT_EQ(cores(1500), "1.50");
  EXPECT_EQ(cores(2000), "2");
  EXPECT_EQ(bytesText(1536), "1.5Ki");
  EXPECT_EQ(bytesText(0), "0");
  EXPECT_EQ(bytesText(std::int64_t{300} << 30), "300Gi");
}

}  // namespace
}  // namespace koord::cluster
