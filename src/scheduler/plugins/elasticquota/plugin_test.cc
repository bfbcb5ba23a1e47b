#include "scheduler/plugins/elasticquota/quota_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aQuota;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PodBuilder;
using testing::QuotaFixture;
using namespace std::chrono_literals;

TEST(ElasticQuota, pods_use_no_more_than_their_quota_has) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "2"));
  f.run(100ms);
  for (const char* name : {"a", "b", "c"}) f.create(f.of(name, "q", "1"));
  f.run();
  EXPECT_EQ(f.placed(""), 2);
  EXPECT_EQ(f.amount("q", "used"), "2");
  EXPECT_EQ(f.amount("q", "request"), "3");
  EXPECT_THAT(
      f.conditions,
      Contains(HasSubstr("Insufficient quotas, quotaName: q, runtime: cpu:2, used: cpu:2, pod's "
                         "request: cpu:1, exceedDimensions: [cpu]")));
  f.expectSound();
}

TEST(ElasticQuota, wakes_a_pod_when_one_of_its_quota_goes) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "2"));
  f.run(100ms);
  f.create(f.of("a", "q", "2"));
  f.run(1s);
  f.create(f.of("b", "q", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("b"), "");
  f.remove("a");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("b"), "n1");
  f.expectSound();
}

TEST(ElasticQuota, pods_of_a_full_quota_are_not_tried_while_nothing_changes) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "1"));
  f.set(aQuota("other").max("cpu", "3"));
  f.run(100ms);
  f.create(f.of("a", "q", "1"));
  f.run(1s);
  f.create(f.of("b", "q", "1"));
  f.run(10s);
  const auto tried = [&] { return f.scheduler->queue().find("uid-default-b")->attempts; };
  const int before = tried();
  f.create(f.of("c", "other", "1"));
  f.run(5s);
  f.remove("c");
  f.run(20s);
  EXPECT_EQ(tried(), before);
}

TEST(ElasticQuota, wakes_a_pod_when_a_neighbour_asks_for_less) {
  QuotaFixture f;
  f.node(aNode("n1"));  // 4 cpu
  for (const char* name : {"a", "b"}) f.set(aQuota(name).max("cpu", "4"));
  f.run(100ms);
  f.create(f.of("greedy", "b", "9"));  // fits nowhere, but its quota still requests 4
  f.run(1s);
  f.create(f.of("p", "a", "3"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "") << "each quota is entitled to 2";
  f.remove("greedy");
  f.run(15s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

TEST(ElasticQuota, wakes_a_pod_when_the_cluster_grows) {
  QuotaFixture f;
  f.node(aNode("n1"));
  for (const char* name : {"a", "b"}) f.set(aQuota(name).max("cpu", "8"));
  f.run(100ms);
  f.create(f.of("first", "a", "2"));
  f.run(1s);
  f.create(f.of("other", "b", "2"));
  f.create(f.of("second", "a", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("second"), "");
  f.node(aNode("n2"));
  f.run(15s);
  EXPECT_EQ(f.nodeOf("second"), "n2");
}

TEST(ElasticQuota, a_quota_that_may_have_more_wakes_its_pods) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "1"));
  f.run(100ms);
  f.create(f.of("p", "q", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  f.set(aQuota("q").max("cpu", "2"));
  f.run(15s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

TEST(ElasticQuota, what_max_does_not_name_is_not_counted) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "2"));
  f.run(100ms);
  f.create(f.of("a", "q", "1").request("memory", "6Gi"));
  f.run();
  EXPECT_EQ(f.nodeOf("a"), "n1");
  EXPECT_EQ(f.amount("q", "used", "memory"), "");
}

TEST(ElasticQuota, names_that_somebody_makes_up_do_not_take_limits_away_from_others) {
  QuotaFixture f;
  auto node = aNode("n1");
  node.object().status.allocatable["vendor.io/card"] = Quantity::of(8);
  f.node(node);
  testing::QuotaBuilder greedy = aQuota("aaa");
  for (int n = 0; n < 300; ++n) greedy.max("example.com/r" + std::to_string(n), "1");
  f.set(greedy);
  f.set(aQuota("q").max("vendor.io/card", "1"));
  f.run(100ms);
  for (const char* name : {"a", "b", "c"})
    f.create(f.of(name, "q", "1").request("vendor.io/card", "1"));
  f.run();
  EXPECT_EQ(f.placed(""), 1);
  EXPECT_EQ(f.amount("q", "used", "vendor.io/card"), "1");
  EXPECT_THAT(f.events, Not(Contains(HasSubstr("InvalidElasticQuota"))));
  f.expectSound();
}

TEST(ElasticQuota, a_built_in_quota_lets_go_of_namespaces_when_its_object_goes) {
  QuotaFixture f;
  f.node(aNode("n1"));
  const std::string system(model::kSystemQuota);
  testing::QuotaBuilder object = aQuota(system);
  object.object().metadata.annotations[std::string(model::kAnnotationQuotaNamespaces)] =
      R"(["default"])";
  f.set(object);
  testing::QuotaBuilder team = aQuota("team").max("cpu", "1");
  team.object().metadata.annotations[std::string(model::kAnnotationQuotaNamespaces)] =
      R"(["default"])";
  f.set(team);
  f.run(100ms);
  f.create(f.of("a", "", "1"));
  f.run(1s);
  EXPECT_EQ(f.amount(system, "used"), "1");
  f.drop(system);
  f.run(1s);
  EXPECT_EQ(f.amount("team", "used"), "1");
  f.create(f.of("b", "", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("b"), "") << "the quota of its namespace is full";
  f.expectSound();
}

TEST(ElasticQuota, resources_may_have_the_names_that_they_once_had) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("kubernetes.io/batch-cpu", "9000"));
  f.set(aQuota("q").max("koordinator.sh/batch-cpu", "1500"));
  f.run(100ms);
  f.create(aPod("a")
               .label(std::string(model::kLabelQuotaName), "q")
               .request("kubernetes.io/batch-cpu", "1000"));
  f.create(aPod("b")
               .label(std::string(model::kLabelQuotaName), "q")
               .request("kubernetes.io/batch-cpu", "1000"));
  f.run();
  EXPECT_NE(f.nodeOf("a").empty(), f.nodeOf("b").empty()) << "there is room for one of them";
  EXPECT_EQ(textAt(f.ask("quotas/q"), "max", "kubernetes.io/batch-cpu"), "1500");
}

TEST(ElasticQuota, pods_that_are_not_preemptible_have_to_fit_in_min) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "4").min("cpu", "2"));
  f.run(100ms);
  const std::string key(model::kLabelPreemptible);
  f.create(f.of("a", "q", "1500m").label(key, "false"));
  f.run(1s);
  f.create(f.of("b", "q", "1").label(key, "false"));
  f.create(f.of("c", "q", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("b"), "");
  EXPECT_EQ(f.nodeOf("c"), "n1");
  EXPECT_THAT(f.lastCondition("b"),
              HasSubstr("Insufficient non-preemptible quotas, quotaName: q, min: cpu:2, "
                        "nonPreemptibleUsed: cpu:1500m, pod's request: cpu:1, exceedDimensions: "
                        "[cpu]"));
  EXPECT_EQ(f.amount("q", "nonPreemptibleUsed"), "1500m");
}

TEST(ElasticQuota, ancestors_count_where_that_is_asked_for) {
  for (const bool checked : {false, true}) {
    QuotaFixture f(checked ? "{enableCheckParentQuota: true}" : "{enableCheckParentQuota: false}");
    f.node(aNode("n1").allocatable("cpu", "32"));
    f.set(aQuota("p").max("cpu", "3").label(model::kLabelQuotaIsParent, "true"));
    f.set(aQuota("c").max("cpu", "3").below("p"));
    f.set(aQuota("d").max("cpu", "3").min("cpu", "3").below("p"));
    f.run(100ms);
    f.create(f.of("first", "c", "2"));
    f.run(1s);
    f.create(f.of("second", "d", "2"));
    f.run();
    EXPECT_EQ(f.nodeOf("second"), checked ? "" : "n1");
    if (!checked) continue;
    EXPECT_THAT(f.lastCondition("second"),
                HasSubstr("Insufficient quotas, quotaNameTopo: [p d], runtime: cpu:3, used: cpu:2, "
                          "pod's request: cpu:2, exceedDimensions: [cpu]"));
    f.remove("first");
    f.run(15s);
    EXPECT_EQ(f.nodeOf("second"), "n1");
  }
}

TEST(ElasticQuota, without_runtime_max_is_the_limit) {
  QuotaFixture f("{enableRuntimeQuota: false}");
  f.node(aNode("n1"));
  for (const char* name : {"a", "b"}) f.set(aQuota(name).max("cpu", "3"));
  f.run(100ms);
  f.create(f.of("other", "b", "9"));
  f.run(1s);
  f.create(f.of("p", "a", "3"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

// --- The quota of a pod.

TEST(ElasticQuota, a_pod_belongs_to_the_quota_that_it_or_its_namespace_says) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "64"));
  f.set(aQuota("labelled").max("cpu", "9"));
  f.set(aQuota("team", "team").max("cpu", "9"));
  f.set(
      aQuota("bound").max("cpu", "9").annotate(model::kAnnotationQuotaNamespaces, R"(["x","y"])"));
  f.run(100ms);
  f.create(f.of("a", "labelled", "1"));
  f.create(PodBuilder("b", "team").request("cpu", "2"));
  f.create(PodBuilder("c", "y").request("cpu", "3"));
  f.create(PodBuilder("d", "elsewhere").request("cpu", "4"));
  f.create(f.of("e", "nobody", "5"));
  f.run();
  EXPECT_EQ(f.amount("labelled", "used"), "1");
  EXPECT_EQ(f.amount("team", "used"), "2");
  EXPECT_EQ(f.amount("bound", "used"), "3");
  EXPECT_EQ(f.amount("koordinator-default-quota", "used"), "9");
  f.expectSound();
}

TEST(ElasticQuota, pods_move_at_once_when_their_quota_comes_and_when_it_goes) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.run(100ms);
  f.create(f.of("a", "late", "1"));
  f.create(f.of("waiting", "late", "9"));
  f.run();
  EXPECT_EQ(f.amount("koordinator-default-quota", "used"), "1");
  f.set(aQuota("late").max("cpu", "2"));
  f.run(10ms);
  EXPECT_EQ(f.amount("late", "used"), "1");
  EXPECT_EQ(f.amount("late", "request"), "10");
  EXPECT_EQ(f.amount("koordinator-default-quota", "used"), "0");
  f.expectSound();
  f.drop("late");
  f.run(2s);
  EXPECT_EQ(f.amount("koordinator-default-quota", "used"), "1");
  EXPECT_THAT(f.events, Contains(HasSubstr(
                            "QuotaDeletedInUse: metadata.name: quota late was deleted while pods "
                            "belong to it; they belong to koordinator-default-quota now")));
  f.expectSound();
}

TEST(ElasticQuota, without_default_quota_pods_that_name_none_are_not_limited) {
  QuotaFixture f("{}", {"DisableDefaultQuota"});
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "1"));
  f.run(100ms);
  f.create(f.of("a", "", "1"));
  f.create(f.of("b", "unknown", "1"));
  f.create(f.of("c", "q", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("a"), "n1");
  EXPECT_EQ(f.nodeOf("b"), "n1");
  EXPECT_EQ(f.nodeOf("c"), "");
  EXPECT_EQ(f.amount("koordinator-default-quota", "used"), "0");
  f.expectSound();
}

TEST(ElasticQuota, the_default_quota_is_held_to_its_max_and_takes_from_the_total) {
  QuotaFixture f("{defaultQuotaGroupMax: {cpu: '1', memory: 1Gi}}");
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "4"));
  f.run(100ms);
  f.create(aPod("a").request("cpu", "1"));
  f.run(1s);
  f.create(aPod("b").request("cpu", "1"));
  f.create(f.of("c", "q", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("a"), "n1");
  EXPECT_EQ(f.nodeOf("b"), "");
  EXPECT_EQ(f.amount("q", "runtime"), "3") << "and what waits in the default quota takes nothing";
}

TEST(ElasticQuota, the_default_quota_limits_nothing_unless_somebody_says_so) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("memory", "9223372036854775807"));
  f.run(100ms);
  f.create(aPod("a").request("memory", "4Ei"));
  f.create(aPod("b").request("memory", "3Ei"));
  f.create(aPod("c").request("cpu", "9"));
  f.run();
  EXPECT_EQ(f.placed(""), 2);
  EXPECT_THAT(f.lastCondition("c"), Not(HasSubstr("No victims found on node")))
      << "it is not about quotas";
}

// --- Problems.

TEST(ElasticQuota, mistakes_in_a_quota_are_told_and_stop_nobody) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("min").max("cpu", "1").min("cpu", "3"));
  f.set(aQuota("negative").max("cpu", "-1"));
  f.set(aQuota("weight").max("cpu", "1").annotate(model::kAnnotationSharedWeight, "{cpu"));
  f.set(aQuota("names").max("cpu", "1").annotate(model::kAnnotationQuotaNamespaces, "team"));
  f.set(aQuota("orphan").max("cpu", "1").below("nobody"));
  f.set(aQuota("x").max("cpu", "1").below("y"));
  f.set(aQuota("y").max("cpu", "1").below("x"));
  f.set(aQuota("self").max("cpu", "1").below("self"));
  f.set(aQuota("fine").max("cpu", "1"));
  f.set(aQuota("unnamed").max("cpu", "1").min("memory", "1Gi"));
  f.set(aQuota("below-fine").max("cpu", "1").below("fine"));
  f.set(aQuota("one").max("cpu", "1").annotate(model::kAnnotationQuotaNamespaces, R"(["ns"])"));
  f.set(aQuota("two").max("cpu", "1").annotate(model::kAnnotationQuotaNamespaces, R"(["ns"])"));
  f.run(3s);
  f.create(f.of("a", "fine", "500m"));
  f.create(f.of("b", "orphan", "500m"));
  f.create(f.of("c", "x", "500m"));
  f.create(f.of("d", "negative", "500m"));
  f.run();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(f.nodeOf(name), "n1") << name;
  EXPECT_EQ(f.nodeOf("d"), "");
  for (const char* told :
       {"spec.min[cpu]: 3 is more than spec.max[cpu], 1", "spec.max[cpu]: -1 is negative",
        "metadata.annotations[quota.scheduling.koordinator.sh/shared-weight]: ",
        "metadata.annotations[quota.scheduling.koordinator.sh/namespaces]: expected a list",
        "metadata.labels[quota.scheduling.koordinator.sh/parent]: parent quota nobody does not "
        "exist",
        "metadata.labels[quota.scheduling.koordinator.sh/parent]: quota y is this quota or one of "
        "its descendants",
        "metadata.labels[quota.scheduling.koordinator.sh/parent]: quota fine lacks the parent "
        "label",
        "metadata.annotations[quota.scheduling.koordinator.sh/namespaces]: pods of namespace ns "
        "belong to quota one",
        "spec.min[memory]: spec.max does not name memory",
        "metadata.labels[quota.scheduling.koordinator.sh/parent]: quota self is this quota or one "
        "of its descendants"})
    EXPECT_THAT(f.events, Contains(HasSubstr(told)));
  f.expectSound();
}

TEST(ElasticQuota, of_two_quotas_of_a_name_the_older_counts) {
  QuotaFixture f;
  f.node(aNode("n1"));
  auto young = aQuota("q", "a").max("cpu", "3");
  young.object().metadata.creationTimestamp = WallTime(200s);
  auto old = aQuota("q", "b").max("cpu", "1");
  old.object().metadata.creationTimestamp = WallTime(100s);
  f.set(young);
  f.set(old);
  f.run(3s);
  EXPECT_EQ(f.amount("q", "max"), "1");
  EXPECT_THAT(f.events,
              Contains(HasSubstr(
                  "metadata.name: a/q has the same name and is ignored because it is younger")));
}

// --- Status and the built-in quotas.

TEST(ElasticQuota, the_built_in_quotas_are_created) {
  QuotaFixture f;
  f.run(2s);
  ASSERT_TRUE(f.quotas.contains("koordinator-root-quota"));
  const auto& root = *f.quotas.at("koordinator-root-quota");
  EXPECT_EQ(root.metadata.namespace_, "koordinator-system");
  EXPECT_EQ(root.metadata.labels.at(std::string(model::kLabelQuotaIsParent)), "true");
  EXPECT_EQ(f.quotas.at("koordinator-default-quota")->spec.max.at("cpu").toString(),
            "1844674407370955161");
  EXPECT_TRUE(f.quotas.contains("koordinator-system-quota"));
}

TEST(ElasticQuota, status_is_written_when_it_changes_and_only_then) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "3").max("memory", "4Gi"));
  f.run(5s);
  f.create(f.of("a", "q", "1").request("memory", "1Gi"));
  f.run(5s);
  EXPECT_EQ(f.annotation("q", model::kAnnotationQuotaRuntime), R"({"cpu":"1","memory":"1Gi"})");
  EXPECT_EQ(f.annotation("q", model::kAnnotationQuotaRequest), R"({"cpu":"1","memory":"1Gi"})");
  EXPECT_EQ(f.quotas.at("q")->status.used.at("memory").toString(), "1Gi");
  const auto count = f.written.size();
  f.run(60s);
  EXPECT_EQ(f.written.size(), count);
  f.remove("a");
  f.run(5s);
  EXPECT_EQ(f.quotas.at("q")->status.used.at("cpu").toString(), "0");
}

// --- Using too much.

TEST(ElasticQuota, pods_that_a_quota_is_not_entitled_to_any_more_are_evicted_after_a_while) {
  QuotaFixture f("{monitorAllQuotas: true, delayEvictTime: 10s}");
  f.node(aNode("n1").allocatable("cpu", "16"));
  f.set(aQuota("q").max("cpu", "16"));
  f.run(100ms);
  f.create(f.of("a", "q", "3").priority(1));
  f.create(f.of("b", "q", "4").priority(2));
  f.create(f.of("c", "q", "9").priority(3));
  f.run(2s);
  f.set(aQuota("q").max("cpu", "10"));
  f.run(8s);
  EXPECT_THAT(f.evicted, ElementsAre());
  int refused = 0;
  f.beforeEviction = [&](const std::string&) -> Result<std::string> {
    if (refused++ == 0) return fail(ErrorCode::TooManyRequests, "a budget forbids it");
    return "";
  };
  f.run(40s);
  EXPECT_THAT(f.evicted, ::testing::UnorderedElementsAre("a", "b"));
  f.expectSound();
}

TEST(ElasticQuota, those_that_fit_stay) {
  QuotaFixture f("{monitorAllQuotas: true, delayEvictTime: 1s}");
  f.node(aNode("n1").allocatable("cpu", "16"));
  f.set(aQuota("q").max("cpu", "16"));
  f.run(100ms);
  f.create(f.of("a", "q", "1").priority(1));
  f.create(f.of("b", "q", "4").priority(2));
  f.create(f.of("c", "q", "9").priority(3));
  f.run(2s);
  f.set(aQuota("q").max("cpu", "10"));
  f.run(20s);
  EXPECT_THAT(f.evicted, ElementsAre("b"));
}

TEST(ElasticQuota, pods_that_ask_for_nothing_of_what_is_exceeded_are_not_evicted) {
  QuotaFixture f("{monitorAllQuotas: true, delayEvictTime: 1s}");
  f.node(aNode("n1").allocatable("cpu", "16").allocatable("example.com/gpu", "8"));
  f.set(aQuota("q").max("cpu", "16").max("example.com/gpu", "8").min("cpu", "4"));
  f.run(100ms);
  f.create(
      f.of("fixed", "q", "4").priority(9).label(std::string(model::kLabelPreemptible), "false"));
  f.create(f.of("cpu", "q", "1").priority(2));
  f.create(f.of("gpu", "q", "0").priority(1).request("example.com/gpu", "1"));
  f.run(2s);
  ASSERT_EQ(f.placed(""), 3);
  f.set(aQuota("q").max("cpu", "2").max("example.com/gpu", "8").min("cpu", "2"));
  f.run(20s);
  EXPECT_THAT(f.evicted, ElementsAre("cpu"));
}

TEST(ElasticQuota, nobody_is_evicted_for_room_that_others_are_about_to_leave) {
  QuotaFixture f("{monitorAllQuotas: true, delayEvictTime: 1s}");
  f.graceful = true;
  f.node(aNode("n1").allocatable("cpu", "16"));
  f.set(aQuota("q").max("cpu", "16"));
  f.run(100ms);
  f.create(f.of("low", "q", "4").priority(1));
  f.create(f.of("high", "q", "4").priority(2));
  f.run(2s);
  f.end("high");
  f.set(aQuota("q").max("cpu", "4"));
  f.run(20s);
  EXPECT_THAT(f.evicted, ElementsAre());
  f.set(aQuota("q").max("cpu", "1"));
  f.run(20s);
  EXPECT_THAT(f.evicted, ElementsAre("low"));
}

// --- Gates.

TEST(ElasticQuota, overhead_need_not_count) {
  QuotaFixture f("{}", {"ElasticQuotaIgnorePodOverhead"});
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "1"));
  f.run(100ms);
  auto pod = f.of("a", "q", "1");
  pod.object().spec.overhead["cpu"] = testing::quantity("500m");
  f.create(pod);
  f.run();
  EXPECT_EQ(f.nodeOf("a"), "n1");
  EXPECT_EQ(f.amount("q", "used"), "1");
}

TEST(ElasticQuota, pods_on_their_way_out_can_be_left_out_at_once_or_when_their_time_is_over) {
  for (const char* gate :
       {"", "ElasticQuotaImmediateIgnoreTerminatingPod", "ElasticQuotaIgnoreTerminatingPod"}) {
    QuotaFixture f("{}", {gate});
    f.node(aNode("n1"));
    f.set(aQuota("q").max("cpu", "1"));
    f.run(100ms);
    f.create(f.of("a", "q", "1"));
    f.run(1s);
    auto leaving = f.of("a", "q", "1").nodeName("n1").version("9");
    leaving.object().metadata.deletionTimestamp = f.loop.wallNow() + 30s;
    f.replace(leaving.build());
    f.create(f.of("b", "q", "1"));
    f.run(20s);
    const std::string_view name = gate;
    EXPECT_EQ(f.nodeOf("b"), name.contains("Immediate") ? "n1" : "") << gate;
    f.run(30s);
    EXPECT_EQ(f.nodeOf("b"), name.empty() ? "" : "n1") << gate;
    f.remove("a");
    f.run(15s);
    f.expectSound();
  }
}

TEST(ElasticQuota, trees_have_totals_of_their_own) {
  QuotaFixture f("{}", {"MultiQuotaTree"});
  f.node(aNode("n1").allocatable("cpu", "100"));
  f.set(aQuota("pool")
            .max("cpu", "1000")
            .min("cpu", "72")
            .label(model::kLabelQuotaIsRoot, "true")
            .label(model::kLabelQuotaTree, "t1")
            .annotate(model::kAnnotationQuotaTotal, R"({"cpu":"72"})")
            .annotate(model::kAnnotationQuotaUnschedulable, R"({"cpu":"8"})"));
  f.set(aQuota("inside").max("cpu", "90").below("pool").label(model::kLabelQuotaTree, "t1"));
  f.set(aQuota("outside").max("cpu", "90"));
  f.run(100ms);
  f.create(f.of("a", "inside", "80"));
  f.create(f.of("b", "outside", "80"));
  f.run();
  EXPECT_EQ(f.amount("inside", "runtime"), "72");
  EXPECT_EQ(f.amount("outside", "runtime"), "28");
  EXPECT_EQ(f.ask("quotas", {{"tree", "t1"}}).get_object().size(), 2u);
  EXPECT_THAT(f.plugin().metrics(),
              HasSubstr("scheduler_elastic_quota_status{name=\"pool\",tree=\"t1\",is_parent="
                        "\"false\",parent=\"koordinator-root-quota\",resource=\"cpu\",field="
                        "\"unschedulable-resource\"} 8000"));
  f.remove("a");
  f.drop("pool");
  f.drop("inside");
  f.run(1s);
  EXPECT_EQ(f.amount("outside", "runtime"), "80");
}

// --- Endpoints and explain.

TEST(ElasticQuota, a_tree_ends_when_its_last_quota_moves_to_another_one) {
  QuotaFixture f("{}", {"MultiQuotaTree"});
  f.node(aNode("n1"));
  for (const char* tree : {"a", "b", "c", "d"}) {
    f.set(aQuota("q").max("cpu", "2").label(model::kLabelQuotaTree, tree));
    f.run(100ms);
  }
  EXPECT_THAT(f.plugin().quotasForTests().trees(), ::testing::SizeIs(2)) << "the default one and d";
  f.create(f.of("p", "q", "1"));
  f.run();
  EXPECT_EQ(f.amount("q", "request"), "1");
  f.expectSound();
}

TEST(ElasticQuota, tells_quotas_and_their_pods_over_http) {
  QuotaFixture f;
  f.node(aNode("n1"));
  f.set(aQuota("q").max("cpu", "2").min("cpu", "1"));
  f.run(100ms);
  f.create(f.of("a", "q", "1"));
  f.create(f.of("b", "q", "5"));
  f.run();
  const json::value one = f.ask("quotas/q", {{"includePods", "true"}});
  EXPECT_EQ(textAt(one, "parentName"), "koordinator-root-quota");
  EXPECT_EQ(textAt(one, "autoScaleMin", "cpu"), "1");
  EXPECT_EQ(textAt(one, "selfRequest", "cpu"), "6");
  EXPECT_TRUE(at(one, "podCache", "default/a", "isAssigned")->get_bool());
  EXPECT_FALSE(at(one, "podCache", "default/b", "isAssigned")->get_bool());
  EXPECT_EQ(textAt(f.ask("quotas/none"), "message"), "cannot find quota none");
  EXPECT_FALSE(f.ask("quotas").get_object().contains("koordinator-root-quota"));
  const json::value unlimited = f.ask("quotas/koordinator-default-quota");
  for (const char* list : {"max", "sharedWeight"})
    EXPECT_EQ(textAt(unlimited, list, "cpu"), "1844674407370955161") << list;
  EXPECT_THAT(f.plugin().metrics(),
              HasSubstr("scheduler_elastic_quota_status{name=\"q\",tree=\"\",is_parent=\"false\","
                        "parent=\"koordinator-root-quota\",resource=\"cpu\",field=\"used\"} 1000"));
}

TEST(ElasticQuota, explains_what_there_is_for_all_quotas) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "10"));
  f.set(aQuota("q").max("cpu", "2"));
  f.create(aPod("a").request("cpu", "3"));
  f.create(f.of("b", "q", "1"));
  f.run();
  const json::value root = f.ask("explain/koordinator-root-quota");
  const json::value& level = at(root, "levels")->get_array().at(0);
  EXPECT_EQ(textAt(level, "used", "cpu"), "4");
  EXPECT_THAT(std::string(level.at("arithmetic").get_array().at(0).get_string()),
              ::testing::StartsWith("cpu: 7 for its quotas; koordinator-default-quota and "
                                    "koordinator-system-quota use 3"));
}

TEST(ElasticQuota, explains_how_a_runtime_came_about) {
  QuotaFixture f;
  f.node(aNode("n1").allocatable("cpu", "100"));
  const auto quota = [&](const char* name, const char* min, const char* weight) {
    f.set(aQuota(name)
              .max("cpu", "1000")
              .min("cpu", min)
              .annotate(model::kAnnotationSharedWeight, fmt::format(R"({{"cpu":"{}"}})", weight)));
  };
  quota("n1", "10", "40");
  quota("n2", "15", "60");
  quota("n3", "20", "50");
  quota("n4", "15", "80");
  f.run(100ms);
  f.create(f.of("p1", "n1", "5").nodeSelector("no", "node"));
  f.create(f.of("p2", "n2", "20").nodeSelector("no", "node"));
  f.create(f.of("p3", "n3", "40").nodeSelector("no", "node"));
  f.create(f.of("p4", "n4", "70").nodeSelector("no", "node"));
  f.run();
  const json::value n4 = f.ask("explain/n4");
  const json::value& cpu = *at(n4, "resources", "cpu");
  EXPECT_EQ(textAt(cpu, "runtime"), "39615m") << "shared to the thousandth of a core";
  EXPECT_EQ(textAt(cpu, "parentTotal"), "100");
  EXPECT_EQ(at(cpu, "rounds")->get_array().size(), 2u);
  EXPECT_EQ(textAt(at(cpu, "siblings")->get_array()[0], "lent"), "5");
  EXPECT_THAT(
      std::string(at(n4, "levels")->get_array()[0].at("arithmetic").get_array()[0].get_string()),
      HasSubstr("this quota requests 70, has weight 80 and gets 39615m, 24615m of it borrowed"));
  const PodPtr waiting = f.scheduler->pending({"default", "p4"});
  const json::value facts = f.plugin().factsOf(*waiting);
  EXPECT_EQ(textAt(facts, "fullAt"), "n4");
}

TEST(ElasticQuota, arguments_are_read_strictly) {
  std::vector<std::string> errors;
  const auto document = parseJson(R"({"delayEvictTime":"-1s","defaultQuotaGroupMax":{"cpu":"-1"},
      "hookPlugins":[{"key":"x"}],"enableRuntimeQuotas":true})");
  Fields fields(&*document, "args", errors);
  ElasticQuotaArgs::read(fields);
  EXPECT_THAT(errors, Contains(HasSubstr("args.delayEvictTime")));
  EXPECT_THAT(errors, Contains(HasSubstr("args.defaultQuotaGroupMax")));
  EXPECT_THAT(errors, Contains(HasSubstr("args.hookPlugins")));
  EXPECT_THAT(errors, Contains(HasSubstr("args.enableRuntimeQuotas")));
}

}  // namespace
}  // namespace koord::scheduler
