#include <algorithm>

#include "golden/checkers.h"
#include "golden/scheduling.h"
#include "scheduler/framework/pod_class.h"
#include "scheduler/plugins/imagelocality/plugin.h"
#include "scheduler/plugins/noderesources/balanced.h"
#include "scheduler/plugins/noderesources/fit.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

Result<json::object> resources(const json::object& testCase) {
  auto scene = makeScene(testCase);
  if (!scene) return fail(std::move(scene.error()));
  NodeResourcesFitArgs fit;
  fit.resources.clear();
  NodeResourcesBalancedAllocationArgs balanced;
  balanced.resources.clear();
  balanced.mode = BalanceMode::Improvement;
  for (const auto& resource : testCase.at("resources").as_array()) {
    const std::string name(textAt(resource, "name"));
    fit.resources.push_back({name, resource.at("weight").to_number<std::int64_t>()});
    balanced.resources.push_back(name);
  }
  for (const auto& point : testCase.at("shape").as_array()) {
    fit.shape.push_back({point.at("utilization").to_number<std::int64_t>(),
                         point.at("score").to_number<std::int64_t>()});
  }
  json::object out;
  for (const auto& [type, name] :
       {std::pair{ScoringType::LeastAllocated, "LeastAllocated"},
        std::pair{ScoringType::MostAllocated, "MostAllocated"},
        std::pair{ScoringType::RequestedToCapacityRatio, "RequestedToCapacityRatio"}}) {
    fit.type = type;
    NodeResourcesFit plugin((*scene)->world, fit);
    out.emplace(name, scoreOutput(**scene, plugin, (*scene)->nodes));
  }
  NodeResourcesFit plugin((*scene)->world, fit);
  std::vector<NodeId> passed;
  out.emplace("fit", filterOutput(**scene, plugin, passed));
  NodeResourcesBalancedAllocation balance((*scene)->world, balanced);
  out.emplace("BalancedAllocation", scoreOutput(**scene, balance, (*scene)->nodes));
  return json::object{{"out", std::move(out)}};
}

Result<json::object> imageLocality(const json::object& testCase) {
  auto scene = makeScene(testCase);
  if (!scene) return fail(std::move(scene.error()));
  ImageLocality plugin((*scene)->world);
  return json::object{{"out", scoreOutput(**scene, plugin, (*scene)->nodes)}};
}

json::object normalize(const json::object& testCase) {
  std::vector<std::int64_t> scores;
  for (const auto& score : testCase.at("scores").as_array())
    scores.push_back(score.to_number<std::int64_t>());
  std::int64_t highest = 0;
  for (const std::int64_t score : scores) highest = std::max(highest, score);
  const bool reverse = testCase.contains("reverse") && testCase.at("reverse").as_bool();
  const auto top = testCase.at("max").to_number<std::int64_t>();
  json::array out;
  for (const std::int64_t score : scores)
    out.push_back(normalizedScore(score, highest, reverse, top));
  return {{"out", std::move(out)}};
}

json::object brokenLinear(const json::object& testCase) {
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const auto& point : testCase.at("shape").as_array())
    points.emplace_back(point.at("utilization").to_number<std::int64_t>(),
                        point.at("score").to_number<std::int64_t>());
  const BrokenLine line(std::move(points));
  json::array out;
  for (const auto& x : testCase.at("in").as_array())
    out.push_back(line.at(x.to_number<std::int64_t>()));
  return {{"out", std::move(out)}};
}

Result<json::object> evaluateScores(const json::object& testCase) {
  const std::string_view op = testCase.at("op").as_string();
  if (op == "resources") return resources(testCase);
  if (op == "imageLocality") return imageLocality(testCase);
  if (op == "normalize") return normalize(testCase);
  if (op == "brokenLinear") return brokenLinear(testCase);
  return fail(ErrorCode::BadRequest, "unknown op");
}

}  // namespace

Checker scoresChecker() {
  return {
      .file = "scores",
      .inputs = {"op", "existingPods", "nodes", "pod", "resources", "shape", "in", "max", "reverse",
                 "scores"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluateScores; },
  };
}

}  // namespace koord::golden
