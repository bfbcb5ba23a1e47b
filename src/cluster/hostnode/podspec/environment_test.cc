#include "cluster/hostnode/podspec/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/hostnode/test_pods.h"

namespace koord::cluster {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class EnvironmentTest : public testing::Test {
 protected:
  Result<std::vector<std::string>> environment(const HostPod& pod) {
    return environmentOf({pod, ip, allocatable}, pod.container("a"), objects);
  }
  std::string errorOf(const std::string& variable) {
    const auto result =
        environment(podOf("u", R"({"containers": [{"name": "a", "env": [)" + variable + "]}]}"));
    return result ? "" : result.error().message;
  }
  void addConfigMap(std::string name, api::StringMap data) {
    auto object = std::make_shared<api::ConfigMap>();
    object->data = std::move(data);
    objects.configMaps[std::move(name)] = object;
  }
  void addSecret(std::string name, api::StringMap data) {
    auto object = std::make_shared<api::Secret>();
    object->data = std::move(data);
    objects.secrets[std::move(name)] = object;
  }

  std::string ip = "127.0.0.1";
  api::ResourceList allocatable{{"cpu", Quantity::of(4)}, {"memory", Quantity::of(1 << 30)}};
  ReferencedObjects objects;
};

TEST_F(EnvironmentTest, WhatGrowsByItselfStaysWithinWhatNoProgramTakes) {
  std::string variables = R"({"name": "V0", "value": ")" + std::string(1000, 'x') + "\"}";
  for (int i = 1; i < 5; ++i) {
    std::string ten;
    for (int j = 0; j < 10; ++j) ten += "$(V" + std::to_string(i - 1) + ")";
    variables += R"(, {"name": "V)" + std::to_string(i) + R"(", "value": ")" + ten + "\"}";
  }
  const auto grown =
      environment(podOf("u", R"({"containers": [{"name": "a", "env": [)" + variables + "]}]}"));
  ASSERT_TRUE(grown) << grown.error().message;
  // execve accepts 128 KiB per variable, and otherwise fails with this error.
  constexpr std::size_t kMost = 300'000;
  for (const auto& variable : *grown) EXPECT_LT(variable.size(), kMost) << variable.substr(0, 3);
  EXPECT_LT(expandVariables({"$(V4)$(V4)$(V4)$(V4)"}, *grown).at(0).size(), kMost);
}

TEST_F(EnvironmentTest, FieldsAndReferencesAreFilledIn) {
  auto pod =
      podOf("u7", R"json({"nodeName": "n1", "serviceAccountName": "sa", "containers": [{"name": "a",
      "env": [
      {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
      {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
      {"name": "SA", "valueFrom": {"fieldRef": {"fieldPath": "spec.serviceAccountName"}}},
      {"name": "IPS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIPs"}}},
      {"name": "BOTH", "value": "$(POD)@$(UNKNOWN)$$(POD)"}]}]})json");
  pod.metadata.labels["app"] = "web";
  const auto variables = environment(pod);
  ASSERT_TRUE(variables) << variables.error().message;
  EXPECT_THAT(*variables, IsSupersetOf({"POD=pod-u7", "APP=web", "SA=sa", "IPS=127.0.0.1",
                                        "BOTH=pod-u7@$(UNKNOWN)$(POD)"}));
  EXPECT_THAT(expandVariables({"sh", "-c", "echo $(APP)"}, *variables),
              ElementsAre("sh", "-c", "echo web"));
}

TEST_F(EnvironmentTest, AFieldThatIsNotKnownIsAnErrorThatNamesIt) {
  EXPECT_EQ(errorOf(R"({"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.color"}}})"),
            "container a: env X: fieldRef spec.color is not supported");
}

TEST_F(EnvironmentTest, ConfigMapsAndSecretsAreReadByKeyAndAsAWhole) {
  addConfigMap("cm", {{"mode", "fast"}, {"a=b", "no name"}});
  addSecret("sec", {{"password", "czNjcmV0"}});
  const auto variables = environment(podOf("u", R"json({"containers": [{"name": "a",
      "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}, {"secretRef": {"name": "sec"}},
                  {"configMapRef": {"name": "gone", "optional": true}}],
      "env": [{"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "mode"}}},
              {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "password"}}},
              {"name": "password", "value": "$(P_mode)er"},
              {"name": "NO", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "x", "optional": true}}}]}]})json"));
  ASSERT_TRUE(variables) << variables.error().message;
  EXPECT_THAT(*variables,
              IsSupersetOf({"P_mode=fast", "MODE=fast", "KEY=s3cret", "password=faster"}));
  EXPECT_THAT(*variables, Not(Contains(StartsWith("NO="))));
  EXPECT_THAT(*variables, Not(Contains(StartsWith("P_a=b"))));
}

TEST_F(EnvironmentTest, WhatIsMissingIsSaidInTheKubeletsWords) {
  addConfigMap("cm", {});
  EXPECT_EQ(
      errorOf(R"({"name": "X", "valueFrom": {"configMapKeyRef": {"name": "gone", "key": "k"}}})"),
      "configmap \"gone\" not found");
  EXPECT_EQ(
      errorOf(R"({"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}})"),
      "couldn't find key k in ConfigMap default/cm");
  EXPECT_EQ(
      errorOf(R"({"name": "X", "valueFrom": {"secretKeyRef": {"name": "gone", "key": "k"}}})"),
      "secret \"gone\" not found");
  const auto whole = environment(podOf(
      "u", R"({"containers": [{"name": "a", "envFrom": [{"secretRef": {"name": "gone"}}]}]})"));
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "secret \"gone\" not found");
}

struct ResourceCase {
  const char* name;
  const char* reference;
  const char* value;
};
class ResourceFieldTest : public testing::TestWithParam<ResourceCase> {};
TEST_P(ResourceFieldTest, IsInUnitsOfItsDivisorRoundedUp) {
  const auto pod = podOf("u", R"({"containers": [{"name": "a", "resources": {
      "limits": {"cpu": "1500m"}, "requests": {"cpu": "250m", "memory": "100Mi"}}}]})");
  const std::string ip = "127.0.0.1";
  const api::ResourceList allocatable{{"memory", Quantity::of(1 << 30)}};
  const auto decoded = podOf("v", std::string(R"({"containers": [{"name": "a", "env": [{"name": "X",
      "valueFrom": {"resourceFieldRef": )") +
                                      GetParam().reference + "}}]}]}");
  const auto value = resourceValue({pod, ip, allocatable},
                                   *decoded.container("a").env[0].valueFrom->resourceFieldRef, "a");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(*value, GetParam().value);
}
INSTANTIATE_TEST_SUITE_P(
    Resources, ResourceFieldTest,
    testing::Values(
        ResourceCase{"CpuInCores", R"({"resource": "limits.cpu"})", "2"},
        ResourceCase{"CpuInMilli", R"({"resource": "limits.cpu", "divisor": "1m"})", "1500"},
        ResourceCase{"Request", R"({"resource": "requests.cpu"})", "1"},
        ResourceCase{"MemoryInBytes", R"({"resource": "requests.memory"})", "104857600"},
        ResourceCase{"MemoryInMebibytes", R"({"resource": "requests.memory", "divisor": "1Mi"})",
                     "100"},
        ResourceCase{"NoLimitIsTheNodes", R"({"resource": "limits.memory", "divisor": "1Mi"})",
                     "1024"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(EnvironmentTest, FilesOfLabelsAreSortedAndQuoted) {
  auto pod = podOf("u", R"({"containers": [{"name": "a"}]})");
  pod.metadata.labels["b"] = "2";
  pod.metadata.labels["a"] = "say \"hi\"\n";
  EXPECT_EQ(*fieldFile({pod, ip, allocatable}, "metadata.labels"),
            "a=\"say \\\"hi\\\"\\n\"\nb=\"2\"");
  EXPECT_FALSE(fieldFile({pod, ip, allocatable}, "spec.nodeName"));
}

TEST_F(EnvironmentTest, AVariableThatASubPathNeedsMustBeThere) {
  EXPECT_EQ(*expandPath("logs/$(POD)", {"POD=p"}), "logs/p");
  EXPECT_EQ(expandPath("$(NO)", {}).error().message, "missing value for \"NO\"");
}

}  // namespace
}  // namespace koord::cluster
