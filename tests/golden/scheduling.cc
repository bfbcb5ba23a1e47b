#include "golden/scheduling.h"

#include <algorithm>

#include "api/codec.h"
#include "scheduler/framework/pod_class.h"

namespace koord::golden {

using namespace scheduler;  // NOLINT: the whole file is about it

Result<std::unique_ptr<Scene>> makeScene(const json::object& testCase) {
  auto scene = std::make_unique<Scene>();
  Cluster& cluster = scene->world.cluster();
  for (const auto& document : testCase.at("nodes").as_array()) {
    auto node = api::decode<api::Node>(document);
    if (!node) return fail(std::move(node.error()));
    cluster.setNode(std::make_shared<const api::Node>(*std::move(node)));
  }
  if (const auto* pods = testCase.if_contains("existingPods")) {
    for (const auto& document : pods->as_array()) {
      auto pod = api::decode<api::Pod>(document);
      if (!pod) return fail(std::move(pod.error()));
      const std::string node = pod->spec.nodeName;
      cluster.observePod(makePodInfo(cluster, std::make_shared<const api::Pod>(*std::move(pod))),
                         node);
    }
  }
  auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod) return fail(std::move(pod.error()));
  scene->pod = makePodInfo(cluster, std::make_shared<const api::Pod>(*std::move(pod)));
  cluster.live().copyTo(scene->nodes);
  return scene;
}

json::value statusOutput(const Status& status) {
  const json::string code(nameOf(status.code));
  if (status.ok() || status.skipped()) return code;
  auto reasons = status.reasons();
  std::ranges::sort(reasons);
  json::array list;
  for (const auto& reason : reasons) list.push_back(json::string(reason));
  return json::object{{"code", code}, {"reasons", std::move(list)}};
}

json::object filterOutput(Scene& scene, Plugin& plugin, std::vector<NodeId>& passed) {
  Cluster& cluster = scene.world.cluster();
  CycleState state;
  json::object out;
  passed = scene.nodes;
  if (auto* preFilter = dynamic_cast<PreFilterPlugin*>(&plugin)) {
    const PreFilterResult result = preFilter->preFilter(state, *scene.pod);
    out.emplace("preFilter", statusOutput(result.status));
    if (!result.status.ok()) {
      if (!result.status.skipped()) passed.clear();
      return out;
    }
    if (result.nodeNames) {
      json::array names;
      for (const auto& name : *result.nodeNames) names.push_back(json::string(name));
      out.emplace("preFilterNodes", std::move(names));
    }
  }
  NodeSet left = cluster.live();
  Verdicts verdicts;
  verdicts.clear(cluster.capacity());
  NodeFilter batch(left, &verdicts, 0);
  json::object nodes;
  const Status status = dynamic_cast<FilterPlugin&>(plugin).filter(state, *scene.pod, batch);
  for (const NodeId node : scene.nodes) {
    const Rejection& rejection = verdicts.rejection(verdicts.at(node));
    nodes.emplace(
        cluster.node(node).name,
        statusOutput(status.ok() ? Status{rejection.code, rejection.reasons, {}} : status));
  }
  left.copyTo(passed);
  out.emplace("nodes", std::move(nodes));
  return out;
}

json::object scoreOutput(Scene& scene, Plugin& plugin, const std::vector<NodeId>& nodes) {
  Cluster& cluster = scene.world.cluster();
  CycleState state;
  json::object out;
  if (auto* preFilter = dynamic_cast<PreFilterPlugin*>(&plugin))
    (void)preFilter->preFilter(state, *scene.pod);
  if (auto* preScore = dynamic_cast<PreScorePlugin*>(&plugin)) {
    const bool signedPlugin = dynamic_cast<Signed*>(&plugin) != nullptr;
    const Status status = preScore->preScore(
        state, *scene.pod,
        signedPlugin ? std::span<const NodeId>() : std::span<const NodeId>(nodes));
    out.emplace("preScore", statusOutput(status));
    if (!status.ok()) return out;
  }
  auto& score = dynamic_cast<ScorePlugin&>(plugin);
  std::vector<std::int64_t> scores(nodes.size());
  const auto write = [&](const char* key) {
    json::object values;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      values.emplace(cluster.node(nodes[n]).name, scores[n]);
    out.emplace(key, std::move(values));
  };
  const Status status = score.score(state, *scene.pod, nodes, scores);
  if (!status.ok()) {
    out.emplace("score", statusOutput(status));
    return out;
  }
  write("raw");
  const Normalization kind = score.normalization();
  if (kind == Normalization::None) return out;
  if (kind == Normalization::Own) {
    (void)score.normalize(state, *scene.pod, nodes, scores);
  } else if (!scores.empty()) {
    const std::int64_t highest = std::max<std::int64_t>(0, *std::ranges::max_element(scores));
    for (auto& value : scores)
      value = normalizedScore(value, highest, kind == Normalization::Lowest);
  }
  write("normalized");
  return out;
}

}  // namespace koord::golden
