#include "scheduler/plugins/loadawarescheduling/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/loadawarescheduling/load_world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LoadWorld;
using testing::quantity;
using namespace std::chrono_literals;

const std::string kHotCpu = "Unschedulable: node(s) cpu usage exceed threshold";
const std::string kExpired = "Unschedulable: node(s) nodeMetric expired";

// From here on, each change is logged separately.
std::uint64_t positionNow(LoadWorld& f) {
  const std::uint64_t position = f.world.cluster().changeEnd();
  (void)f.world.cluster().changesSince(position);
  return position;
}
std::vector<NodeId> changedSince(LoadWorld& f, std::uint64_t position) {
  const auto nodes = f.world.cluster().changesSince(position).value();
  return {nodes.begin(), nodes.end()};
}

api::StringMap limits(std::string text) {
  return {{std::string(kAnnotationUsageThresholds), std::move(text)}};
}

TEST(LoadReport, names_usage_below_zero) {
  api::NodeMetric metric;
  auto& info = metric.status.nodeMetric.emplace();
  info.nodeUsage.resources = {{"cpu", quantity("-1")}, {"memory", quantity("1Gi")}};
  api::PodMetricInfo pod;
  pod.podUsage.resources = {{"cpu", quantity("-2")}};
  metric.status.podsMetric.push_back(pod);
  EXPECT_EQ(digest(metric).problems,
            "status.nodeMetric.nodeUsage.resources[cpu]: -1 is negative; "
            "status.podsMetric[0].podUsage.resources[cpu]: -2 is negative");
  for (int i = 0; i < 1000; ++i) metric.status.podsMetric.push_back(pod);
  EXPECT_LT(digest(metric).problems.size(), 1000U) << "one page says enough";
}

TEST(LoadReport, keeps_what_pods_use_and_of_one_that_is_there_twice_the_last) {
  api::NodeMetric metric;
  metric.metadata.name = "a";
  const auto add = [&](const char* name, const char* cpu, const char* priority) {
    auto& pod = metric.status.podsMetric.emplace_back();
    pod.namespace_ = "default";
    pod.name = name;
    pod.priority = priority;
    if (*cpu) pod.podUsage.resources = {{"cpu", quantity(cpu)}, {"example.com/x", quantity("3")}};
  };
  add("p", "100m", "koord-prod");
  add("q", "2", "koord-batch");
  add("p", "300m", "koord-batch");
  add("silent", "", "koord-prod");
  const LoadReport report = digest(metric);
  const auto named = [](const char* name) {
    api::ObjectMeta meta;
    meta.namespace_ = "default";
    meta.name = name;
    return meta;
  };
  ASSERT_TRUE(report.of(named("p")));
  EXPECT_EQ(report.of(named("p"))->milliCpu, 300);
  EXPECT_FALSE(report.of(named("p"))->prod);
  EXPECT_EQ(report.of(named("q"))->others.at("example.com/x"), quantity("3"));
  EXPECT_FALSE(report.of(named("silent")));
  EXPECT_FALSE(report.of(named("r")));
}

TEST(LoadAware, keeps_pods_off_nodes_that_would_be_too_hot) {
  LoadWorld f;
  f.node("a");
  f.report("a", "6");  // 6850 of 10000 with the pod
  EXPECT_EQ(f.ask("a"), kHotCpu);
  f.report("a", "5600m");  // 64.5 is 65 when rounded, which does not exceed the limit
  EXPECT_EQ(f.ask("a"), "");
  f.report("a", "1", "19Gi");
  EXPECT_EQ(f.ask("a"), "Unschedulable: node(s) memory usage exceed threshold");
}

TEST(LoadAware, scores_by_what_is_left) {
  LoadAwareSchedulingArgs args;
  LoadWorld f(args);
  f.node("a");
  f.report("a", "3150m", "15661Mi");  // 4000m and 16378Mi with the pod
  EXPECT_EQ(f.score("a"), (60 + 20) / 2);
  args.dominantResourceWeight = 2;
  LoadWorld dominant(args);
  dominant.node("a");
  dominant.report("a", "3150m", "15661Mi");
  EXPECT_EQ(dominant.score("a"), (60 + 20 + 2 * 20) / 4);
}

TEST(LoadAware, judges_by_what_a_node_has_by_now) {
  LoadWorld f;
  f.node("a");
  f.report("a", "6");
  EXPECT_EQ(f.ask("a"), kHotCpu);  // 6000 + 850 of 10000
  const std::int64_t before = f.score("a");
  f.world.node(aNode("a").allocatable("cpu", "20").allocatable("memory", "20Gi"));
  EXPECT_EQ(f.ask("a"), "");
  EXPECT_GT(f.score("a"), before);
  f.world.node(aNode("a").allocatable("cpu", "0").allocatable("memory", "20Gi"));
  EXPECT_EQ(f.ask("a", "100"), "") << "what it does not have is not limited";
  EXPECT_EQ(f.score("a"), 48) << "and is worth nothing: 0 and 96 of 100";
  f.world.node(aNode("a").allocatable("cpu", "2").allocatable("memory", "20Gi"));
  EXPECT_EQ(f.ask("a"), kHotCpu);
}

TEST(LoadAware, counts_pods_that_came_since_the_report_until_they_are_measured) {
  LoadWorld f;
  f.node("a");
  f.bound("young", "a", "2");  // is estimated at 1700m
  f.pass(10s);
  f.report("a", "4", "0", {{"young", "500m"}});  // 1200m more, as it was added within the interval
  EXPECT_EQ(f.ask("a", "1"), "");                // 6050
  EXPECT_EQ(f.ask("a", "2"), kHotCpu);           // 6900
  f.pass(60s);
  f.report("a", "4", "0", {{"young", "500m"}});
  EXPECT_EQ(f.ask("a", "2"), "");  // 5700
}

TEST(LoadAware, counts_what_it_has_placed_and_takes_back_what_was_not_bound) {
  LoadWorld f;
  f.node("a");
  f.report("a", "2");
  const PodPtr pod = f.world.pod(LoadWorld::pod("p", "4"));
  ASSERT_TRUE(f.world.cluster().assume(pod, *f.world.cluster().findNode("a")));
  EXPECT_EQ(f.ask("a", "4"), "");
  CycleState state;
  EXPECT_TRUE(f.plugin->reserve(state, pod, 0).ok());
  EXPECT_EQ(f.ask("a", "4"), kHotCpu);
  {
    Cluster::Transaction whatIf(f.world.cluster());
    ASSERT_TRUE(f.world.cluster().forget("uid-default-p"));
    EXPECT_EQ(f.ask("a", "4"), "");
  }
  EXPECT_EQ(f.ask("a", "4"), kHotCpu);
  ASSERT_TRUE(f.world.cluster().forget("uid-default-p"));
  EXPECT_EQ(f.ask("a", "4"), "");
  EXPECT_EQ(f.world.cluster().verifyNode(0), "");
}

// The plugin finds out without parsing the pod again, unless its time of scheduling has changed.
TEST(LoadAware, keeps_what_a_pod_was_given_when_it_is_seen_again_in_the_same_shape) {
  for (const bool forces : {false, true}) {
    LoadAwareSchedulingArgs args;
    if (forces) args.estimatedSecondsAfterPodScheduled = 600;
    LoadWorld f(args);
    f.node("a");
    Cluster& cluster = f.world.cluster();
    const auto given = [&] {
      const GrantPtr& grant = cluster.findPod("uid-default-p")->grants.of(0);
      EXPECT_TRUE(grant);
      return grant;
    };
    f.world.pod(LoadWorld::pod("other", "4"));  // the second pod makes the shape
    const PodPtr pod = f.world.pod(LoadWorld::pod("p", "4"));
    ASSERT_NE(pod->shape, 0U);
    ASSERT_TRUE(cluster.assume(pod, *cluster.findNode("a")));
    CycleState state;
    ASSERT_TRUE(f.plugin->reserve(state, pod, 0).ok());
    const GrantPtr first = given();
    f.pass(10s);
    f.world.bound(LoadWorld::pod("p", "4").nodeName("a"));
    EXPECT_EQ(given(), first);
    const WallTime placed = f.world.loop().wallNow();
    f.bound("p", "a", "4", placed);
    EXPECT_FALSE(given()->equals(*first)) << "it was placed later than was thought";
    const GrantPtr second = given();
    f.pass(10s);
    f.bound("p", "a", "4", placed);
    EXPECT_EQ(given(), second);
    EXPECT_EQ(cluster.verifyNode(0), "");
  }
}

TEST(LoadAware, reads_pods_and_reports_in_any_order) {
  LoadWorld before, after;
  for (LoadWorld* f : {&before, &after}) {
    if (f == &before) f->report("a", "2");
    if (f == &after) f->bound("p", "a", "4");
    f->node("a");
    if (f == &before) f->bound("p", "a", "4");
    if (f == &after) f->report("a", "2");
    EXPECT_EQ(f->ask("a", "1"), "");
    EXPECT_EQ(f->ask("a", "3"), kHotCpu);  // 2000 + 3400 + 2550
    EXPECT_EQ(f->world.cluster().verifyNode(0), "");
  }
}

TEST(LoadAware, forgets_a_node_that_was_removed_and_knows_it_when_it_comes_back) {
  LoadWorld f;
  f.node("a");
  f.report("a", "9");
  EXPECT_EQ(f.ask("a"), kHotCpu);
  f.world.cluster().removeNode("a");
  f.node("b");  // gets the node id of "a"
  EXPECT_EQ(f.ask("b"), "");
  f.node("a");
  EXPECT_EQ(f.ask("a"), kHotCpu);
  f.world.stores().of<LoadReport>().erase({"", "a"});
  EXPECT_EQ(f.ask("a"), "");
}

TEST(LoadAware, says_when_a_report_is_too_old_without_being_asked_anew) {
  LoadWorld f;
  const NodeId a = f.node("a");
  f.report("a", "1");
  EXPECT_EQ(f.ask("a"), "");
  EXPECT_GT(f.score("a"), 0);
  const auto position = positionNow(f);
  f.pass(179s);
  EXPECT_EQ(f.world.cluster().changeEnd(), position);
  f.pass(1s);
  EXPECT_EQ(changedSince(f, position), std::vector{a});
  EXPECT_EQ(f.ask("a"), kExpired);
  EXPECT_EQ(f.score("a"), 0);
  f.report("a", "1");
  EXPECT_EQ(f.ask("a"), "");
}

TEST(LoadAware, may_take_old_reports_as_they_are_or_ignore_them) {
  LoadAwareSchedulingArgs args;
  args.filterExpiredNodeMetrics = false;
  LoadWorld trusting(args);
  args.filterExpiredNodeMetrics = true;
  args.enableScheduleWhenNodeMetricsExpired = true;
  LoadWorld willSkipScore(args);
  for (LoadWorld* f : {&trusting, &willSkipScore}) {
    f->node("a");
    f->report("a", "9");
    f->pass(1h);
  }
  EXPECT_EQ(trusting.ask("a"), kHotCpu);
  EXPECT_EQ(willSkipScore.ask("a"), "");
}

TEST(LoadAware, touches_a_node_only_when_its_answer_changes) {
  LoadWorld f;
  f.node("a");
  f.node("b");
  f.report("a", "1");
  const auto position = positionNow(f);
  f.pass(60s);
  f.report("a", "1");
  EXPECT_EQ(f.world.cluster().changeEnd(), position);
  f.report("a", "2");
  EXPECT_EQ(changedSince(f, position), std::vector<NodeId>{0});
}

// --- Limits.

TEST(LoadAware, heeds_limits_of_the_node_before_its_own) {
  LoadWorld f;
  f.node("a", limits(R"({"usageThresholds": {"cpu": 80}})"));
  f.node("b", limits(R"({"usageThresholds": {"memory": 50}})"));  // replaces all: no cpu limit
  for (const char* node : {"a", "b"}) f.report(node, "7");
  EXPECT_EQ(f.ask("a"), "");
  EXPECT_EQ(f.ask("b"), "");
  f.report("a", "8");
  EXPECT_EQ(f.ask("a"), kHotCpu);
  f.node("a");  // without its annotation
  f.report("a", "7");
  EXPECT_EQ(f.ask("a"), kHotCpu);
}

TEST(LoadAware, heeds_limits_of_a_node_where_nothing_else_has_any) {
  LoadAwareSchedulingArgs args;
  args.usageThresholds = {};
  LoadWorld f(args);
  f.node("a");
  f.node("b", limits(R"({"usageThresholds": {"cpu": 60}})"));
  EXPECT_EQ(f.ask("b"), "");
  for (const char* node : {"a", "b"}) f.report(node, "9");
  EXPECT_EQ(f.ask("a"), "");
  EXPECT_EQ(f.ask("b"), kHotCpu);
  f.node("b");  // without its annotation
  EXPECT_EQ(f.ask("b"), "");
}

TEST(LoadAware, ignores_annotations_that_are_malformed) {
  const LoadResources resources{LoadAwareSchedulingArgs()};
  for (const auto& [text, error] :
       {std::pair{"{", "JSON"}, std::pair{"[]", "expected an object"},
        std::pair{R"({"usageThresholds": {"cpu": "80"}})", "usageThresholds.cpu: "},
        std::pair{R"({"usageThresholds": {"cpu": -1}})", "usageThresholds.cpu: "},
        std::pair{R"({"prodUsageThresholds": 5})", "prodUsageThresholds: "},
        std::pair{R"({"aggregatedUsage": {"usageThresholds": {"cpu": 5}, "usageAggregatedDuration":
                  "-5m", "usageAggregationType": "p95"}})",
                  "aggregatedUsage.usageAggregatedDuration: must not be negative"}}) {
    const auto read = parseUsageLimits(resources, text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(error));
    LoadWorld f;
    f.node("a", limits(text));
    f.report("a", "6");
    EXPECT_EQ(f.ask("a"), kHotCpu);
  }
  EXPECT_FALSE(parseRawAllocatable(resources, R"({"cpu": "NaN"})"));
  EXPECT_FALSE(parseRawAllocatable(resources, R"({"cpu": []})"));
}

TEST(LoadAware, compares_with_what_the_node_had_before_it_was_amplified) {
  LoadWorld f;
  f.node("a", {{std::string(kAnnotationRawAllocatable), R"({"cpu": "5"})"}});
  f.report("a", "3");
  EXPECT_EQ(f.ask("a"), kHotCpu);  // 77 of 5
}

TEST(LoadAware, judges_prod_pods_by_prod_usage) {
  LoadAwareSchedulingArgs args;
  args.prodUsageThresholds = {{"cpu", 40}};
  LoadWorld f(args);
  f.node("a");
  const auto long_ago = f.world.loop().wallNow() - 1h;
  f.bound("p", "a", "4", long_ago);
  f.report("a", "9", "0", {{"p", "3"}});
  EXPECT_EQ(f.ask("a", "1"), "");  // 3850
  EXPECT_EQ(f.ask("a", "2"), kHotCpu);
  auto batch = aPod("batch");
  batch.priority(5500);
  EXPECT_EQ(f.world.filter(f.world.pod(batch))["a"], kHotCpu);  // 9250 by all limits
  f.report("a", "9", "0", {{"p", "3", false}});  // which is not a prod pod according to the node
  EXPECT_EQ(f.ask("a", "1"), kHotCpu);           // then counts with its estimate, 3400
  EXPECT_EQ(f.ask("a", "600m"), "");
}

TEST(LoadAware, takes_the_next_longer_time_that_is_aggregated) {
  LoadAwareSchedulingArgs args;
  args.aggregated = {{{"cpu", 60}}, "p95", 5min, "", {}};
  LoadWorld f(args);
  f.node("a");
  auto metric = f.metric("a", "1");
  const auto over = [&](Duration span, const char* cpu) {
    auto& added = metric.status.nodeMetric->aggregatedNodeUsages.emplace_back();
    added.duration = span;
    added.usage["p95"].resources = {{"cpu", quantity(cpu)}};
  };
  over(1min, "1");
  over(30min, "2");
  over(10min, "9");
  f.report(metric);
  EXPECT_EQ(f.ask("a"), "Unschedulable: node(s) cpu aggregated usage exceed threshold");
  over(5min, "3");
  f.report(metric);
  EXPECT_EQ(f.ask("a"), "");
  // If no duration is as long, only estimates are left.
  metric.status.nodeMetric->aggregatedNodeUsages.resize(1);
  f.report(metric);
  EXPECT_EQ(f.ask("a", "8"), "Unschedulable: node(s) cpu aggregated usage exceed threshold");
  EXPECT_EQ(f.ask("a", "7"), "");
}

TEST(LoadAware, spares_daemon_sets_and_nodes_without_koordlet) {
  LoadWorld f;
  f.node("a");
  f.node("unmeasured");
  f.report("a", "9");
  auto daemon = aPod("d");
  daemon.object().metadata.ownerReferences.push_back({"apps/v1", "DaemonSet", "d", "u"});
  EXPECT_EQ(f.world.filter(f.world.pod(daemon))["a"], "");
  EXPECT_EQ(f.ask("unmeasured"), "");
  EXPECT_EQ(f.score("unmeasured"), 0);
  api::NodeMetric empty;
  empty.metadata.name = "unmeasured";
  empty.status.updateTime = f.world.loop().wallNow();
  f.report(empty);
  EXPECT_EQ(f.ask("unmeasured"), "");
}

// --- Unusual reports.

TEST(LoadAware, does_not_trust_clocks_that_are_ahead) {
  LoadWorld f;
  f.node("a");
  auto metric = f.metric("a", "1");
  metric.status.updateTime = f.world.loop().wallNow() + 24h * 365 * 100;
  f.report(metric);
  EXPECT_EQ(f.ask("a"), "");
  f.pass(180s);
  EXPECT_EQ(f.ask("a"), kExpired);
}

TEST(LoadAware, survives_amounts_that_cannot_be) {
  LoadWorld f;
  f.node("a");
  f.node("b");
  auto metric = f.metric("a", "-5", "-1Ei", {{"p", "-3"}, {"q", "9E"}});
  metric.spec.metricCollectPolicy.emplace().reportIntervalSeconds = INT64_MIN;
  f.report(metric);
  f.report("b", "1");
  for (int i = 0; i < 200; ++i) f.bound("huge" + std::to_string(i), "a", "9E");
  EXPECT_EQ(f.ask("a"), kHotCpu);
  EXPECT_EQ(f.ask("b"), "");
  EXPECT_EQ(f.score("a"), 0);
  EXPECT_EQ(f.world.cluster().verifyNode(0), "");
  metric.status.updateTime.reset();
  metric.status.nodeMetric->nodeUsage.resources = {{"cpu", quantity("9E")}};
  f.report(metric);
  EXPECT_EQ(f.ask("a"), kExpired);
}

// --- Events and endpoints.

TEST(LoadAware, wakes_pods_only_for_nodes_that_would_take_them) {
  LoadWorld f;
  f.node("a");
  f.report("a", "9");
  const PodPtr pod = f.world.pod(LoadWorld::pod("p", "1"));
  const auto hint = [&](const api::NodeMetric& metric) {
    const auto after = std::make_shared<const LoadReport>(digest(metric));
    f.report(metric);
    const ClusterEvent event =
        eventOf(KindOf<LoadReport>::value, std::shared_ptr<const LoadReport>(), after);
    for (const auto& registration : f.plugin->eventsToRegister())
      if (matches(registration, event)) return registration.hint(*pod, event);
    return Hint::Skip;
  };
  EXPECT_EQ(hint(f.metric("a", "8")), Hint::Skip);
  EXPECT_EQ(hint(f.metric("a", "2")), Hint::Queue);
  EXPECT_EQ(hint(f.metric("unknown", "2")), Hint::Queue);
}

TEST(LoadAware, says_what_would_help) {
  LoadWorld f;
  const NodeId a = f.node("a");
  f.report("a", "8");
  EXPECT_EQ(f.plugin->remedyFor(*f.world.pod(LoadWorld::pod("p", "1")), a),
            "lower the cpu usage, which would be 89 %; the limit is 65 %");
  f.pass(1h);
  EXPECT_THAT(f.plugin->remedyFor(*f.world.pod(LoadWorld::pod("p", "1")), a),
              HasSubstr("koordlet"));
}

TEST(LoadAware, shows_what_it_knows_of_a_node) {
  LoadWorld f;
  f.node("a");
  f.bound("young", "a", "2");
  f.bound("old", "a", "1", f.world.loop().wallNow() - 1h);
  f.report("a", "4", "0", {{"young", "500m"}, {"old", "1"}});
  const auto route = f.plugin->routes().front();
  EXPECT_EQ(route.shown, "node/:nodeName");
  const json::value shown = route.answer("a").value();
  EXPECT_EQ(textAt(shown, "prodUsage", "cpu"), "1500m");
  EXPECT_EQ(textAt(shown, "nodeDelta", "cpu"), "1200m");
  EXPECT_EQ(textAt(shown, "nodeEstimated", "cpu"), "2550m");
  EXPECT_EQ(toJson(*at(shown, "nodeDeltaPods")), R"(["default/young"])");
  EXPECT_EQ(toJson(*at(shown, "nodeEstimatedPods")), R"(["default/old","default/young"])");
  const auto& pods = at(shown, "pods")->get_array();
  ASSERT_EQ(pods.size(), 2u);
  EXPECT_EQ(textAt(pods[0], "pod", "metadata", "name"), "old");
  EXPECT_THAT(route.answer("nobody").value().get_object(), IsEmpty());
}

TEST(LoadAware, shares_tables_between_profiles_that_estimate_alike) {
  testing::World world;
  LoadAwareSchedulingArgs args;
  LoadTable& first = LoadTable::of(world, args);
  args.nodeMetricExpirationSeconds = 5;
  EXPECT_EQ(&LoadTable::of(world, args), &first);
  args.estimatedScalingFactors["cpu"] = 50;
  EXPECT_NE(&LoadTable::of(world, args), &first);
  EXPECT_EQ(LoadTable::all(world).size(), 2u);
}

}  // namespace
}  // namespace koord::scheduler
