#include "descheduler/plugins/cluster_test.h"

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string problemsOf(const std::string& plugins, const std::string& args = "[]") {
  const Cluster cluster(plugins, args);
  return fmt::format("{}", fmt::join(cluster.errors, "\n"));
}

TEST(DeschedulerConfigurationTest, everyProblemIsToldWithItsPath) {
  const std::string problems = problemsOf(
      "balance: {enabled: [{name: LowNodeLoad}, {name: Nope}, {name: PodLifeTime}]}",
      "[{name: LowNodeLoad, args: {lowThresholds: {cpu: 80}, highThresholds: {cpu: 50}, foo: 1}}]");
  EXPECT_THAT(problems, HasSubstr("profiles[0].plugins.balance.enabled[1].name: BalancePlugin "
                                  "\"Nope\" does not exist"));
  EXPECT_THAT(problems, HasSubstr("plugin \"PodLifeTime\" does not extend BalancePlugin plugin"));
  EXPECT_THAT(problems, HasSubstr("profiles[0].pluginConfig[0].args.lowThresholds[cpu]"));
  EXPECT_THAT(problems, HasSubstr("profiles[0].pluginConfig[0].args.foo: unknown field"));
}

TEST(DeschedulerConfigurationTest, argumentsThatContradictEachOtherAreRefused) {
  const auto with = [](const char* plugin, const char* point, const char* args) {
    return problemsOf(fmt::format("{}: {{enabled: [{{name: {}}}]}}", point, plugin),
                      fmt::format("[{{name: {}, args: {}}}]", plugin, args));
  };
  EXPECT_THAT(with("PodLifeTime", "deschedule", "{}"), HasSubstr("at least one of"));
  EXPECT_THAT(with("RemovePodsHavingTooManyRestarts", "deschedule", "{}"),
              HasSubstr("podRestartThreshold: Required value"));
  EXPECT_THAT(with("RemovePodsViolatingNodeTaints", "deschedule",
                   "{excludedTaints: [a], includedTaints: [b]}"),
              HasSubstr("only one of"));
  EXPECT_THAT(with("RemoveFailedPods", "deschedule", "{namespaces: {include: [a], exclude: [b]}}"),
              HasSubstr("args.namespaces: only one of Include/Exclude"));
  EXPECT_THAT(with("LowNodeUtilization", "balance",
                   "{thresholds: {cpu: 60}, targetThresholds: {cpu: 50, memory: 1}}"),
              HasSubstr("thresholds[cpu]: Invalid value: 60"));
  EXPECT_THAT(with("CustomPriority", "balance", "{autoCordon: true}"),
              HasSubstr("autoCordon: has no effect without mode DrainNode"));
  EXPECT_THAT(with("ScaleDownBinPack", "balance", "{strategy: EvictDirectly}"),
              HasSubstr("maxPodsToEvict: Required value"));
  EXPECT_THAT(with("FragmentationAware", "balance", "{resources: [cpu, cpu]}"),
              HasSubstr("resources: Duplicate value"));
}

TEST(DeschedulerConfigurationTest, twoEvictPluginsAreOneTooMany) {
  Registry registry = makeRegistry();
  std::vector<std::string> errors;
  prepare(readConfiguration("apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
                            "profiles: [{plugins: {evict: {enabled: [{name: DefaultEvictor}]}}}]",
                            errors),
          registry, errors);
  EXPECT_THAT(errors, testing::Contains(HasSubstr("only one evict plugin can be enabled")));
}

TEST(DeschedulerConfigurationTest, whatWasWrittenReadsTheSame) {
  std::vector<std::string> errors;
  const auto first = readConfiguration(
      "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\ndeschedulingInterval: "
      "10s\n"
      "maxNoOfPodsToEvictTotal: 3\nhealthzBindAddress: ':8080'\nprofiles: [{plugins: {balance: "
      "{enabled: [{name: LowNodeLoad}]}}}]",
      errors);
  const auto again = readConfiguration(writeConfiguration(first), errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_EQ(configurationDocument(again), configurationDocument(first));
  EXPECT_EQ(again.healthzBindAddress, "0.0.0.0:8080");
}

TEST(CycleTest, limitsPerNodeNamespaceAndInAllHold) {
  Cluster cluster(kTaints, "[]", "maxNoOfPodsToEvictPerNode: 2\nmaxNoOfPodsToEvictTotal: 3");
  cluster.node("a", "", kTainted);
  cluster.node("b", "", kTainted);
  for (const char* name : {"a1", "a2", "a3"}) cluster.pod(name, {.node = "a"});
  for (const char* name : {"b1", "b2"}) cluster.pod(name, {.node = "b"});
  EXPECT_THAT(cluster.cycle(), ElementsAre("a1", "a2", "b1"));
  EXPECT_THAT(cluster.cycle(), UnorderedElementsAre("a3", "b2"));
}

TEST(CycleTest, aDryRunPlansAndWritesNothing) {
  Cluster cluster(kTaints, "[]", "dryRun: true");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), IsEmpty());
  ASSERT_THAT(cluster.descheduler().journal().all(), SizeIs(1));
  const Decision& plan = cluster.descheduler().journal().all().front();
  EXPECT_EQ(plan.pod, "web");
  EXPECT_EQ(plan.node, "a");
  EXPECT_EQ(plan.plugin, "RemovePodsViolatingNodeTaints");
  EXPECT_EQ(plan.outcome, "planned");
}

TEST(CycleTest, aSingleNodeIsNoCluster) {
  Cluster cluster(kTaints);
  cluster.node("a", "", kTainted);
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), IsEmpty());
  EXPECT_THAT(cluster.result.error().message, HasSubstr("the cluster size is 0 or 1"));
}

TEST(CycleTest, twoPluginsEvictAPodOnce) {
  Cluster cluster(
      "deschedule: {enabled: [{name: RemovePodsViolatingNodeTaints}, {name: PodLifeTime}]}",
      "[{name: PodLifeTime, args: {states: [Running]}}]");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("web");
  EXPECT_THAT(cluster.cycle(), ElementsAre("web"));
}

TEST(CycleTest, anEvictionThatTheServerRefusesIsNotCounted) {
  Cluster cluster(kTaints, "[]", "maxNoOfPodsToEvictTotal: 1");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("one");
  cluster.pod("two");
  cluster.api().failure = [](const kube::Request& request) -> std::optional<Error> {
    if (request.subresource == "eviction" && request.name == "one")
      return Error{ErrorCode::TooManyRequests, "a budget", {}};
    return std::nullopt;
  };
  EXPECT_THAT(cluster.cycle(), ElementsAre("one", "two"));
}

TEST(CycleTest, aPodThatItsOwnerProtectsWhileTheCycleRunsStays) {
  Cluster cluster(kTaints, "[]", "", "Mover");
  cluster.node("a", "", kTainted);
  cluster.node("b");
  cluster.pod("one");
  cluster.pod("two");
  cluster.mover.protectedMeanwhile = "two";
  cluster.cycle();
  EXPECT_THAT(cluster.mover.moved, ElementsAre("one"));
  ASSERT_THAT(cluster.descheduler().journal().all(), SizeIs(2));
  EXPECT_EQ(cluster.descheduler().journal().all().back().outcome, "a filter rejects it now");
}

}  // namespace
}  // namespace koord::descheduler
