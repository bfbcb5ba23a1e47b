#include "model/slo_config.h"

#include <gmock/gmock.h>

#include "model/config_merge.h"

namespace koord::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

api::ConfigMap configMap(api::StringMap data) {
  api::ConfigMap map;
  map.data = std::move(data);
  return map;
}
api::ConfigMap colocation(std::string text) {
  return configMap({{"colocation-config", std::move(text)}});
}
api::ObjectMeta node(api::StringMap labels = {}, api::StringMap annotations = {}) {
  api::ObjectMeta meta;
  meta.labels = std::move(labels);
  meta.annotations = std::move(annotations);
  return meta;
}

constexpr const char* kPools = R"({"enable":true,"cpuReclaimThresholdPercent":70,"nodeConfigs":[
  {"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"enable":false},
  {"name":"b","nodeSelector":{"matchLabels":{"zone":"z"}},"memoryReclaimThresholdPercent":80}]})";

struct NodeCase {
  const char* name;
  api::ObjectMeta node;
  bool enable;
  std::int64_t cpu;
  std::int64_t memory;
};

class StrategyOfNode : public testing::TestWithParam<NodeCase> {};

TEST_P(StrategyOfNode, FollowsTheTable) {
  ColocationConfig config;
  const auto map = colocation(kPools);
  EXPECT_THAT(config.update(&map).problems, IsEmpty());
  const auto strategy = config.strategyOf(GetParam().node);
  EXPECT_EQ(strategy.enable, GetParam().enable);
  EXPECT_EQ(strategy.cpuReclaimThresholdPercent, GetParam().cpu);
  EXPECT_EQ(strategy.memoryReclaimThresholdPercent, GetParam().memory);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, StrategyOfNode,
    testing::Values(
        NodeCase{"the_first_matching_entry_counts_alone", node({{"pool", "a"}, {"zone", "z"}}),
                 false, 70, 65},
        NodeCase{"an_entry_inherits_from_the_cluster", node({{"zone", "z"}}), true, 70, 80},
        NodeCase{"a_ratio_label_overrides",
                 node({{"zone", "z"}, {"node.koordinator.sh/cpu-reclaim-ratio", "0.5"}}), true, 50,
                 80},
        NodeCase{"a_ratio_is_cut_off_in_binary",
                 node({{"node.koordinator.sh/cpu-reclaim-ratio", "0.29"},
                       {"node.koordinator.sh/memory-reclaim-ratio", "0.57"}}),
                 true, 28, 56},
        NodeCase{"the_annotation_overrides",
                 node({{"zone", "z"}},
                      {{"node.koordinator.sh/colocation-strategy", R"({"enable":false})"}}),
                 false, 70, 80},
        NodeCase{"a_broken_annotation_is_ignored",
                 node({}, {{"node.koordinator.sh/colocation-strategy", R"({"enable":)"}}), true, 70,
                 65},
        NodeCase{"a_negative_ratio_is_ignored",
                 node({{"node.koordinator.sh/cpu-reclaim-ratio", "-1"}}), true, 70, 65}),
    [](const auto& info) { return info.param.name; });

TEST(ColocationConfig, IsUnavailableBeforeTheFirstUpdate) {
  ColocationConfig config;
  EXPECT_FALSE(config.available());
}

TEST(ColocationConfig, AMissingConfigMapMeansDefaultsButCountsAsBroken) {
  ColocationConfig config;
  EXPECT_TRUE(config.update(nullptr).changed);
  EXPECT_TRUE(config.available());
  EXPECT_TRUE(config.broken());
  EXPECT_EQ(config.cluster().enable, false);
  EXPECT_EQ(config.cluster().cpuReclaimThresholdPercent, 60);
}

TEST(ColocationConfig, AMissingSectionMeansDefaults) {
  ColocationConfig config;
  const auto map = configMap({});
  EXPECT_TRUE(config.update(&map).changed);
  EXPECT_FALSE(config.broken());
  EXPECT_EQ(config.cluster().memoryReclaimThresholdPercent, 65);
}

TEST(ColocationConfig, TheLastGoodSectionStaysAndTheProblemNamesTheField) {
  ColocationConfig config;
  const auto good = colocation(R"({"enable":true,"degradeTimeMinutes":5})");
  config.update(&good);
  const struct {
    const char* text;
    const char* message;
  } broken[] = {
      {R"({"enable":)", "colocation-config: "},
      {R"({"enable":1})", "colocation-config: enable: expected true or false, got 1"},
      {R"({"degradeTimeMinutes":1.5})",
       "colocation-config: degradeTimeMinutes: expected an integer"},
      {R"({"degradeTimeMinutes":0})", "colocation-config: degradeTimeMinutes: 0 is less than 1"},
      {R"({"nodeConfigs":[{"name":"a","enable":"yes"}]})", "colocation-config: nodeConfigs[0]"},
  };
  for (const auto& c : broken) {
    const auto map = colocation(c.text);
    const auto update = config.update(&map);
    EXPECT_FALSE(update.changed) << c.text;
    ASSERT_EQ(update.problems.size(), 1u) << c.text;
    EXPECT_EQ(update.problems[0].reason, "ColocationCfgUnmarshalFailed");
    EXPECT_THAT(update.problems[0].message, HasSubstr(c.message));
    EXPECT_TRUE(config.broken());
    EXPECT_EQ(config.cluster().degradeTimeMinutes, 5);
    EXPECT_EQ(config.cluster().enable, true);
  }
  EXPECT_TRUE(config.update(&good).changed) << "being broken ended";
  EXPECT_FALSE(config.broken());
}

TEST(ColocationConfig, WithoutAnyGoodSectionItStaysUnavailable) {
  ColocationConfig config;
  const auto map = colocation("{");
  config.update(&map);
  EXPECT_FALSE(config.available());
}

TEST(ColocationConfig, DeletingTheConfigMapChangesNothing) {
  ColocationConfig config;
  const auto map = colocation(R"({"enable":true})");
  config.update(&map);
  EXPECT_FALSE(config.update(nullptr).changed);
  EXPECT_EQ(config.cluster().enable, true);
}

TEST(ColocationConfig, ABrokenSelectorSkipsItsEntryOnly) {
  ColocationConfig config;
  const auto map = colocation(R"({"enable":true,"nodeConfigs":[
      {"name":"a","nodeSelector":{"matchExpressions":[{"key":"x","operator":"Like"}]},"enable":false},
      {"name":"b","nodeSelector":{"matchLabels":{"x":"y"}},"enable":false}]})");
  const auto update = config.update(&map);
  EXPECT_EQ(update.problems.size(), 1u);
  EXPECT_EQ(config.strategyOf(node({{"x", "y"}})).enable, false);
  EXPECT_EQ(config.strategyOf(node()).enable, true);
}

TEST(ColocationConfig, AMistakeInANodesAnnotationConcernsThatFieldOnly) {
  ColocationConfig config;
  const auto map = colocation(R"({"enable":true})");
  config.update(&map);
  std::vector<std::string> problems;
  const auto strategy = config.strategyOf(
      node({}, {{"node.koordinator.sh/colocation-strategy",
                 R"({"enable":"maybe","cpuReclaimThresholdPercent":90,"degradeTimeMinutes":0,
                     "memoryReclaimThresholdPercent":80})"}}),
      &problems);
  EXPECT_EQ(strategy.enable, true);
  EXPECT_EQ(strategy.cpuReclaimThresholdPercent, 90);
  EXPECT_EQ(strategy.memoryReclaimThresholdPercent, 80);
  EXPECT_EQ(strategy.degradeTimeMinutes, 15);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0],
              testing::HasSubstr("colocation-strategy]: enable: expected true or false"));
  EXPECT_THAT(problems[1], testing::HasSubstr("degradeTimeMinutes: 0 is less than 1"));
  config.strategyOf(node({}, {{"node.koordinator.sh/colocation-strategy", "[]"}}), &problems);
  EXPECT_EQ(problems.size(), 3u);
}

TEST(ColocationConfig, FieldNamesMatchWithoutCase) {
  ColocationConfig config;
  const auto map = colocation(R"({"Enable":true,"CPUReclaimThresholdPercent":90,"unknown":[]})");
  EXPECT_THAT(config.update(&map).problems, IsEmpty());
  EXPECT_EQ(config.cluster().enable, true);
  EXPECT_EQ(config.cluster().cpuReclaimThresholdPercent, 90);
}

std::string text(const json::value& value) {
  return toJson(value);
}

TEST(NodeSloConfig, DefaultsHoldWithoutConfigMap) {
  NodeSloConfig config;
  EXPECT_TRUE(config.update(nullptr).changed);
  const auto spec = config.specOf(node(), {});
  EXPECT_EQ(text(api::encode(*spec.resourceUsedThresholdWithBE)),
            R"({"enable":false,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cpuset",)"
            R"("memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"})");
  EXPECT_EQ(text(spec.resourceQOSStrategy), "{}");
  EXPECT_EQ(text(spec.cpuBurstStrategy),
            R"({"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,)"
            R"("cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50})");
  EXPECT_EQ(text(spec.systemStrategy), R"({"totalNetworkBandwidth":"0"})");
  EXPECT_TRUE(spec.hostApplications.is_null());
}

TEST(NodeSloConfig, SectionsResolvePerNodeAndKeepTheLastGoodValue) {
  NodeSloConfig config;
  auto map = configMap({{"resource-threshold-config", R"({"clusterStrategy":{"enable":true,
      "cpuSuppressThresholdPercent":60},"nodeStrategies":[{"name":"a","nodeSelector":{"matchLabels":
      {"pool":"a"}},"cpuEvictBEUsageThresholdPercent":80}]})"}});
  EXPECT_THAT(config.update(&map).problems, IsEmpty());
  const auto threshold = [&](const api::ObjectMeta& n) {
    return *config.specOf(n, {}).resourceUsedThresholdWithBE;
  };
  EXPECT_EQ(threshold(node({{"pool", "a"}})).cpuEvictBEUsageThresholdPercent, 80);
  EXPECT_EQ(threshold(node({{"pool", "a"}})).cpuSuppressThresholdPercent, 60);
  EXPECT_EQ(threshold(node()).cpuEvictBEUsageThresholdPercent, std::nullopt);
  EXPECT_EQ(threshold(node()).memoryEvictThresholdPercent, 70);

  map.data["resource-threshold-config"] = "";
  map.data["cpu-burst-config"] = R"({"clusterStrategy":{"policy":"auto"}})";
  auto update = config.update(&map);
  ASSERT_EQ(update.problems.size(), 1u);
  EXPECT_EQ(update.problems[0].reason, "SLOCfgUnmarshalFailed");
  EXPECT_THAT(update.problems[0].message, HasSubstr("resource-threshold-config"));
  EXPECT_TRUE(update.changed) << "the good section is taken over";
  EXPECT_EQ(threshold(node()).cpuSuppressThresholdPercent, 60);
  EXPECT_EQ(textAt(config.specOf(node(), {}).cpuBurstStrategy, "policy"), "auto");

  map.data.erase("resource-threshold-config");
  EXPECT_TRUE(config.update(&map).changed);
  EXPECT_EQ(threshold(node()).cpuSuppressThresholdPercent, 65);
  EXPECT_EQ(threshold(node()).enable, false);
}

TEST(NodeSloConfig, ValuesOutsideTheirBoundsAreAProblem) {
  NodeSloConfig config;
  const auto map = configMap(
      {{"resource-qos-config", R"({"clusterStrategy":{"beClass":{"cpuQOS":{"groupIdentity":7}}}})"},
       {"resource-threshold-config",
        R"({"clusterStrategy":{"cpuSuppressThresholdPercent":101}})"}});
  const auto update = config.update(&map);
  ASSERT_EQ(update.problems.size(), 2u);
  EXPECT_THAT(
      update.problems[0].message,
      HasSubstr("clusterStrategy: cpuSuppressThresholdPercent: 101 is not between 0 and 100"));
  EXPECT_THAT(update.problems[1].message, HasSubstr("beClass.cpuQOS.groupIdentity: 7"));
}

TEST(NodeSloConfig, OldSpellingsOfTheQosSectionAreRead) {
  NodeSloConfig config;
  const auto map =
      configMap({{"resource-qos-config",
                  R"({"clusterStrategy":{"beClass":{"resctrlQOS":{"MBAPercent":50}}}})"}});
  EXPECT_THAT(config.update(&map).problems, IsEmpty());
  EXPECT_EQ(text(config.specOf(node(), {}).resourceQOSStrategy),
            R"({"beClass":{"resctrlQOS":{"mbaPercent":50}}})");
}

TEST(NodeSloConfig, TheBandwidthAnnotationOverridesAndABrokenOneIsReported) {
  NodeSloConfig config;
  const auto map =
      configMap({{"system-config",
                  R"({"clusterStrategy":{"totalNetworkBandwidth":"10G"},"nodeStrategies":[
                                   {"nodeSelector":{"matchLabels":{"a":"b"}},"watermarkScaleFactor":20}]})"}});
  config.update(&map);
  std::string problem;
  const auto bandwidth = [&](const api::ObjectMeta& n) {
    return std::string(
        textAt(config.specOf(n, {}, &problem).systemStrategy, "totalNetworkBandwidth"));
  };
  EXPECT_EQ(bandwidth(node({{"a", "b"}})), "10G") << "an entry that says nothing inherits";
  EXPECT_EQ(bandwidth(node({}, {{"node.koordinator.sh/network-bandwidth", "25G"}})), "25G");
  EXPECT_EQ(problem, "");
  EXPECT_EQ(bandwidth(node({}, {{"node.koordinator.sh/network-bandwidth", "fast"}})), "10G");
  EXPECT_THAT(problem, HasSubstr("node.koordinator.sh/network-bandwidth"));
}

TEST(NodeSloConfig, ExtensionsOfOthersSurvive) {
  NodeSloConfig config;
  config.update(nullptr);
  api::NodeSLOSpec old;
  EXPECT_EQ(text(config.specOf(node(), old).extensions), R"({"Object":{}})");
  old.extensions = parseJson(R"({"Object":{"x":1}})").value();
  EXPECT_EQ(text(config.specOf(node(), old).extensions), R"({"Object":{"x":1}})");
}

TEST(NodeSloConfig, HostApplicationsOfTheFirstMatchingEntryReplaceTheOthers) {
  NodeSloConfig config;
  const auto map = configMap({{"host-application-config", R"({"applications":[{"name":"all"}],
      "nodeConfigs":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},
                      "applications":[{"name":"nginx","priority":"koord-prod","qos":"LS"}]}]})"}});
  config.update(&map);
  EXPECT_EQ(text(config.specOf(node({{"pool", "a"}}), {}).hostApplications),
            R"([{"name":"nginx","priority":"koord-prod","qos":"LS"}])");
  EXPECT_EQ(text(config.specOf(node(), {}).hostApplications), R"([{"name":"all"}])");
}

struct MergeCase {
  const char* name;
  const char* base;
  const char* overlay;
  const char* merged;
};
class Merge : public testing::TestWithParam<MergeCase> {};
TEST_P(Merge, GivesTheMergedDocument) {
  const auto& c = GetParam();
  EXPECT_EQ(mergeDocuments(parseJson(c.base).value(), parseJson(c.overlay).value()),
            parseJson(c.merged).value());
}
INSTANTIATE_TEST_SUITE_P(
    Documents, Merge,
    testing::Values(
        MergeCase{
            "maps_merge_by_key_and_replace_values",
            R"({"ratioModel":{"A":{"baseRatio":1.2},"B":{"baseRatio":1.5}},"enable":true})",
            R"({"ratioModel":{"B":{"turboEnabledRatio":1.8}},"enable":false})",
            R"({"enable":false,"ratioModel":{"A":{"baseRatio":1.2},"B":{"turboEnabledRatio":1.8}}})"},
        MergeCase{"lists_are_replaced", R"({"durations":["5m","10m","30m"]})",
                  R"({"durations":["15m"]})", R"({"durations":["15m"]})"},
        MergeCase{
            "list_elements_of_the_same_name_are_continued",
            R"({"blocks":[{"name":"a","type":"device","ioCfg":{"readIOPS":100}}]})",
            R"({"blocks":[{"name":"a","ioCfg":{"writeIOPS":5}}]})",
            R"({"blocks":[{"name":"a","type":"device","ioCfg":{"readIOPS":100,"writeIOPS":5}}]})"},
        MergeCase{"list_elements_of_other_names_stand_alone",
                  R"({"blocks":[{"name":"a","type":"device","ioCfg":{"readIOPS":100}}]})",
                  R"({"blocks":[{"name":"b"}]})", R"({"blocks":[{"name":"b"}]})"},
        MergeCase{"objects_merge_recursively", R"({"a":{"b":{"c":1,"d":2}}})",
                  R"({"a":{"b":{"d":3}}})", R"({"a":{"b":{"c":1,"d":3}}})"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace koord::model
