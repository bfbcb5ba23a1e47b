#include <fmt/format.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/time.h"
#include "cluster/screen/screen_testing.h"

namespace koord::cluster {
namespace {

template <class T>
std::shared_ptr<const T> decodedObject(std::string_view text) {
  auto decoded = api::decodeText<T>(text);
  EXPECT_TRUE(decoded) << (decoded ? "" : decoded.error().message);
  return std::make_shared<const T>(decoded ? *std::move(decoded) : T{});
}

std::string waitingPod(const std::string& name) {
  return fmt::format(
      R"({{"metadata": {{"name": "{}", "namespace": "shop", "creationTimestamp": "2026-01-01T09:00:00Z"}},
          "spec": {{"containers": []}}, "status": {{"phase": "Pending", "conditions": [
            {{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 Insufficient cpu. {}THE-LAST-WORD"}}]}}}})",
      name, std::string(100, 'x'));
}

std::string runningPod(const std::string& name) {
  return fmt::format(
      R"({{"metadata": {{"name": "{}", "namespace": "shop", "creationTimestamp": "2026-01-01T09:00:00Z"}},
          "spec": {{"nodeName": "box", "containers": [{{"name": "c", "resources": {{"requests": {{"cpu": "1"}}}}}}]}},
          "status": {{"phase": "Running", "conditions": [{{"type": "Ready", "status": "True"}}]}}}})",
      name);
}

}  // namespace

Objects screenCluster(int pods) {
  Objects objects;
  objects.now = *parseTime("2026-01-01T10:00:07Z");
  objects.nodes = {decodedObject<api::Node>(
      R"({"metadata": {"name": "box", "labels": {"koordctl.koordinator.sh/node": "host"}},
          "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}})")};
  api::NodeMetric metric = *decodedObject<api::NodeMetric>(
      R"({"metadata": {"name": "box"}, "status": {"updateTime": "2026-01-01T10:00:00Z",
          "nodeMetric": {"nodeUsage": {"resources": {"cpu": "1500m", "memory": "2Gi"}}}}})");
  for (int i = 0; i < pods; ++i) {
    const std::string name = fmt::format("pod-{:03}", i);
    objects.pods.push_back(decodedObject<api::Pod>(i == 7 ? waitingPod(name) : runningPod(name)));
    api::PodMetricInfo used;
    used.namespace_ = "shop";
    used.name = name;
    used.podUsage.resources["cpu"] = *Quantity::parse(std::to_string(i + 1) + "m");
    metric.status.podsMetric.push_back(used);
  }
  objects.metrics = {std::make_shared<const api::NodeMetric>(std::move(metric))};
  for (const auto& [name, parent] :
       {std::pair{"team", "root"}, {"root", ""}, {"a", "b"}, {"b", "a"}})
    objects.quotas.push_back(decodedObject<api::ElasticQuota>(fmt::format(
        R"({{"metadata": {{"name": "{}", "labels": {{"quota.scheduling.koordinator.sh/parent": "{}"}},
              "annotations": {{"quota.scheduling.koordinator.sh/runtime": "{{\"cpu\":\"3\"}}"}}}},
            "spec": {{"max": {{"cpu": "8", "example.com/gpu": "2"}}}}, "status": {{"used": {{"cpu": "500m"}}}}}})",
        name, parent)));
  objects.migrations = {decodedObject<api::PodMigrationJob>(
      R"({"metadata": {"name": "job"}, "spec": {"podRef": {"namespace": "shop", "name": "pod-001"}},
          "status": {"phase": "Running", "message": "waits"}})")};
  objects.events = {decodedObject<api::Event>(
      R"({"metadata": {"name": "e", "namespace": "shop"}, "type": "Warning", "reason": "Odd",
          "lastTimestamp": "2026-01-01T10:00:00Z", "involvedObject": {"kind": "Pod", "name": "pod-001"},
          "message": "evil\u001b[2J\u0085 \u202eabc"})")};
  return objects;
}

}  // namespace koord::cluster
