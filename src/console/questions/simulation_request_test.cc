#include "console/questions/simulation_request.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace koord::console {
namespace {

std::string requestOf(const std::string& manifest, const char* spec = "{}") {
  return toJson(json::object{{"manifest", manifest}, {"spec", *parseYaml(spec)}});
}

std::string refusalOf(const std::string& request) {
  const auto spec = simulationSpec(request, "team");
  return spec ? "accepted: " + toJson(*spec) : spec.error().message;
}

}  // namespace

TEST(SimulationRequestTest, TheObjectsOfTheManifestJoinTheSpec) {
  const auto spec =
      simulationSpec(requestOf("{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n"
                               "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: shop}}",
                               "{drainNodes: [n1], addNodes: [{count: 2, like: n2}]}"),
                     "team");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(json::value(*spec), *parseYaml(R"(
drainNodes: [n1]
addNodes: [{count: 2, like: n2}]
objects:
- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: team}}
- {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: shop}})"));
}

TEST(SimulationRequestTest, AQuestionWithoutAManifestHasNoObjects) {
  const auto spec = simulationSpec(requestOf("", "{drainNodes: [n1]}"), "team");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(json::value(*spec), *parseYaml("{drainNodes: [n1], objects: []}"));
}

TEST(SimulationRequestTest, WhatCannotBeReadIsRefusedWithItsPlace) {
  EXPECT_TRUE(refusalOf("x").starts_with("the question: ")) << refusalOf("x");
  EXPECT_EQ(refusalOf("{}"), "manifest: must be a text");
  EXPECT_EQ(refusalOf(R"({"manifest":[]})"), "manifest: must be a text");
  EXPECT_EQ(refusalOf(R"({"manifest":""})"), "spec: must be an object");
  EXPECT_EQ(refusalOf(requestOf("", "{objects: []}")),
            "spec.objects: the manifest has the objects");
  EXPECT_TRUE(refusalOf(requestOf("a: [1")).starts_with("manifest: not valid YAML: line "));
  EXPECT_EQ(refusalOf(requestOf("{kind: Pod}\n---\nhello")),
            "manifest: document 2: must be an object, with apiVersion and kind");
}

TEST(SimulationRequestTest, AConfigurationIsYamlOrJson) {
  const auto with = [](json::value configuration) {
    return toJson(json::object{
        {"manifest", ""}, {"spec", json::object{}}, {"configuration", std::move(configuration)}});
  };
  const auto spec =
      simulationSpec(with("kind: KubeSchedulerConfiguration\nprofiles: []\n"), "team");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(json::value(*spec), *parseYaml(R"(
objects: []
configuration: {kind: KubeSchedulerConfiguration, profiles: []})"));
  EXPECT_EQ(refusalOf(with(" \n")), R"(accepted: {"objects":[]})")
      << "empty: that of the scheduler";
  EXPECT_EQ(refusalOf(with(json::array{})), "configuration: must be a text");
  EXPECT_EQ(refusalOf(with("just a text")), "configuration: must be an object");
  EXPECT_TRUE(refusalOf(with("a: [1")).starts_with("configuration: not valid YAML: line "));
  EXPECT_EQ(refusalOf(requestOf("", "{configuration: {}}")),
            "spec.configuration: the text configuration has it");
}

}  // namespace koord::console
