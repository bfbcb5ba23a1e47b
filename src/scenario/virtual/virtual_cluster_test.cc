#include "scenario/virtual/virtual_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "scenario/report.h"
#include "scenario/runner.h"
#include "scenario/virtual/role_uses.h"

namespace koord::scenario {
namespace {

const std::filesystem::path kRoot = KOORD_SOURCE_DIR;

std::vector<json::value> readManifests() {
  std::vector<json::value> result;
  for (const char* pattern :
       {"deploy/manifests/00-namespace.yaml", "deploy/manifests/*-rbac.yaml", "deploy/crds/*.yaml",
        "deploy/manifests/priority-classes.yaml", "deploy/manifests/manager-webhooks.yaml",
        "deploy/one-machine/storage-class.yaml"}) {
    auto objects = readResources(kRoot, pattern);
    EXPECT_TRUE(objects) << objects.error().message;
    if (objects) std::move(objects->begin(), objects->end(), std::back_inserter(result));
  }
  return result;
}

const std::vector<json::value>& manifests() {
  static const auto all = readManifests();
  return all;
}

// Every scenario of the tree, and every example of the documentation, is a test of this program:
// ScenarioTest.Passes/colocation_batch_resources, ScenarioTest.Passes/examples_gang.
class ScenarioTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ScenarioTest, Passes) {
  const auto tests = readTestFile(GetParam());
  ASSERT_TRUE(tests) << tests.error().message;
  for (const auto& test : *tests) {
    if (test.hasProcesses()) GTEST_SKIP() << "processes need a cluster in real time";
    for (std::size_t inputs = 0; inputs < std::max<std::size_t>(1, test.inputs.size()); ++inputs) {
      auto environment = startVirtualCluster({manifests(), 1, &roleUses()});
      ASSERT_TRUE(environment) << environment.error().message;
      const auto result = runTestToEnd(**environment, test, inputs, {});
      EXPECT_FALSE(result.failed()) << describe(result, {});
      EXPECT_THAT((*environment)->refusals(), testing::IsEmpty())
          << "what a shipped role does not allow";
    }
  }
}

std::vector<std::filesystem::path> scenarios() {
  auto files = findTestFiles({(kRoot / "tests/scenarios").string(), (kRoot / "examples").string()});
  return files ? *files : std::vector<std::filesystem::path>{};
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioTest, testing::ValuesIn(scenarios()), [](const auto& info) {
  auto path = std::filesystem::relative(info.param.parent_path(), kRoot);
  // The scenario of an example is in a folder below the manifests.
  if (path.filename() == "test") path = path.parent_path();
  const auto folder = path.string();
  constexpr std::string_view kScenarios = "tests/scenarios/";
  std::string name = folder.starts_with(kScenarios) ? folder.substr(kScenarios.size()) : folder;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
});

TEST(VirtualClusterTest, TheSameSeedGivesTheSameRun) {
  const auto tests = readTestFile(kRoot / "tests/scenarios/scheduling/spreads/chainsaw-test.yaml");
  ASSERT_TRUE(tests);
  std::vector<Duration> elapsed;
  for (int i = 0; i < 2; ++i) {
    auto environment = startVirtualCluster({manifests(), 7, nullptr});
    ASSERT_TRUE(environment);
    elapsed.push_back(runTestToEnd(**environment, tests->at(0), 0, {}).elapsed);
  }
  EXPECT_EQ(elapsed[0], elapsed[1]);
}

TEST(VirtualClusterTest, ABadManifestIsNamed) {
  const auto environment = startVirtualCluster(
      {{json::value{{"apiVersion", "v1"}, {"kind", "Nothing"}, {"metadata", {{"name", "x"}}}}},
       1,
       nullptr});
  ASSERT_FALSE(environment);
  EXPECT_EQ(environment.error().message, "Nothing x: the server has no kind Nothing in v1");
}

}  // namespace
}  // namespace koord::scenario
