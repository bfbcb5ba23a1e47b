#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/config/types.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

std::string problemsOf(const std::string& text) {
  const auto read = parseConfiguration(text);
  return read ? "" : read.error().message;
}

TEST(Configuration, defaults_are_those_of_kube_scheduler) {
  const auto read = parseConfiguration(kHead);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->parallelism, 16);
  EXPECT_EQ(read->leaderElection.leaseDuration, std::chrono::seconds(15));
  EXPECT_EQ(read->leaderElection.resourceName, "kube-scheduler");
  EXPECT_EQ(read->qps, 50);
  EXPECT_EQ(read->burst, 100);
  EXPECT_EQ(read->podInitialBackoffSeconds, 1);
  EXPECT_EQ(read->podMaxBackoffSeconds, 10);
  ASSERT_EQ(read->profiles.size(), 1u);
  EXPECT_EQ(read->profiles[0].schedulerName, "default-scheduler");
  EXPECT_TRUE(read->enableProfiling);
  EXPECT_FALSE(parseConfiguration(kHead + "enableProfiling: false")->enableContentionProfiling);
}

TEST(Configuration, every_problem_is_told_by_its_field) {
  struct Row {
    const char* yaml;
    const char* problem;
  };
  for (
      const Row& row : {
          Row{"unknownField: 1", "unknownField: unknown field"},
          Row{"parallelism: 1\nparallelism: 2", "duplicate key \"parallelism\""},
          Row{"parallelism: 0",
              "parallelism: Invalid value: 0: should be an integer value greater than zero"},
          Row{"percentageOfNodesToScore: 101",
              "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
          Row{"podInitialBackoffSeconds: 0",
              "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
          Row{"podInitialBackoffSeconds: 20",
              "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to "
              "PodInitialBackoffSeconds"},
          Row{"clientConnection: {burst: -1}",
              "clientConnection.burst: Invalid value: -1: must be non-negative"},
          Row{"leaderElection: {leaseDuration: 5s}",
              "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than "
              "`RenewDeadline`"},
          Row{"leaderElection: {retryPeriod: -1s}",
              "leaderElection.retryPeriod: Invalid value: \"-1s\": must be greater than zero"},
          Row{"leaderElection: {renewDeadline: 2s}",
              "leaderElection.renewDeadline: Invalid value: \"2s\": must be greater than "
              "retryPeriod*JitterFactor"},
          Row{"leaderElection: {resourceLock: endpoints}",
              "leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock value must "
              "be "
              "\"leases\""},
          Row{"leaderElection: {leaseDuration: soon}",
              "leaderElection.leaseDuration: expected a duration such as 15s, got \"soon\""},
          Row{"profiles: [{schedulerName: a}, {schedulerName: a}]",
              "profiles[1].schedulerName: Duplicate value: \"a\""},
          Row{"profiles: [{}, {schedulerName: a}]", "profiles[0].schedulerName: Required value"},
          Row{"profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]",
              "profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": was "
              "removed"},
          Row{"profiles: [{plugins: {filters: {}}}]", "profiles[0].plugins.filters: unknown field"},
          Row{"profiles: [{pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]}]",
              "profiles[0].pluginConfig[1]: Duplicate value: \"NodeAffinity\""},
          Row{"profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: OtherArgs}}]}]",
              "profiles[0].pluginConfig[0].args.kind: Invalid value: \"OtherArgs\": must be "
              "NodeAffinityArgs"},
          Row{"profiles: [{schedulerName: a, pluginConfig: [{name: PrioritySort, args: {x: 1}}]}, "
              "{schedulerName: b}]",
              "profiles[1].pluginConfig: Invalid value: args of the queueSort plugin: has to match "
              "for all profiles"},
          Row{"extenders: [{urlPrefix: 'http://a', prioritizeVerb: rank}]",
              "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
          Row{"extenders: [{bindVerb: b}, {bindVerb: b}]",
              "extenders: Invalid value: \"found 2 extenders implementing bind\": only one "
              "extender "
              "can implement bind"},
          Row{"extenders: [{managedResources: [{name: a/b}]}, {managedResources: [{name: a/b}]}]",
              "extenders[1].managedResources[0].name: Invalid value: \"a/b\": duplicate extender "
              "managed resource name"},
          Row{"extenders: [{tlsConfig: {ca: x}}]", "extenders[0].tlsConfig.ca: unknown field"},
      }) {
    EXPECT_THAT(problemsOf(kHead + row.yaml), HasSubstr(row.problem)) << row.yaml;
  }
  std::vector<std::string> problems;
  EXPECT_EQ(readConfiguration("parallelism: [", problems).profiles.size(), 1u);
  EXPECT_EQ(problems.size(), 1u);
  EXPECT_EQ(problemsOf(kHead + "---\nparallelism: 0\n"), "");
  EXPECT_THAT(problemsOf("apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: Config\nx: 1\n"),
              "apiVersion: Unsupported value: \"kubescheduler.config.k8s.io/v1beta1\": supported "
              "values: kubescheduler.config.k8s.io/v1\n"
              "kind: Invalid value: \"Config\": must be KubeSchedulerConfiguration\n"
              "x: unknown field");
}

TEST(Configuration, what_is_zero_or_means_nothing_here_is_as_good_as_not_given) {
  for (const char* yaml : {
           "leaderElection: {leaseDuration: 0s, renewDeadline: 0s, retryPeriod: 0s}",
           "leaderElection: {resourceLock: '', resourceName: '', resourceNamespace: ''}",
           "clientConnection: {qps: 0, burst: 0, contentType: ''}",
           "profiles: []",
           "profiles: [{}]",
           "parallelism: null",
           "profiles: [{pluginConfig: [{name: NodeAffinity}]}]",
           "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {}}]}]",
           "profiles: [{pluginConfig: [{name: Unknown, args: {kind: Other, x: 1}}]}]",
           "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: "
           "[{name: cpu}, {name: memory, weight: 0}]}}]}]",
       }) {
    const auto read = parseConfiguration(kHead + yaml);
    ASSERT_TRUE(read) << yaml << ": " << read.error().message;
    EXPECT_EQ(writeConfiguration(*read), writeConfiguration(defaultConfiguration())) << yaml;
  }
}

TEST(Configuration, v1beta2_and_v1beta3_are_read_as_v1_with_a_warning) {
  const std::string profile =
      "profiles: [{schedulerName: s, plugins: {filter: {enabled: [{name: LoadAwareScheduling}]}}, "
      "pluginConfig: [{name: LoadAwareScheduling, args: {apiVersion: "
      "kubescheduler.config.k8s.io/@, "
      "kind: LoadAwareSchedulingArgs, nodeMetricExpirationSeconds: 300}}]}]\n";
  const auto of = [&](const std::string& version, const std::string& more) {
    std::string text = "apiVersion: kubescheduler.config.k8s.io/" + version +
                       "\nkind: KubeSchedulerConfiguration\n" + profile + more;
    text.replace(text.find('@'), 1, version);
    return parseConfiguration(text);
  };
  const auto plain = of("v1", "");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_THAT(plain->warnings, ElementsAre());
  for (const std::string version : {"v1beta2", "v1beta3"}) {
    const auto read = of(version, "metricsBindAddress: 0.0.0.0:10251\n");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(writeConfiguration(*read), writeConfiguration(*plain));
    EXPECT_THAT(
        read->warnings,
        ElementsAre("apiVersion: kubescheduler.config.k8s.io/" + version +
                        " is read as kubescheduler.config.k8s.io/v1, with the defaults of "
                        "kubescheduler.config.k8s.io/v1; write kubescheduler.config.k8s.io/v1",
                    HasSubstr("metricsBindAddress: is not used"),
                    HasSubstr("profiles[0].pluginConfig[0].args.apiVersion: ")));
  }
  EXPECT_THAT(of("v1", "metricsBindAddress: 0.0.0.0:10251\n").error().message,
              HasSubstr("metricsBindAddress: unknown field"));
}

TEST(Configuration, json_is_as_good_as_yaml) {
  const auto read = parseConfiguration(
      "{\"apiVersion\": \"kubescheduler.config.k8s.io/v1\", \"kind\": "
      "\"KubeSchedulerConfiguration\", "
      "\"profiles\": [{\"schedulerName\": \"mine\", \"percentageOfNodesToScore\": 30}]}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->profiles[0].schedulerName, "mine");
  EXPECT_EQ(read->profiles[0].percentageOfNodesToScore, 30);
}

TEST(Configuration, what_extenders_manage_alone_is_ignored_by_every_profile) {
  const auto read = parseConfiguration(
      kHead +
      "extenders: [{managedResources: [{name: a/x, ignoredByScheduler: true}, {name: a/y}]}]\n"
      "profiles: [{schedulerName: one}, {schedulerName: two, pluginConfig: [{name: "
      "NodeResourcesFit, "
      "args: {ignoredResources: [b/z], ignoredResourceGroups: [c]}}]}]\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(read->profiles[0].pluginConfig[0].args), "{\"ignoredResources\":[\"a/x\"]}");
  EXPECT_EQ(toJson(read->profiles[1].pluginConfig[0].args),
            "{\"ignoredResources\":[\"a/x\"],\"ignoredResourceGroups\":[\"c\"]}");
}

TEST(Configuration, written_and_read_again_it_is_the_same) {
  const auto read = parseConfiguration(
      kHead +
      "percentageOfNodesToScore: 40\nclientConnection: {qps: 7.5}\n"
      "leaderElection: {leaderElect: false, leaseDuration: 1m30s}\n"
      "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: 250ms, tlsConfig: {caData: "
      "eA==}, "
      "managedResources: [{name: a/x, ignoredByScheduler: true}]}]\n"
      "profiles: [{schedulerName: one, plugins: {multiPoint: {disabled: [{name: ImageLocality}], "
      "enabled: "
      "[{name: NodeName}, {name: TaintToleration, weight: 9}]}, score: {disabled: [{name: "
      "NodeAffinity}]}}, pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: "
      "3}}]}, "
      "{schedulerName: two, percentageOfNodesToScore: 5}]\n");
  ASSERT_TRUE(read) << read.error().message;
  const std::string written = writeConfiguration(*read);
  const auto again = parseConfiguration(written);
  ASSERT_TRUE(again) << again.error().message << "\n" << written;
  EXPECT_EQ(writeConfiguration(*again), written);
  EXPECT_THAT(written, HasSubstr("name: InterPodAffinity\n"));
  EXPECT_THAT(written, HasSubstr("hardPodAffinityWeight: 3\n"));
  EXPECT_THAT(written, HasSubstr("ignorePreferredTermsOfExistingPods: false\n"));
  EXPECT_EQ(again->leaderElection.leaseDuration, std::chrono::seconds(90));
  EXPECT_EQ(again->extenders[0].httpTimeout, std::chrono::milliseconds(250));
  EXPECT_EQ(mergePlugins(defaultPlugins(), again->profiles[0].plugins.at("multiPoint")),
            mergePlugins(defaultPlugins(), read->profiles[0].plugins.at("multiPoint")));
}

TEST(Configuration, sets_are_merged_in_order) {
  const std::vector<PluginRef> defaults{{"A", 1}, {"B", 2}, {"C", 0}};
  const auto names = [&](const PluginSet& user) {
    std::vector<std::string> result;
    for (const auto& plugin : mergePlugins(defaults, user))
      result.push_back(plugin.name + std::to_string(plugin.weight));
    return result;
  };
  EXPECT_THAT(names({}), ElementsAre("A1", "B2", "C0"));
  EXPECT_THAT(names({{{"B", 5}}, {}}), ElementsAre("A1", "B5", "C0"));
  EXPECT_THAT(names({{{"A", 3}}, {"A"}}), ElementsAre("B2", "C0", "A3"));
  EXPECT_THAT(names({{{"D", 0}, {"B", 0}}, {"*"}}), ElementsAre("D0", "B0"));
  EXPECT_THAT(names({{{"B", 4}, {"B", 5}}, {}}), ElementsAre("A1", "B5", "C0", "B4"));
}

}  // namespace
}  // namespace koord::scheduler
