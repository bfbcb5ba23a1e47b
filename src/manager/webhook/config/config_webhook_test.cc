#include "manager/webhook/config/config_webhook.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "apiserver/embedded_cluster.h"
#include "manager/webhook/config/config_checks.h"
#include "manager/webhook/config/network_checks.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

api::ConfigMap configMap(std::initializer_list<std::pair<std::string, std::string>> data) {
  api::ConfigMap config;
  config.metadata.name = "slo-controller-config";
  config.metadata.namespace_ = "koordinator-system";
  for (const auto& [key, text] : data) config.data[key] = text;
  return config;
}

std::string checked(const std::string& key, const std::string& text, bool names = false) {
  const auto result = checkConfig(configMap({{key, text}}), nullptr, names);
  return result ? "ok" : result.error().message;
}

TEST(ConfigChecks, ADocumentThatCannotBeReadIsToldWithItsField) {
  EXPECT_THAT(checked("colocation-config", "{"),
              StartsWith(R"(___{"reason":"ParseConfigFail","message":"Failed to parse colocation )"
                         R"(config in configmap koordinator-system/slo-controller-config, err: )"));
  EXPECT_THAT(checked("resource-qos-config",
                      R"({"clusterStrategy":{"beClass":{"cpuQOS":{"enable":"x"}}}})"),
              HasSubstr("clusterStrategy: beClass.cpuQOS.enable"));
  EXPECT_THAT(
      checked("cpu-burst-config",
              R"({"nodeStrategies":[{"nodeSelector":{"matchLabels":{"a":"b"}},"policy":7}]})"),
      HasSubstr("nodeStrategies[0]: policy"));
  EXPECT_EQ(checked("system-config", ""), "ok");
  EXPECT_EQ(checked("somebody-elses", "{"), "ok");
}

TEST(ConfigChecks, BoundsAreThoseOfTheOriginalInItsWords) {
  EXPECT_EQ(
      checked(
          "colocation-config",
          R"({"cpuReclaimThresholdPercent":-1,"resourceDiffThreshold":1.5,"degradeTimeMinutes":0,
                  "nodeConfigs":[{"nodeSelector":{"matchLabels":{"a":"b"}},"midCPUThresholdPercent":101}]})"),
      R"(___{"reason":"ConfigParamInvalid","message":{)"
      R"("ColocationCfg.ColocationStrategy.CPUReclaimThresholdPercent":"CPUReclaimThresholdPercent must be 0 or greater",)"
      R"("ColocationCfg.ColocationStrategy.DegradeTimeMinutes":"DegradeTimeMinutes must be 1 or greater",)"
      R"("ColocationCfg.ColocationStrategy.ResourceDiffThreshold":"ResourceDiffThreshold must be 1 or less",)"
      R"("ColocationCfg.NodeConfigs[0].ColocationStrategy.MidCPUThresholdPercent":"MidCPUThresholdPercent must be 100 or less"}}___)");
  EXPECT_THAT(
      checked("resource-threshold-config",
              R"({"clusterStrategy":{"memoryEvictThresholdPercent":70}})"),
      HasSubstr("MemoryEvictThresholdPercent must be greater than MemoryEvictLowerPercent"));
  EXPECT_EQ(
      checked(
          "resource-threshold-config",
          R"({"clusterStrategy":{"memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":65}})"),
      "ok");
  EXPECT_THAT(
      checked("resource-qos-config",
              R"({"clusterStrategy":{"beClass":{"cpuQOS":{"groupIdentity":3}}}})"),
      HasSubstr(
          R"("ResourceQOSCfg.ClusterStrategy.BEClass.CPUQOS.CPUQOS.GroupIdentity":"GroupIdentity must be 2 or less")"));
  EXPECT_THAT(checked("cpu-burst-config", R"({"clusterStrategy":{"cpuBurstPercent":0}})"),
              HasSubstr("CPUBurstPercent must be 1 or greater"));
  EXPECT_THAT(checked("cpu-burst-config", R"({"clusterStrategy":{"cpuBurstPercent":10001}})"),
              HasSubstr("CPUBurstPercent must be 10,000 or less"));
  EXPECT_THAT(checked("system-config", R"({"clusterStrategy":{"watermarkScaleFactor":0}})"),
              HasSubstr("WatermarkScaleFactor must be greater than 0"));
}

TEST(ConfigChecks, EntriesNeedSelectorsAndDoNotCompete) {
  EXPECT_THAT(checked("colocation-config", R"({"nodeConfigs":[{"name":"x","nodeSelector":{}}]})"),
              HasSubstr("nodeConfigs NodeSelector must not empty error! configType: "
                        "colocation-config,nodeConfig name:x"));
  EXPECT_THAT(
      checked(
          "colocation-config",
          R"({"nodeConfigs":[{"name":"x","nodeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}]})"),
      HasSubstr("failed to parse node selector"));
  const char* overlapping =
      R"({"nodeConfigs":[{"name":"x","nodeSelector":{"matchLabels":{"a":"1"}}},
                         {"name":"y","nodeSelector":{"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}]}}]})";
  EXPECT_EQ(
      checked("colocation-config", overlapping),
      R"(___{"reason":"NodeStrategiesOverlap","message":{"config":"colocation-config","strategies":["x","y"]}}___)");
  const char* twoNames =
      R"({"nodeConfigs":[{"name":"x","nodeSelector":{"matchLabels":{"a":"1"}}},
                         {"name":"x","nodeSelector":{"matchLabels":{"a":"2"}}}]})";
  EXPECT_EQ(checked("colocation-config", twoNames), "ok");
  EXPECT_THAT(checked("colocation-config", twoNames, true), HasSubstr("nodeConfig Name confilict"));
  // Entries with very many values are tested with some of them.
  std::string values;
  for (int i = 0; i < 300; ++i) values += fmt::format("{}\"v{}\"", i ? "," : "", i);
  const std::string many = fmt::format(
      R"({{"nodeConfigs":[{{"name":"x","nodeSelector":{{"matchExpressions":[
          {{"key":"a","operator":"In","values":[{0}]}},{{"key":"b","operator":"In","values":[{0}]}},
          {{"key":"c","operator":"In","values":[{0}]}}]}}}}]}})",
      values);
  EXPECT_EQ(checked("colocation-config", many), "ok");
}

TEST(ConfigChecks, BandwidthThatIsPromisedAddsUp) {
  const auto network = [](std::string_view strategies, std::string_view system = "") {
    const auto result =
        checkNetwork(fmt::format(R"({{"clusterStrategy":{{{}}}}})", strategies), system);
    return result ? std::string("ok") : result.error().message;
  };
  EXPECT_EQ(
      network(
          R"("lsClass":{"networkQOS":{"ingressRequest":60}},"beClass":{"networkQOS":{"ingressRequest":40}})"),
      "ok");
  EXPECT_EQ(
      network(
          R"("lsClass":{"networkQOS":{"ingressRequest":60}},"beClass":{"networkQOS":{"ingressRequest":41}})"),
      "ClusterStrategy total net bandwidth percentage already over 100");
  EXPECT_EQ(network(R"("lsClass":{"networkQOS":{"ingressRequest":60,"egressRequest":"5M"}})"),
            "only one type can be used for percentages or quantity in clusterStrategy");
  EXPECT_THAT(network(R"("beClass":{"networkQOS":{"ingressLimit":"fast"}})"),
              HasSubstr("ResourceQOSCfg.ClusterStrategy.BEClass.IngressLimit"));
  EXPECT_EQ(network(R"("lsClass":{"networkQOS":{"egressRequest":"2G"}})",
                    R"({"clusterStrategy":{"totalNetworkBandwidth":"1G"}})"),
            "total net bandwidth over total network bandwidth in clusterStrategy");
  EXPECT_EQ(network(R"("lsClass":{"networkQOS":{"egressRequest":"2G"}})", "{"), "ok");
}

TEST(ConfigChecks, OnlySectionsThatChangedAreLookedAt) {
  const auto bad = configMap({{"colocation-config", "{"}, {"system-config", "{}"}});
  EXPECT_TRUE(checkConfig(bad, &bad, false)) << "it was let in before";
  const auto fixed =
      configMap({{"colocation-config", R"({"enable":true})"}, {"system-config", "["}});
  EXPECT_THAT(checkConfig(fixed, &bad, false).error().message, HasSubstr("System config"));
}

Task<void> keepAnswer(Task<Verdict> task, std::optional<Verdict>& into) {
  into = co_await task;
}

class ConfigWebhookTest : public testing::Test {
 protected:
  ConfigWebhookTest() {
    cluster_.put(api::Namespace::kType, R"({"metadata":{"name":"koordinator-system"}})");
    cluster_.put(api::Node::kType,
                 R"({"metadata":{"name":"n1","labels":{"pool":"a","disk":"ssd"}}})");
  }
  Verdict run(Task<Verdict> task) {
    std::optional<Verdict> verdict;
    tasks_.spawn(keepAnswer(std::move(task), verdict));
    loop_.advanceUntil([&] { return verdict.has_value(); }, 20s);
    return verdict.value_or(refuse(0, "no answer"));
  }
  static api::AdmissionRequest request(std::string resource, json::value object,
                                       json::value old = {}) {
    api::AdmissionRequest request;
    request.operation = old.is_null() ? "CREATE" : "UPDATE";
    request.resource = {"", "v1", std::move(resource)};
    request.object = std::move(object);
    request.oldObject = std::move(old);
    return request;
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  TaskGroup tasks_;
  ConfigWebhook webhook_{cluster_, loop_, metrics_, {}};
};

constexpr const char* kTwoPools =
    R"({"nodeConfigs":[{"name":"x","nodeSelector":{"matchLabels":{"pool":"a"}}},
                       {"name":"y","nodeSelector":{"matchLabels":{"disk":"ssd"}}}]})";

TEST_F(ConfigWebhookTest, EntriesThatCompeteForANodeOfTheClusterAreRefused) {
  const json::value object = api::encode(configMap({{"colocation-config", kTwoPools}}));
  const auto verdict = run(webhook_.validateConfig(request("configmaps", object)));
  EXPECT_EQ(verdict.code, 400);
  EXPECT_EQ(
      verdict.message,
      R"(___{"reason":"ExistNodeConfict","message":{"config":"colocation-config","strategies":["x","y"],"exampleNodes":["n1"]}}___)");
  cluster_.remove(api::Node::kType, "n1");
  EXPECT_TRUE(run(webhook_.validateConfig(request("configmaps", object))).allowed);
  auto other = configMap({{"colocation-config", "{"}});
  other.metadata.name = "other";
  EXPECT_TRUE(run(webhook_.validateConfig(request("configmaps", api::encode(other)))).allowed);
  EXPECT_FALSE(run(webhook_.validateConfig(request("configmaps", "garbage"))).allowed);
}

TEST_F(ConfigWebhookTest, ANodeIsNotRelabelledIntoTwoEntries) {
  const json::value before =
      parseJson(R"({"metadata":{"name":"n2","labels":{"pool":"a"}}})").value();
  const json::value after =
      parseJson(R"({"metadata":{"name":"n2","labels":{"pool":"a","disk":"ssd"}}})").value();
  EXPECT_TRUE(run(webhook_.validateNode(request("nodes", after, before))).allowed)
      << "there is no configuration";
  cluster_.put(
      api::ConfigMap::kType,
      toJson(api::encode(configMap({{"colocation-config", kTwoPools}, {"system-config", "{"}}))));
  EXPECT_THAT(run(webhook_.validateNode(request("nodes", after, before))).message,
              HasSubstr(R"("exampleNodes":["n2"])"));
  EXPECT_TRUE(run(webhook_.validateNode(request("nodes", after, after))).allowed)
      << "its labels are as before";
  EXPECT_TRUE(run(webhook_.validateNode(request("nodes", after))).allowed) << "new nodes may come";
}

}  // namespace
}  // namespace koord::manager
