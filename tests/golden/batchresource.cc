#include "api/codec.h"
#include "golden/checkers.h"
#include "manager/noderesource/batch_resource.h"
#include "manager/noderesource/mid_resource.h"

namespace koord::golden {
namespace {

json::object describe(const std::vector<manager::ResourceItem>& items) {
  json::object result;
  for (const auto& item : items) {
    if (item.reset) {
      result[item.name] = {{"reset", true}};
    } else {
      result[item.name] = {{"string", item.amount.toString()}, {"value", item.amount.value()}};
    }
  }
  return result;
}

Result<json::object> calculate(const json::object& testCase) {
  const auto strategy = api::decode<model::ColocationStrategy>(testCase.at("strategy"));
  if (!strategy) return fail(strategy.error());
  // The case's node holds the members of metadata and of status side by side.
  const json::value& given = testCase.at("node");
  const auto node = api::decode<api::Node>(json::object{{"metadata", given}, {"status", given}});
  if (!node) return fail(node.error());

  const WallTime now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
  api::NodeMetric metric;
  if (const auto* document = testCase.if_contains("nodeMetricStatus")) {
    auto metricStatus = api::decode<api::NodeMetricStatus>(*document);
    if (!metricStatus) return fail(metricStatus.error());
    metric.status = *std::move(metricStatus);
  }
  if (const auto* age = testCase.if_contains("updatedSecondsAgo"))
    metric.status.updateTime = now - std::chrono::seconds(age->to_number<std::int64_t>());

  std::vector<std::shared_ptr<const api::Pod>> pods;
  if (const auto* documents = testCase.if_contains("pods")) {
    for (const auto& document : documents->as_array()) {
      auto pod = api::decode<api::Pod>(document);
      if (!pod) return fail(pod.error());
      pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
    }
  }

  const manager::NodeView view{*strategy, *node, metric, pods, now};
  auto batch = manager::BatchResource().calculate(view);
  if (!batch) return fail(batch.error());
  auto mid = manager::MidResource().calculate(view);
  if (!mid) return fail(mid.error());
  return json::object{{"batch", describe(*batch)}, {"mid", describe(*mid)}};
}

}  // namespace

Checker batchresourceChecker() {
  return {.file = "batchresource",
          .inputs = {"node", "nodeMetricStatus", "pods", "strategy", "updatedSecondsAgo"},
          .open = [](const json::array&) -> Result<Evaluate> { return Evaluate(calculate); }};
}

}  // namespace koord::golden
