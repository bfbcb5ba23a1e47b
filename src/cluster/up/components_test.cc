#include "cluster/up/components.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/yaml.h"

namespace koord::cluster {
namespace {

using testing::Contains;
using testing::HasSubstr;

// The programs are never started.
class ComponentsTest : public testing::Test {
 protected:
  ComponentsTest() {
    for (const char* name : {"koord-scheduler", "koord-manager", "koordlet"}) {
      const std::string file = folder_ + "/" + name;
      EXPECT_TRUE(writeFileAtomic(file, "#!/bin/true\n"));
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    options_.programDir = options_.logDir = options_.dataDir = folder_;
  }
  ~ComponentsTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> argumentsOf(const std::string& name) {
    const auto component = makeComponent(name, "kubeconfig", options_);
    EXPECT_TRUE(component) << component.error().message;
    return component ? component->child.argv : std::vector<std::string>();
  }
  json::value schedulerConfiguration() {
    (void)argumentsOf("koord-scheduler");
    return parseYaml(readFile(folder_ + "/koord-scheduler.yaml").value()).value();
  }

  std::string folder_ = [] {
    std::string name = testing::TempDir() + "koord-components-XXXXXX";
    EXPECT_TRUE(::mkdtemp(name.data()));
    return name;
  }();
  ComponentOptions options_;
};

json::value pluginArguments(const json::value& profile, std::string_view plugin) {
  for (const auto& config : find(profile, "pluginConfig")->get_array())
    if (textAt(config, "name") == plugin) return *find(config, "args");
  return {};
}

TEST_F(ComponentsTest, TheSchedulerRunsWithTheRecommendedProfile) {
  options_.severalNodes = true;
  const json::value ours = schedulerConfiguration();
  const auto map = parseYaml(
      readFile(std::string(KOORD_CRDS) + "/../recommended/scheduler-config.yaml").value());
  const auto shipped = parseYaml(textAt(*map, "data", "koord-scheduler-config")).value();
  const auto& expected = find(shipped, "profiles")->get_array();
  ASSERT_EQ(expected.size(), 1u);
  for (const auto& profile : find(ours, "profiles")->get_array())
    for (const char* part : {"plugins", "pluginConfig"})
      EXPECT_EQ(toJson(*find(profile, part)), toJson(*find(expected[0], part)));
}

TEST_F(ComponentsTest, OfOneMachineNoLoadKeepsPodsOff) {
  const json::value configuration = schedulerConfiguration();
  const auto& profile = find(configuration, "profiles")->get_array().at(0);
  const json::value load = pluginArguments(profile, "LoadAwareScheduling");
  EXPECT_EQ(toJson(*find(load, "usageThresholds")), R"({"cpu":0,"memory":0})");
  EXPECT_FALSE(find(load, "prodUsageThresholds"));
  EXPECT_EQ(find(pluginArguments(profile, "Coscheduling"), "enablePreemption")->get_bool(), true);
}

TEST_F(ComponentsTest, GatesAreThoseOfTheRecommendedProfile) {
  const std::string deploy = std::string(KOORD_CRDS) + "/../";
  const auto argumentsIn = [&](const std::string& patch) {
    return std::string(
        textAt(parseYaml(readFile(deploy + patch).value())->get_array().at(0), "value"));
  };
  EXPECT_THAT(argumentsOf("koord-manager"),
              Contains(argumentsIn("recommended/manager-gates.yaml")));
  const std::string gates = argumentsIn("recommended/koordlet-gates.yaml");
  EXPECT_THAT(argumentsOf("koordlet"), Contains(HasSubstr(gates.substr(gates.find('=') + 1))));
}

TEST(FreePorts, AreDifferentAndNotOfTheRangesOfConnectionsAndNodePorts) {
  std::set<int> all;
  for (int i = 0; i < 100; ++i) {
    const auto ports = freePorts(3);
    ASSERT_TRUE(ports) << ports.error().message;
    ASSERT_EQ(ports->size(), 3U);
    for (const int port : *ports) {
      EXPECT_TRUE(all.insert(port).second) << port << " was given before";
      EXPECT_GE(port, 20'000);
      EXPECT_LT(port, 30'000);
    }
  }
}

}  // namespace
}  // namespace koord::cluster
