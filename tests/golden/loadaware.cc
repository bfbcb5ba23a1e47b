#include "api/codec.h"
#include "golden/checkers.h"
#include "golden/scheduling.h"
#include "scheduler/framework/pod_class.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/loadawarescheduling/plugin.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

Result<LoadAwareSchedulingArgs> argsOf(const json::value& document) {
  std::vector<std::string> problems;
  Fields fields(&document, "args", problems);
  LoadAwareSchedulingArgs args = LoadAwareSchedulingArgs::read(fields);
  if (!problems.empty()) return fail(ErrorCode::Invalid, problems.front());
  return args;
}

Result<json::object> estimatePod(const json::object& testCase) {
  auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod) return fail(std::move(pod.error()));
  LoadAwareSchedulingArgs args;
  args.estimatedScalingFactors.clear();
  for (const auto& factor : testCase.at("estimatedScalingFactors").as_object())
    args.estimatedScalingFactors[factor.key()] = factor.value().to_number<std::int64_t>();
  args.allowCustomizeEstimation = testCase.at("allowCustomizeEstimation").as_bool();
  const LoadResources resources(args);
  const Estimator estimator(resources, Estimator::settingsOf(args));
  const LoadAmounts amounts = estimator.estimate(*pod).amounts;
  json::object estimated;
  for (std::size_t i = 0; i < resources.size(); ++i) estimated[resources.name(i)] = amounts[i];
  return json::object{{"estimated", std::move(estimated)}, {"valid", true}};
}

WallTime ago(scheduler::testing::World& world, const json::value& seconds) {
  return world.loop().wallNow() - std::chrono::seconds(seconds.to_number<std::int64_t>());
}

Result<> addPods(scheduler::testing::World& world, const json::array& pods) {
  for (const auto& entry : pods) {
    auto pod = api::decode<api::Pod>(entry.at("pod"));
    if (!pod) return fail(std::move(pod.error()));
    if (const auto* conditions = find(entry, "conditionsSecondsAgo")) {
      for (const auto& condition : conditions->as_object()) {
        auto& added = pod->status.conditions.emplace_back();
        added.type = condition.key();
        added.status = "True";
        added.lastTransitionTime = ago(world, condition.value());
      }
    }
    const std::string node = pod->spec.nodeName;
    world.cluster().observePod(
        makePodInfo(world.cluster(), std::make_shared<const api::Pod>(*std::move(pod))), node);
  }
  return {};
}

json::value annotationsOf(const json::object& node) {
  const json::value* annotations = node.if_contains("annotations");
  return annotations ? *annotations : json::value(json::object());
}

Result<json::object> onNode(const json::object& testCase) {
  auto args = argsOf(testCase.at("args"));
  if (!args) return fail(std::move(args.error()));
  scheduler::testing::World world;
  const auto& given = testCase.at("node").as_object();
  auto node = api::decode<api::Node>(json::object{
      {"metadata", json::object{{"name", given.at("name")}, {"annotations", annotationsOf(given)}}},
      {"status", json::object{{"allocatable", given.at("allocatable")}}}});
  if (!node) return fail(std::move(node.error()));
  const std::string name = node->metadata.name;
  const NodeId id = world.cluster().setNode(std::make_shared<const api::Node>(*std::move(node)));
  auto& plugin = dynamic_cast<LoadAwareScheduling&>(world.only(
      std::make_unique<LoadAwareScheduling>(world, *args, LoadAwareScheduling::Rules::AsUpstream)));
  if (auto added = addPods(world, testCase.at("assignedPods").as_array()); !added)
    return fail(std::move(added.error()));
  if (const auto* document = testCase.if_contains("nodeMetric")) {
    auto metric = api::decode<api::NodeMetric>(*document);
    if (!metric) return fail(std::move(metric.error()));
    if (const auto* seconds = testCase.if_contains("nodeMetricUpdatedSecondsAgo"))
      metric->status.updateTime = ago(world, *seconds);
    world.stores().of<LoadReport>().set(
        std::make_shared<const LoadReport>(digest(*std::move(metric))));
  }
  auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod) return fail(std::move(pod.error()));
  const PodPtr info =
      makePodInfo(world.cluster(), std::make_shared<const api::Pod>(*std::move(pod)));

  CycleState state;
  plugin.preFilter(state, *info);
  NodeSet left = world.cluster().live();
  Verdicts verdicts;
  verdicts.clear(world.cluster().capacity());
  NodeFilter batch(left, &verdicts, 0);
  const Status status = plugin.filter(state, *info, batch);
  const Rejection& rejection = verdicts.rejection(verdicts.at(id));
  json::object out{{"filter", nameOf(status.ok() ? rejection.code : status.code)}};
  json::array reasons;
  for (const auto& reason : rejection.reasons) reasons.push_back(json::string(reason));
  out["reasons"] = std::move(reasons);
  std::int64_t score = 0;
  const Status scored = plugin.score(state, *info, std::span(&id, 1), std::span(&score, 1));
  out["scoreOk"] = scored.ok();
  out["score"] = score;
  return out;
}

Result<json::object> evaluateLoadaware(const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  if (op == "estimatePod") return estimatePod(testCase);
  if (op == "node") return onNode(testCase);
  return fail(ErrorCode::BadRequest, "unknown op");
}

}  // namespace

Checker loadawareChecker() {
  return {
      .file = "loadaware",
      .inputs = {"op", "args", "assignedPods", "node", "nodeMetric", "nodeMetricUpdatedSecondsAgo",
                 "pod", "allowCustomizeEstimation", "estimatedScalingFactors"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateLoadaware; },
  };
}

}  // namespace koord::golden
