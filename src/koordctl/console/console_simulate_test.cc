#include "koordctl/console/console_simulate.h"

#include <gtest/gtest.h>

#include "base/yaml.h"

namespace koord::koordctl {
namespace {

std::string requestOf(const std::string& manifest, const char* spec = "{}") {
  return toJson(json::object{{"manifest", manifest}, {"spec", *parseYaml(spec)}});
}

std::string refusalOf(const std::string& request) {
  const auto spec = simulationSpec(request, "team");
  return spec ? "accepted: " + toJson(*spec) : spec.error().message;
}

}  // namespace

TEST(ConsoleSimulateTest, TheObjectsOfTheManifestJoinTheSpec) {
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

TEST(ConsoleSimulateTest, AQuestionWithoutAManifestHasNoObjects) {
  const auto spec = simulationSpec(requestOf("", "{drainNodes: [n1]}"), "team");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(json::value(*spec), *parseYaml("{drainNodes: [n1], objects: []}"));
}

TEST(ConsoleSimulateTest, WhatCannotBeReadIsRefusedWithItsPlace) {
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

}  // namespace koord::koordctl
