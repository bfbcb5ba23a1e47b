// What operators write for koord-manager: sections of the ConfigMap slo-controller-config,
// annotations of nodes, rules for pods, checkpoints of recommendations. Each parser reads every
// input; what is accepted makes sense, and one broken section leaves the others alone.

#include "api/codec.h"
#include "fuzz.h"
#include "manager/common/ratio_config.h"
#include "manager/noderesource/extended_resources.h"
#include "manager/recommender/container_model.h"
#include "manager/webhook/config/config_checks.h"
#include "manager/webhook/enhanced_validation.h"
#include "model/slo_config.h"
#include "model/well_known.h"

namespace koord::fuzz {

namespace {

constexpr const char* kSections[] = {"colocation-config",
                                     "resource-threshold-config",
                                     "resource-qos-config",
                                     "cpu-burst-config",
                                     "system-config",
                                     "host-application-config",
                                     "cpu-normalization-config",
                                     "resource-amplification-config"};

void sections(const std::string& text) {
  api::ObjectMeta node;
  node.name = "n1";
  node.labels["pool"] = "a";
  for (const char* section : kSections) {
    api::ConfigMap config;
    config.data[section] = text;
    if (section != std::string_view("system-config"))
      config.data["system-config"] = R"({"clusterStrategy":{"watermarkScaleFactor":199}})";
    model::ColocationConfig colocation;
    (void)colocation.update(&config);
    if (colocation.available())
      check(model::validate(colocation.cluster()).has_value(), "what is in force makes sense");
    model::NodeSloConfig slo;
    (void)slo.update(&config);
    const auto spec = slo.specOf(node, {});
    if (section != std::string_view("system-config"))
      check(toJson(spec.systemStrategy).find("199") != std::string::npos,
            "the other sections count");
    manager::RatioConfig ratios;
    (void)ratios.update(&config);
    (void)ratios.normalizationOf(node.labels);
    (void)manager::checkNode(manager::readSections(config), node);
    if (manager::checkConfig(config, nullptr, true))
      check(manager::checkConfig(config, nullptr, false).has_value(), "fewer rules let more pass");
  }
}

void annotations(const std::string& text) {
  model::ColocationConfig colocation;
  api::ConfigMap config;
  config.data["colocation-config"] = R"({"enable":true})";
  (void)colocation.update(&config);
  api::ObjectMeta node;
  node.annotations[std::string(model::kAnnotationColocationStrategy)] = text;
  check(model::validate(colocation.strategyOf(node)).has_value(),
        "a node's own strategy makes sense");
  api::Node whole;
  whole.metadata.annotations[std::string(model::kAnnotationThirdPartyAllocations)] = text;
  (void)manager::thirdPartyAllocations(whole);
}

void rules(const std::string& text) {
  api::ConfigMap config;
  config.data["enable"] = "true";
  config.data["rules"] = text;
  const auto read = manager::readPodRules(config);
  if (!read) return;
  api::Pod pod;
  for (const auto& rule : read->rules)
    for (const auto& label : rule.requiredLabels) pod.metadata.labels[label] = "";
  check(!manager::checkPodRules(*read, pod), "a pod with all labels is fine");
}

void checkpoint(std::string_view text) {
  const auto document = parseJson(text);
  if (!document) return;
  const auto model = manager::ContainerModel::load(*document);
  if (!model) return;
  const auto advice = model->advice();
  check(advice.target.cpu >= Quantity::ofMilli(25), "no advice is below the least amounts");
  check(manager::ContainerModel::load(model->save()).has_value(), "what is saved can be read");
}

}  // namespace

void configuration(std::string_view input) {
  const std::string text(input);
  sections(text);
  annotations(text);
  rules(text);
  checkpoint(input);
}

}  // namespace koord::fuzz
