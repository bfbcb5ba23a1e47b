#include "scheduler/core/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "scheduler/core/scheduler_fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using ::testing::HasSubstr;
using Fixture = testing::SchedulerFixture;
using testing::PodBuilder;
using namespace std::chrono_literals;

TEST(Scheduler, binds_a_pod_and_says_so) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n1");
  EXPECT_THAT(f.events, ::testing::ElementsAre("Scheduled: Successfully assigned default/p to n1"));
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 0u);
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 1u);
}

TEST(Scheduler,
     a_pod_that_fits_nowhere_gets_a_condition_and_an_event_and_is_tried_again_when_room_appears) {
  Fixture f;
  f.node(aNode("n1"));
  f.node(aNode("n2").taint("gpu"));
  f.scheduler->start();
  f.create(aPod("running").request("cpu", "3"));
  f.run();
  f.create(aPod("p").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "");
  const std::string message =
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
      "no new claims to deallocate, preemption: 0/2 nodes are "
      "available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for "
      "scheduling.";
  EXPECT_THAT(f.conditions, ::testing::ElementsAre("p Unschedulable: " + message));
  EXPECT_THAT(f.events, ::testing::Contains("FailedScheduling: " + message));
  f.remove("running");
  f.run();
  EXPECT_EQ(f.nodeOf("p"), "n1");
}

TEST(Scheduler, a_lost_reply_to_a_binding_that_was_carried_out_is_no_failure) {
  Fixture f;
  f.node(aNode("n1"));
  f.losesReplies = true;
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.bindings["p"], 1);
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 1u);
  EXPECT_THAT(f.events, ::testing::ElementsAre("Scheduled: Successfully assigned default/p to n1"));
}

// A pod whose claims do not exist stays out of the queue and is never bound, even if a profile
// omits the plugin.
TEST(Scheduler, pods_without_their_resource_claims_are_held_back) {
  for (const std::string plugins :
       {"{}", "{multiPoint: {disabled: [{name: DynamicResources}]}}",
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: "
        "DefaultBinder}]}}"}) {
    auto configuration = parseConfiguration(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: default-scheduler, plugins: " +
        plugins + "}]");
    ASSERT_TRUE(configuration) << configuration.error().message;
    Fixture f(*configuration);
    f.node(aNode("n1"));
    f.scheduler->start();
    PodBuilder pod = aPod("p");
    pod.object().spec.resourceClaims = {{"gpu", "g", std::nullopt}, {"nic", std::nullopt, "n"}};
    f.create(pod);
    f.create(aPod("q"));
    f.run(20min);
    EXPECT_EQ(f.bindings.count("p"), 0u) << plugins;
    EXPECT_EQ(f.nodeOf("q"), "n1") << plugins;
    EXPECT_EQ(f.scheduler->queue().counts().gated, 1u) << plugins;
  }
}

TEST(Scheduler, a_refused_binding_frees_the_node_and_is_tried_again) {
  Fixture f;
  f.node(aNode("n1").allocatable("cpu", "1"));
  int calls = 0;
  f.beforeBind = [&](const std::string&) -> Result<std::string> {
    if (++calls <= 2) return fail(ErrorCode::Internal, "etcd is tired");
    return "";
  };
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run(20s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
  EXPECT_EQ(calls, 3);
  ASSERT_FALSE(f.conditions.empty());
  EXPECT_THAT(f.conditions.front(),
              HasSubstr("SchedulerError: running Bind plugin \"DefaultBinder\": "));
}

TEST(Scheduler, room_that_a_refused_binding_frees_wakes_those_who_wait_for_it) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("first").request("cpu", "3").priority(1));
  f.create(aPod("second").request("cpu", "3"));
  f.beforeBind = [&](const std::string& pod) -> Result<std::string> {
    if (pod != "first") return "{}";
    f.remove("first");
    return fail(ErrorCode::NotFound, "gone");
  };
  f.run(15s);
  EXPECT_EQ(f.nodeOf("second"), "n1");
}

TEST(Scheduler, while_the_fate_of_a_binding_is_unknown_its_room_is_not_given_away) {
  Fixture f;
  f.node(aNode("n1").allocatable("cpu", "1"));
  bool down = false;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.subresource == "binding" && request.name == "first") {
      down = true;
      (void)f.answer(request);
      return fail(ErrorCode::Unavailable, "connection reset");
    }
    if (down && request.resource == "pods" && request.name == "first")
      return fail(ErrorCode::Unavailable, "down");
    return f.answer(request);
  };
  f.scheduler->start();
  f.create(aPod("first").request("cpu", "1"));
  f.create(aPod("second").request("cpu", "1"));
  f.run(10s);
  EXPECT_EQ(f.nodeOf("second"), "");
  down = false;
  f.run(30s);
  EXPECT_EQ(f.nodeOf("first"), "n1");
  EXPECT_EQ(f.nodeOf("second"), "");
}

TEST(Scheduler, a_pod_found_bound_elsewhere_is_counted_there_before_the_watch_shows_it) {
  Fixture f;
  f.node(aNode("n1"));
  f.node(aNode("n2").taint("gpu"));
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.subresource != "binding") return f.answer(request);
    auto bound = std::make_shared<api::Pod>(*f.pods.at("p"));
    bound->spec.nodeName = "n2";
    bound->metadata.resourceVersion += "0";
    f.pods["p"] = bound;  // another scheduler was faster, and the watch is behind
    return fail(ErrorCode::Conflict, "already bound");
  };
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  const Cluster& cluster = f.scheduler->cluster();
  const auto* counted = cluster.findPod(f.pods.at("p")->metadata.uid);
  ASSERT_TRUE(counted);
  EXPECT_EQ(cluster.node(counted->node).name, "n2");
  EXPECT_FALSE(counted->assumed);
  EXPECT_FALSE(f.scheduler->pending({"default", "p"}));
}

TEST(Scheduler, a_nomination_that_is_given_up_wakes_those_whom_it_kept_away) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  const auto high = [] {
    return aPod("high").request("cpu", "4").priority(10).nodeSelector("no", "where");
  };
  f.create(high().gate("wait").nominated("n1").version("1"));
  f.create(aPod("low").request("cpu", "4"));
  f.run();
  EXPECT_EQ(f.nodeOf("low"), "") << "the room is promised";
  // The attempt that clears the nomination wakes no pods; the API's answer to it does.
  f.create(high().nominated("n1").version("2"));
  f.run();
  EXPECT_EQ(f.nodeOf("low"), "");
  f.create(high().version("3"));
  f.run();
  EXPECT_EQ(f.nodeOf("low"), "n1");
}

TEST(Scheduler, a_pod_deleted_while_it_is_bound_leaves_nothing_behind) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "1"));
  f.loop.runReady();  // the binding request is in progress
  EXPECT_EQ(f.scheduler->cluster().assumedTotal(), 1u);
  f.remove("p");
  f.run();
  EXPECT_EQ(f.scheduler->cluster().podTotal(), 0u);
  EXPECT_EQ(f.scheduler->queue().counts().active, 0u);
}

TEST(Scheduler, pods_of_other_schedulers_are_left_alone_but_counted_when_bound) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("other").scheduler("someone-else"));
  f.create(aPod("bound").scheduler("someone-else").nodeName("n1").request("cpu", "4"));
  f.create(aPod("p").request("cpu", "1"));
  f.run();
  EXPECT_EQ(f.nodeOf("other"), "");
  EXPECT_EQ(f.nodeOf("p"), "");
  EXPECT_THAT(f.conditions, ::testing::ElementsAre(HasSubstr(
                                "p Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")));
}

TEST(Scheduler, several_profiles_serve_their_own_pods) {
  auto configuration = parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: spread
- schedulerName: pack
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
)");
  ASSERT_TRUE(configuration) << configuration.error().message;
  Fixture f(*configuration);
  f.node(aNode("empty"));
  f.node(aNode("used"));
  f.scheduler->start();
  f.create(aPod("running").nodeName("used").request("cpu", "1").request("memory", "2Gi"));
  f.create(aPod("a").scheduler("spread").request("cpu", "500m").request("memory", "1Gi"));
  f.create(aPod("b").scheduler("pack").request("cpu", "500m").request("memory", "1Gi"));
  f.run();
  EXPECT_EQ(f.nodeOf("a"), "empty");
  EXPECT_EQ(f.nodeOf("b"), "used");
}

TEST(Scheduler, killed_at_any_moment_and_started_again_it_binds_every_pod_exactly_once) {
  for (int killAfterMicroseconds : {0, 500, 1000, 1500, 2000, 2500, 5000, 100'000}) {
    Fixture f;
    const auto nodes = [&] {
      for (int n = 0; n < 5; ++n) f.node(aNode("n" + std::to_string(n)));
    };
    nodes();
    f.scheduler->start();
    for (int p = 0; p < 20; ++p) f.create(aPod("p" + std::to_string(p)).request("cpu", "1"));
    f.loop.advance(std::chrono::microseconds(killAfterMicroseconds));
    f.create();  // nothing of the old one remains
    nodes();
    for (const auto& [name, pod] : f.pods) f.scheduler->podAdded(pod);
    f.scheduler->start();
    f.run(30s);
    for (const auto& [name, pod] : f.pods) EXPECT_NE(pod->spec.nodeName, "") << name;
    for (const auto& [name, count] : f.bindings) EXPECT_EQ(count, 1) << name;
    std::map<std::string, int> perNode;
    for (const auto& [name, pod] : f.pods) ++perNode[pod->spec.nodeName];
    for (const auto& [node, count] : perNode) EXPECT_LE(count, 4) << node;
  }
}

TEST(Scheduler, a_bad_configuration_is_refused_with_every_problem_by_path) {
  auto configuration = defaultConfiguration();
  configuration.profiles[0].plugins["filter"].enabled = {{"Nonsense", 0}, {"ImageLocality", 0}};
  configuration.profiles[0].pluginConfig.push_back(
      {"NodeResourcesFit", *parseJson(R"({"scoringStrategy":{"type":"Best"},"extra":1})"),
       "profiles[0].pluginConfig[0].args"});
  VirtualLoop loop;
  SchedulerOptions options;
  options.configuration = configuration;
  const auto made = Scheduler::create(options, makeRegistry(), loop, nullptr);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message,
              HasSubstr("profiles[0].plugins.filter: filter \"Nonsense\" does not exist"));
  EXPECT_THAT(made.error().message,
              HasSubstr("plugin \"ImageLocality\" does not extend filter plugin"));
  EXPECT_THAT(
      made.error().message,
      HasSubstr(
          "profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: \"Best\""));
  EXPECT_THAT(made.error().message,
              HasSubstr("profiles[0].pluginConfig[0].args.extra: unknown field"));
}

TEST(Scheduler, the_decision_log_keeps_why_a_pod_was_rejected) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("p").request("cpu", "8"));
  f.run();
  const auto* decisions = f.scheduler->decisions().of("default/p");
  ASSERT_TRUE(decisions);
  const Decision& last = decisions->back();
  EXPECT_EQ(last.result, "unschedulable");
  ASSERT_EQ(last.rejections.size(), 1u);
  EXPECT_EQ(last.rejections[0].plugin, "NodeResourcesFit");
  EXPECT_EQ(last.rejections[0].code, Code::UnschedulableAndUnresolvable);
  EXPECT_EQ(last.rejections[0].nodes, 1u);
}

TEST(Scheduler, pods_of_lower_priority_make_room_the_last_one_after_the_others) {
  Fixture f;
  f.node(aNode("n1"));
  f.scheduler->start();
  for (const char* name : {"a", "b", "c", "d"})
    f.create(aPod(name).request("cpu", "1").nodeName("n1"));
  f.run();
  f.create(aPod("p").request("cpu", "3").priority(10));
  f.loop.advance(std::chrono::microseconds(500));
  EXPECT_EQ(f.scheduler->pending({"default", "p"})->pod->status.nominatedNodeName, "")
      << "not seen back yet";
  f.create(aPod("thief").request("cpu", "1"));
  f.run(20s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
  EXPECT_EQ(f.deletions.size(), 3u);
  EXPECT_EQ(f.nodeOf("thief"), "") << "the room was promised";
  EXPECT_THAT(f.events,
              ::testing::Contains("Preempted: Preempted by pod uid-default-p on node n1").Times(3));
  EXPECT_THAT(f.conditions,
              ::testing::Contains("p Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."))
      << "plugins before the one that helps are not named";
  EXPECT_THAT(f.conditions, ::testing::Contains(f.deletions[0] +
                                                " PreemptionByScheduler: default-scheduler: "
                                                "preempting to accommodate a higher priority pod"));
  for (const auto& condition : f.conditions)
    EXPECT_EQ(condition.find("p SchedulerError"), std::string::npos);
}

// Pod "v" uses the only node, "n1".
struct FullNode : Fixture {
  FullNode() {
    node(aNode("n1"));
    scheduler->start();
    create(aPod("v").request("cpu", "4").nodeName("n1"));
    run();
  }
};

TEST(Scheduler, a_victim_that_cannot_be_deleted_does_not_hold_the_pod_back_for_ever) {
  FullNode f;
  int refusals = 3;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.verb == kube::Verb::Delete && --refusals >= 0)
      return fail(ErrorCode::Internal, "etcd is tired");
    return f.answer(request);
  };
  f.create(aPod("p").request("cpu", "4").priority(10));
  f.run(60s);
  EXPECT_EQ(f.nodeOf("p"), "n1");
  EXPECT_LT(refusals, 0);
}

TEST(Scheduler, a_victim_that_the_api_never_lets_go_is_asked_for_ever_more_rarely) {
  FullNode f;
  int asked = 0;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.verb != kube::Verb::Delete) return f.answer(request);
    ++asked;
    return fail(ErrorCode::Forbidden, "a webhook denies it");
  };
  f.create(aPod("p").request("cpu", "4").priority(10));
  f.run(600s);
  EXPECT_GE(asked, 10) << "after 1, 2, 4 ... 60 seconds";
  EXPECT_LE(asked, 16);
  for (const char* rest : {"1s", "8s", "1m0s"})
    EXPECT_THAT(
        f.events,
        ::testing::Contains(AllOf(
            HasSubstr("FailedPreemption: The API server refuses the eviction of pod default/v"),
            HasSubstr("the next attempt is after " + std::string(rest)))));
  f.node(aNode("n2"));
  f.run(2s);
  EXPECT_EQ(f.nodeOf("p"), "n2") << "it rests from preemption, not from being placed";
}

TEST(Scheduler, a_promise_that_was_taken_back_while_it_was_written_does_not_come_back) {
  FullNode f;
  f.graceful = true;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    const bool promise = request.name == "low" && request.body.find("\"n1\"") != std::string::npos;
    if (!promise) return f.answer(request);
    f.loop.runAfter(3s, [&f, request] { (void)f.answer(request); });
    return "{}";
  };
  f.create(aPod("low").request("cpu", "4").priority(5));
  f.run(1s);
  f.create(aPod("high").request("cpu", "4").priority(10));
  f.run(9s);
  EXPECT_EQ(f.pods.at("high")->status.nominatedNodeName, "n1");
  EXPECT_EQ(f.pods.at("low")->status.nominatedNodeName, "");
}

// The cluster autoscaler, for example, nominates the node that it will add.
TEST(Scheduler, a_nomination_by_another_component_stays_with_a_pod_that_may_not_preempt) {
  Fixture f;
  f.graceful = true;
  f.node(aNode("n1"));
  f.scheduler->start();
  f.create(aPod("v").request("cpu", "2").nodeName("n1"));
  PodBuilder never = aPod("never").request("cpu", "4").priority(10).nominated("n1");
  never.object().spec.preemptionPolicy = "Never";
  f.create(never);
  f.run();
  EXPECT_EQ(f.pods.at("never")->status.nominatedNodeName, "n1");
  f.create(aPod("lower").request("cpu", "2"));
  f.run();
  EXPECT_EQ(f.nodeOf("lower"), "") << "the room is for the nominated pod";
  f.remove("v");
  f.run();
  EXPECT_EQ(f.nodeOf("never"), "n1");
}

TEST(Scheduler, a_nomination_long_after_a_promise_whose_write_failed_stays) {
  FullNode f;
  f.graceful = true;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    if (request.name == "low" && request.subresource == "status")
      return fail(ErrorCode::Forbidden, "a webhook denies it");
    return f.answer(request);
  };
  f.create(aPod("low").request("cpu", "4").priority(5));
  f.run(1s);
  f.create(aPod("high").request("cpu", "4").priority(10));
  f.run(600s);
  ASSERT_EQ(f.pods.at("low")->status.nominatedNodeName, "");
  int writes = 0;
  f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
    writes += request.name == "low" && request.body.find("nominatedNodeName") != std::string::npos;
    return f.answer(request);
  };
  f.replace(aPod("low").request("cpu", "4").priority(5).nominated("n1").version("77").build());
  f.run(100ms);
  EXPECT_EQ(writes, 0);
  EXPECT_EQ(f.pods.at("low")->status.nominatedNodeName, "n1");
}

// A request whose answer is lost is repeated, perhaps after the nomination has ended.
TEST(Scheduler, a_nomination_that_is_written_again_after_its_end_is_cleared) {
  FullNode f;
  f.graceful = true;
  f.create(aPod("low").request("cpu", "4").priority(5));
  f.run(1s);
  ASSERT_EQ(f.pods.at("low")->status.nominatedNodeName, "n1");
  f.create(aPod("high").request("cpu", "4").priority(10));
  f.run(1s);
  ASSERT_EQ(f.pods.at("low")->status.nominatedNodeName, "");
  f.replace(aPod("low").request("cpu", "4").priority(5).nominated("n1").version("77").build());
  f.run(100ms);
  EXPECT_EQ(f.pods.at("low")->status.nominatedNodeName, "");
}

TEST(Scheduler, who_reads_changes_hears_of_promises_that_end_in_a_what_if_question) {
  VirtualLoop loop;
  Shared shared(loop, nullptr);
  const NodeId node = shared.cluster.setNode(aNode("n").build());
  const PodPtr pod = makePodInfo(shared.cluster, aPod("p").build());
  shared.nominator.add(pod, {true, "n"});
  const std::uint64_t before = shared.cluster.changeEnd();
  {
    Cluster::Transaction whatIf(shared.cluster);
    shared.nominator.remove(pod->uid());
  }
  const auto changes = shared.cluster.changesSince(before);
  ASSERT_TRUE(changes);
  EXPECT_THAT(std::vector<NodeId>(changes->begin(), changes->end()), ::testing::ElementsAre(node));
}

TEST(Scheduler, the_row_of_a_node_that_went_is_given_back_once_when_a_transaction_ends) {
  for (const bool committed : {true, false}) {
    Cluster cluster;
    const NodeId node = cluster.setNode(aNode("old").build());
    std::vector<PodPtr> pods;
    for (const char* name : {"a", "b"}) pods.push_back(makePodInfo(cluster, aPod(name).build()));
    {
      Cluster::Transaction placing(cluster);
      for (const PodPtr& pod : pods) ASSERT_TRUE(cluster.assume(pod, node));
      cluster.removeNode("old");
      if (committed) {
        for (const PodPtr& pod : pods) ASSERT_TRUE(cluster.forget(pod->uid()));
        placing.commit();
      }
    }
    EXPECT_FALSE(cluster.findNode("old")) << committed;
    EXPECT_EQ(cluster.setNode(aNode("new").build()), node) << committed;
    EXPECT_NE(cluster.setNode(aNode("newer").build()), node) << committed;
  }
}

// Random arrivals, deletions, node churn and API faults: nothing is bound twice, no node is
// overfull, and in the end everything that fits is bound.
TEST(Scheduler, random_faults_neither_lose_nor_double_pods) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    Fixture f;
    for (int n = 0; n < 4; ++n) f.node(aNode("n" + std::to_string(n)));
    f.api.answer = [&](const kube::Request& request) -> Result<std::string> {
      const double dice = random.unit();
      if (dice < 0.1) return fail(ErrorCode::Unavailable, "no answer");
      if (dice < 0.15) {
        (void)f.answer(request);
        return fail(ErrorCode::Unavailable, "lost reply");
      }
      if (dice < 0.2) return fail(ErrorCode::Conflict, "conflict");
      return f.answer(request);
    };
    f.scheduler->start();
    int created = 0;
    for (int step = 0; step < 150; ++step) {
      if (random.chance(0.5))
        f.create(aPod("p" + std::to_string(created++)).request("cpu", "500m"));
      if (random.chance(0.3) && !f.pods.empty())
        f.remove(std::next(f.pods.begin(), static_cast<long>(random.below(f.pods.size())))->first);
      f.loop.advance(std::chrono::milliseconds(random.below(700)));
      std::map<std::string, int> perNode;
      for (const auto& [name, pod] : f.pods) ++perNode[pod->spec.nodeName];
      for (const auto& [node, count] : perNode) {
        if (!node.empty()) {
          ASSERT_LE(count, 8) << "seed " << seed;
        }
      }
      for (const auto& [name, count] : f.bindings)
        ASSERT_EQ(count, 1) << "seed " << seed << " " << name;
    }
    f.api.answer = [&](const kube::Request& request) { return f.answer(request); };
    f.run(7min);
    std::size_t bound = 0;
    for (const auto& [name, pod] : f.pods) bound += !pod->spec.nodeName.empty();
    ASSERT_EQ(bound, std::min<std::size_t>(f.pods.size(), 32)) << "seed " << seed;
    ASSERT_EQ(f.scheduler->cluster().podTotal(), bound) << "seed " << seed;
    ASSERT_EQ(f.scheduler->cluster().assumedTotal(), 0u) << "seed " << seed;
    f.scheduler->cluster().live().forEach(
        [&](NodeId node) { ASSERT_EQ(f.scheduler->cluster().verifyNode(node), ""); });
  }
}

}  // namespace
}  // namespace koord::scheduler
