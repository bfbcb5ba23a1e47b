#include "cluster/up/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"

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

StatusInput oneNode() {
  StatusInput input;
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

TEST(StatusTest, ThePictureFitsTheScreenAndCountsWhatDoesNot) {
  ClusterStatus status;
  summarize(oneNode(), status);
  for (int i = 0; i < 50; ++i) status.nodes.push_back({.name = "sim-" + std::to_string(i)});
  const auto lines = renderStatus(status, 80, 20);
  EXPECT_LE(lines.size(), 20u);
  for (const auto& line : lines) EXPECT_LE(line.size(), 80u);
  EXPECT_THAT(lines, Contains(HasSubstr("more nodes")));
  EXPECT_THAT(lines, Contains(HasSubstr("waiting: d/late")));
}

TEST(StatusTest, SaysWhatKoordletDoesAndWhy) {
  const auto document =
      parseJson(R"({"node": "box", "cpuSuppress": {"enabled": true, "policy": "cpuset",
    "nodeMilli": 4000, "lsUsedMilli": 1800, "systemUsedMilli": 100, "budgetMilli": 700, "beCpuset": "0-1",
    "reason": "LS rose"}, "memoryEvict": {"enabled": false}})");
  ASSERT_TRUE(document);
  const auto qos = describeQos(*document);
  EXPECT_EQ(qos.node, "box");
  EXPECT_THAT(qos.lines, testing::ElementsAre("CPU suppress (cpuset): BE held to cpus 0-1; budget "
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
