#include "golden/checkers.h"
#include "golden/scheduling.h"
#include "scheduler/plugins/registry.h"

namespace koord::golden {
namespace {

using namespace scheduler;  // NOLINT: the whole file is about it

void addNamespace(Scene& scene, const char* name, const char* team) {
  api::Namespace object;
  object.metadata.name = name;
  object.metadata.labels["team"] = team;
  scene.world.stores().of<api::Namespace>().set(
      std::make_shared<const api::Namespace>(std::move(object)));
}

// Every plugin that the recorded output names.
Result<json::object> evaluatePlacement(const json::object& testCase) {
  static const Registry registry = makeRegistry();
  json::object out;
  for (const auto& recorded : testCase.at("out").as_object()) {
    const auto factory = registry.find(std::string(recorded.key()));
    if (factory == registry.end())
      return fail(ErrorCode::NotFound, "no plugin " + std::string(recorded.key()));
    auto scene = makeScene(testCase);
    if (!scene) return fail(std::move(scene.error()));
    addNamespace(**scene, "default", "x");
    addNamespace(**scene, "other", "y");
    std::vector<std::string> errors;
    Fields defaults(nullptr, "", errors);
    const auto plugin = factory->second(defaults, (*scene)->world);
    std::vector<NodeId> passed;
    json::object answers;
    answers.emplace("filter", filterOutput(**scene, *plugin, passed));
    if (dynamic_cast<ScorePlugin*>(plugin.get()) && !passed.empty())
      answers.emplace("score", scoreOutput(**scene, *plugin, passed));
    out.emplace(recorded.key(), std::move(answers));
  }
  return json::object{{"out", std::move(out)}};
}

}  // namespace

Checker placementChecker() {
  return {
      .file = "placement",
      .inputs = {"existingPods", "nodes", "pod"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluatePlacement; },
  };
}

}  // namespace koord::golden
