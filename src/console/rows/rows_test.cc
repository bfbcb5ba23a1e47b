#include "console/rows/rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "api/codec.h"
#include "base/json.h"

namespace koord::console {

namespace {

template <class T>
Row rowIn(std::string_view text) {
  const auto document = parseJson(text);
  EXPECT_TRUE(document) << document.error().message;
  const auto object = api::decode<T>(*document);
  EXPECT_TRUE(object) << object.error().message;
  const std::optional<Row> row = rowOf(*object);
  EXPECT_TRUE(row);
  return row.value_or(Row());
}

json::array columnsIn(const Row& row) {
  const auto columns = parseJson(row.columns);
  EXPECT_TRUE(columns) << row.columns;
  return columns && columns->is_array() ? columns->get_array() : json::array();
}

}  // namespace

TEST(RowsTest, APodHasItsPlaceItsAmountsAndItsWay) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "web", "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z",
      "labels": {"quota.scheduling.koordinator.sh/name": "team"},
      "annotations": {
        "gang.scheduling.koordinator.sh/name": "job",
        "gang.scheduling.koordinator.sh/min-available": "4",
        "scheduling.koordinator.sh/resource-status": "{\"cpuset\":\"0-3\"}",
        "scheduling.koordinator.sh/device-allocated":
          "{\"gpu\":[{\"minor\":1,\"resources\":{\"koordinator.sh/gpu-core\":\"50\"}}]}"},
      "ownerReferences": [{"kind": "Job", "name": "train", "controller": true}]},
    "spec": {"nodeName": "n1", "priority": 9500, "containers": [{"name": "c", "resources": {
      "requests": {"cpu": "1500m", "memory": "2Gi", "koordinator.sh/gpu-core": "50"}}}]},
    "status": {"phase": "Running", "startTime": "2026-01-01T00:00:05Z", "conditions": [
      {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:03Z"},
      {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"}]}})");
  EXPECT_EQ(row.key, "shop/web");
  const std::int64_t start = 1767225600;
  EXPECT_EQ(columnsIn(row),
            (json::array{"shop",     "web",       "n1",  "Running", "LS",       "prod",    1500,
                         2048,       50,          start, start + 3, start + 5,  start + 9, "team",
                         "shop/job", "Job/train", "",    "0-3",     "gpu:1:50", 9500,      4}));
  EXPECT_EQ(row.figures.cpu, 1500);
  EXPECT_FALSE(row.figures.waits);
}

TEST(RowsTest, ABatchPodCountsWithBatchResources) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "spark", "namespace": "a", "labels": {"koordinator.sh/qosClass": "BE"}},
    "spec": {"nodeName": "n1", "priority": 5500, "containers": [{"name": "c", "resources": {
      "requests": {"kubernetes.io/batch-cpu": "2000", "kubernetes.io/batch-memory": "1Gi"}}}]},
    "status": {"phase": "Running"}})");
  EXPECT_EQ(row.figures.batchCpu, 2000);
  EXPECT_EQ(row.figures.batchMemory, 1024);
  EXPECT_EQ(row.figures.cpu, 0);
  EXPECT_EQ(columnsIn(row)[5], "batch");
}

TEST(RowsTest, AMidPodCountsWithMidResourcesAndWithoutThemWithNativeOnes) {
  const auto rowWith = [](std::string_view requests) {
    return rowIn<api::Pod>(R"({"metadata": {"name": "p", "namespace": "a"},
      "spec": {"nodeName": "n1", "priority": 7500, "containers": [{"name": "c", "resources": {
        "requests": )" + std::string(requests) +
                           R"(}}]}, "status": {"phase": "Running"}})");
  };
  const Row mid =
      rowWith(R"({"kubernetes.io/mid-cpu": "2000", "kubernetes.io/mid-memory": "1Gi"})");
  EXPECT_EQ(mid.figures, (Figures{.midCpu = 2000, .midMemory = 1024}));
  EXPECT_EQ(columnsIn(mid)[5], "mid");
  EXPECT_EQ(columnsIn(mid)[6], 2000);
  const Row native = rowWith(R"({"cpu": "2", "memory": "1Gi"})");
  EXPECT_EQ(native.figures, (Figures{.cpu = 2000, .memory = 1024}));
  EXPECT_EQ(columnsIn(native)[5], "prod");
}

TEST(RowsTest, APendingPodHasTheWordsOfTheScheduler) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "p", "namespace": "a"},
    "spec": {"containers": []},
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
      "reason": "Unschedulable", "message": "0/3 nodes are available: \"<script>\"\n"}]}})");
  EXPECT_TRUE(row.figures.waits);
  EXPECT_EQ(columnsIn(row)[16], "0/3 nodes are available: \"<script>\"\n");
  EXPECT_EQ(row.columns.find('\n'), std::string::npos);  // an event of the feed is one line
}

TEST(RowsTest, EnvironmentAndOtherAnnotationsStayInTheProcess) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "p", "namespace": "a", "annotations": {"note": "do-not-send"}},
    "spec": {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "do-not-send"}],
      "args": ["do-not-send"]}]}})");
  EXPECT_EQ(row.columns.find("do-not-send"), std::string::npos);
}

TEST(RowsTest, APodThatHasEndedUsesNothing) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "p", "namespace": "a"},
    "spec": {"nodeName": "n", "containers": [{"name": "c",
      "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"phase": "Succeeded"}})");
  EXPECT_EQ(row.figures, Figures{});
}

TEST(RowsTest, AnnotationsThatAreNotJsonAreNotRead) {
  const Row row = rowIn<api::Pod>(R"({
    "metadata": {"name": "p", "namespace": "a", "annotations": {
      "scheduling.koordinator.sh/resource-status": "{",
      "scheduling.koordinator.sh/device-allocated": "[1]"}},
    "spec": {"containers": []}})");
  EXPECT_LE(columnsIn(row).size(), 17u);
}

TEST(RowsTest, ANodeHasWhatItOffersAndItsPlace) {
  const Row row = rowIn<api::Node>(R"({
    "metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z", "example.com/rack": "r"}},
    "spec": {"unschedulable": true},
    "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "kubernetes.io/batch-cpu": "3000",
      "nvidia.com/gpu": "4"}, "conditions": [{"type": "Ready", "status": "False",
      "message": "no network"}]}})");
  EXPECT_EQ(columnsIn(row), (json::array{"n1", 0, 1, 8000, 16384, 3000, 0, 0, 0, 4,
                                         json::array{"z", "r"}, 0, "no network"}));
}

TEST(RowsTest, ANodeMetricSumsUpBePods) {
  const Row row = rowIn<api::NodeMetric>(R"({
    "metadata": {"name": "n1"}, "status": {"updateTime": "2026-01-01T00:00:00Z",
    "nodeMetric": {"nodeUsage": {"resources": {"cpu": "3", "memory": "2Gi"}}},
    "podsMetric": [
      {"name": "a", "namespace": "x", "qos": "BE", "podUsage": {"resources": {"cpu": "700m"}}},
      {"name": "b", "namespace": "x", "qos": "LS", "podUsage": {"resources": {"cpu": "900m"}}}]}})");
  EXPECT_EQ(row.figures.cpu, 3000);
  EXPECT_EQ(row.figures.batchCpu, 700);
}

TEST(RowsTest, AmountsAtTheLimitOfTheirTypeStayThere) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  const Row pod = rowIn<api::Pod>(R"({
    "metadata": {"name": "p", "namespace": "a"},
    "spec": {"nodeName": "n", "containers": [{"name": "c",
      "resources": {"requests": {"nvidia.com/gpu": "9223372036854775807"}}}]}})");
  EXPECT_EQ(pod.figures.devices, kLargest);
  const Row node = rowIn<api::Node>(R"({
    "metadata": {"name": "n"}, "status": {"allocatable": {
      "amd.com/gpu": "9223372036854775807", "nvidia.com/gpu": "9223372036854775807"}}})");
  EXPECT_EQ(node.figures.devices, kLargest);
  const Row metric = rowIn<api::NodeMetric>(R"({
    "metadata": {"name": "n"}, "status": {"updateTime": "2026-01-01T00:00:00Z", "nodeMetric": {},
    "podsMetric": [
      {"name": "a", "namespace": "x", "qos": "BE", "podUsage": {"resources": {"cpu": "8e18"}}},
      {"name": "b", "namespace": "x", "qos": "BE", "podUsage": {"resources": {"cpu": "1"}}}]}})");
  EXPECT_EQ(metric.figures.batchCpu, kLargest);
}

TEST(RowsTest, AQuotaHasWhatTheSchedulerComputed) {
  const Row row = rowIn<api::ElasticQuota>(R"({
    "metadata": {"name": "q", "namespace": "a", "labels":
      {"quota.scheduling.koordinator.sh/parent": "root",
       "quota.scheduling.koordinator.sh/allow-lent-resource": "false"},
      "annotations": {"quota.scheduling.koordinator.sh/runtime": "{\"cpu\":\"5\"}"}},
    "spec": {"min": {"cpu": "4"}, "max": {"cpu": "10", "nvidia.com/gpu": "8"}},
    "status": {"used": {"cpu": "6"}}})");
  EXPECT_EQ(columnsIn(row), (json::array{"a", "q", "root", "", json::object{{"cpu", 4000}},
                                         json::object{{"cpu", 10000}, {"nvidia.com/gpu", 8}},
                                         json::object{{"cpu", 6000}}, json::object{{"cpu", 5000}},
                                         json::object()}));
  EXPECT_EQ(row.extra[0], 5000);
}

TEST(RowsTest, AReservationEndsWhereItSaysSo) {
  const auto expiry = [](std::string_view spec) {
    const Row row = rowIn<api::Reservation>(
        std::string(R"({"metadata": {"name": "r", "creationTimestamp": "2026-01-01T00:00:00Z"},
          "spec": )") +
        std::string(spec) + "}");
    return wholeNumber(columnsIn(row)[8]).value_or(-1) - 1767225600;
  };
  EXPECT_EQ(expiry(R"({"ttl": "1h"})"), 3600);
  EXPECT_EQ(expiry(R"({"expires": "2026-01-01T00:00:30Z"})"), 30);
  EXPECT_EQ(expiry("{}"), 86400);
  EXPECT_EQ(expiry(R"({"ttl": "0s"})"), -1767225600);
}

}  // namespace koord::console
