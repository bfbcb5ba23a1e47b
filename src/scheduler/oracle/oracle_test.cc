#include "base/time.h"
#include "scheduler/oracle/oracle_fixture.h"

namespace koord::scheduler::oracle::testing {
namespace {

TEST(Oracle, says_where_a_pod_will_go_and_nothing_of_the_question_is_left) {
  Asked a;
  for (const char* name : {"a", "b", "c"}) a.node(aNode(name));
  a.runs(aPod("first").request("cpu", "2"), "a");
  const auto answer = a.ask("objects: [" + podText("p", "3") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(memberOf(*answer, "placed"), json::value(1)) << toJson(*answer);
  EXPECT_EQ(a.scheduler->pending({"default", "p"}), nullptr);
  EXPECT_EQ(a.scheduler->cluster().podTotal(), 1u);
  EXPECT_TRUE(a.bindings.empty());
  a.create(aPod("p").request("cpu", "3"));
  a.run();
  EXPECT_THAT(placesIn(*answer), ElementsAre("p " + a.nodeOf("p")));
}

TEST(Oracle, random_ties_fall_as_they_will) {
  for (int seed = 0; seed < 10; ++seed) {
    Asked a;
    for (int n = 0; n < 20; ++n) a.node(aNode(fmt::format("n{}", n)));
    for (int n = 0; n < seed; ++n) a.create(aPod(fmt::format("before{}", n)).request("cpu", "1"));
    a.run();
    std::string objects;
    for (int n = 0; n < 12; ++n)
      objects += (n == 0 ? "" : ", ") + podText(fmt::format("p{}", n), "1");
    const auto answer = a.ask("objects: [" + objects + "]");
    ASSERT_TRUE(answer) << answer.error().message;
    for (int n = 0; n < 12; ++n) a.create(aPod(fmt::format("p{}", n)).request("cpu", "1"));
    a.run();
    std::vector<std::string> places;
    for (int n = 0; n < 12; ++n)
      places.push_back(fmt::format("p{} {}", n, a.nodeOf(fmt::format("p{}", n))));
    EXPECT_EQ(placesIn(*answer), places) << "seed " << seed;
  }
}

TEST(Oracle, workloads_become_pods_and_limits_are_requests) {
  Asked a;
  a.node(aNode("a"));
  const auto answer = a.ask("objects: [" + deploymentText("web", 3, "2") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer),
              ElementsAre("web-simulated-0 a", "web-simulated-1 a", "web-simulated-2 pending"));
  const json::value& last = memberOf(*answer, "pods").get_array()[2];
  EXPECT_EQ(textAt(last, "of"), "Deployment default/web");
  EXPECT_THAT(std::string(textAt(last, "message")), HasSubstr("1 Insufficient cpu"));
}

namespace {

// "name change cpu: before > after of allocatable", "-" for what is absent.
std::vector<std::string> nodesIn(const json::value& status) {
  std::vector<std::string> nodes;
  const auto cpu = [](const json::value& node, const char* when) {
    const auto text = textAt(node, when, "cpu");
    return text.empty() ? std::string("-") : std::string(text);
  };
  for (const json::value& node : memberOf(status, "nodes").get_array())
    nodes.push_back(fmt::format("{} {}: {} > {} of {}", textAt(node, "name"),
                                textAt(node, "change"), cpu(node, "before"), cpu(node, "after"),
                                cpu(node, "allocatable")));
  return nodes;
}

}  // namespace

TEST(Oracle, shows_what_pods_request_of_the_nodes_before_and_after) {
  Asked a;
  for (const char* name : {"a", "b", "c", "d"}) a.node(aNode(name));
  a.runs(ownedPod("moves", "ReplicaSet"), "a");
  a.runs(aPod("stays").request("cpu", "3"), "c");
  a.runs(aPod("full").request("cpu", "4"), "b");
  const auto answer =
      a.ask("{drainNodes: [a], loseNodes: [d], addNodes: [{count: 1, like: b}], objects: [" +
            podText("p", "4") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("moves-again c", "p b-added-1"));
  EXPECT_THAT(nodesIn(*answer), ElementsAre("a drained: 1 > 0 of 4", "b-added-1 added: - > 4 of 4",
                                            "d lost: 0 > - of 4", "c : 3 > 4 of 4"));
  const json::value& c = memberOf(*answer, "nodes").get_array()[3];
  EXPECT_EQ(textAt(c, "before", "pods"), "1");
  EXPECT_EQ(textAt(c, "after", "pods"), "2");
}

TEST(Oracle, names_victims_and_whose_rules_chose_them) {
  Asked a;
  a.node(aNode("a"));
  a.runs(aPod("low").request("cpu", "3").priority(1), "a");
  const auto answer = a.ask("objects: [" + podText("high", "3", 1000) + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(placesIn(*answer), ElementsAre("high a"));
  const json::value& high = memberOf(*answer, "pods").get_array()[0];
  EXPECT_EQ(memberOf(high, "attempts"), json::value(2));
  EXPECT_EQ(memberOf(high, "firstAttempt"), json::value(json::object{{"nominatedNode", "a"}}));
  const auto& victims = memberOf(*answer, "victims").get_array();
  ASSERT_EQ(victims.size(), 1u);
  EXPECT_EQ(textAt(victims[0], "name"), "low");
  EXPECT_EQ(textAt(victims[0], "node"), "a");
  EXPECT_EQ(textAt(victims[0], "preemptor"), "default/high");
  EXPECT_EQ(memberOf(victims[0], "priority"), json::value(1));
  EXPECT_NE(textAt(victims[0], "plugin"), "");
  EXPECT_TRUE(a.deletions.empty());
}

TEST(Oracle, a_victim_uses_up_its_disruption_budget) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("b"));
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->metadata.namespace_ = "default";
  budget->metadata.name = "guard";
  budget->spec.selector.emplace().matchLabels["app"] = "guarded";
  budget->status.disruptionsAllowed = 1;
  a.scheduler->stores().of<api::PodDisruptionBudget>().set(budget);
  for (const char* name : {"guarded-1", "guarded-2"})
    a.runs(aPod(name).request("cpu", "2").priority(1).label("app", "guarded"), "a");
  for (const char* name : {"other-1", "other-2"})
    a.runs(aPod(name).request("cpu", "2").priority(2), "b");
  const auto answer =
      a.ask("objects: [" + podText("p", "2", 1000) + ", " + podText("q", "2", 1000) + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  // Nodes whose victims have a lower priority are better, unless that breaks a budget.
  EXPECT_THAT(placesIn(*answer), ElementsAre("p a", "q b"));
  EXPECT_EQ(memberOf(*answer, "victims").get_array().size(), 2u);
}

TEST(Oracle, says_how_many_more_nodes_would_do) {
  Asked a;
  a.node(aNode("a"));
  const auto answer = a.ask("objects: [" + deploymentText("web", 5, "3") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  const auto& remedies = memberOf(*answer, "remedies").get_array();
  ASSERT_EQ(remedies.size(), 1u);
  EXPECT_EQ(memberOf(remedies[0], "pods"), json::value(4));
  EXPECT_EQ(toJson(memberOf(remedies[0], "nodes")), R"({"count":4,"like":"a"})");
  EXPECT_EQ(toJson(memberOf(memberOf(remedies[0], "nearestMiss"), "missing")), R"({"cpu":"2"})");
}

TEST(Oracle, more_nodes_take_pods_that_waited) {
  Asked a;
  a.node(aNode("a"));
  a.create(aPod("waits").request("cpu", "3"));
  a.create(aPod("runs").request("cpu", "3"));
  a.run();
  const auto answer = a.ask("addNodes: [{count: 1, like: a}]");
  ASSERT_TRUE(answer) << answer.error().message;
  const auto& others = memberOf(*answer, "others").get_array();
  ASSERT_EQ(others.size(), 1u) << toJson(*answer);
  EXPECT_EQ(textAt(others[0], "node"), "a-added-1");
}

TEST(Oracle, pods_of_a_drained_node_go_elsewhere_but_for_those_that_belong_to_it) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("b"));
  CompletePods complete;
  for (const auto& pod :
       {a.runs(ownedPod("web", "ReplicaSet"), "a"), a.runs(ownedPod("db-0", "StatefulSet"), "a"),
        a.runs(ownedPod("agent", "DaemonSet"), "a"), a.runs(aPod("alone"), "a")})
    complete.emplace(pod->metadata.uid, pod);
  const auto drained = a.ask("drainNodes: [a]", complete);
  ASSERT_TRUE(drained) << drained.error().message;
  EXPECT_THAT(placesIn(*drained), ElementsAre("alone notRecreated", "db-0 b", "web-again b"));
  const auto lost = a.ask("loseNodes: [b]", complete);
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_THAT(placesIn(*lost), ElementsAre());
  EXPECT_EQ(a.refusal("drainNodes: [a, nowhere]"),
            "spec.drainNodes[1]: there is no node \"nowhere\"");
}

TEST(Oracle, another_configuration_is_tried_on_the_same_pods) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("b"));
  a.runs(aPod("p").request("cpu", "2"), "a");
  const std::string pack = R"(
configuration:
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  profiles:
  - schedulerName: default-scheduler
    pluginConfig:
    - name: NodeResourcesFit
      args: {scoringStrategy: {type: TYPE, resources: [{name: cpu, weight: 1}]}}
    plugins: {score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 1}]}}
objects: [)";
  const auto asked = [&](const std::string& type) {
    std::string spec = pack + podText("q", "1") + "]";
    spec.replace(spec.find("TYPE"), 4, type);
    const auto answer = a.ask(spec);
    return answer ? placesIn(*answer) : std::vector{answer.error().message};
  };
  EXPECT_THAT(asked("MostAllocated"), ElementsAre("q a"));
  EXPECT_THAT(asked("LeastAllocated"), ElementsAre("q b"));
  EXPECT_THAT(a.refusal("configuration: {apiVersion: v1, kind: Nothing}"),
              HasSubstr("spec.configuration"));
}

TEST(Oracle, pods_that_wait_enter_the_queue_of_another_configuration_in_their_order) {
  Asked a;
  a.node(aNode("a"));
  for (int n = 0; n < 10; ++n) {
    a.create(aPod(fmt::format("p{}", n)).request("cpu", "8"));
    a.run(std::chrono::milliseconds(1));
  }
  const auto answer = a.ask(R"(
configuration:
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
addNodes:
- {count: 1, node: {status: {allocatable: {cpu: "24", memory: 64Gi, pods: "100"}}}})");
  ASSERT_TRUE(answer) << answer.error().message;
  std::vector<std::string> names;
  for (const json::value& other : memberOf(*answer, "others").get_array())
    names.emplace_back(textAt(other, "name"));
  EXPECT_THAT(names, ElementsAre("p0", "p1", "p2")) << toJson(*answer);
}

TEST(Oracle, the_answer_has_the_time_and_the_version_of_its_state) {
  Asked a;
  a.node(aNode("a"));
  const auto before = a.ask("objects: []");
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(textAt(*before, "state", "time"), formatMicroTime(a.loop.wallNow()));
  EXPECT_EQ(*at(*before, "state", "version"), json::value(a.seam.api.received()));
  a.create(aPod("p"));
  a.run();
  const auto after = a.ask("objects: []");
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*at(*after, "state", "version"), json::value(a.seam.api.received()));
  EXPECT_NE(*at(*after, "state", "version"), *at(*before, "state", "version"));
}

TEST(Oracle, a_million_replicas_are_answered_in_part) {
  Asked a;
  a.node(aNode("a").allocatable("cpu", "1000").allocatable("pods", "100000"));
  const auto answer = a.ask("objects: [" + deploymentText("web", 1'000'000, "1m") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(*answer, "complete"), json::value(false));
  EXPECT_EQ(memberOf(*answer, "notTried"), json::value(980'000));
  EXPECT_EQ(memberOf(*answer, "placed"), json::value(20'000));
}

TEST(Oracle, a_question_that_takes_too_long_is_answered_with_what_was_found) {
  Asked a;
  a.node(aNode("a"));
  a.limits.time = Duration(0);
  const auto answer = a.ask("objects: [" + deploymentText("web", 5, "1") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(toJson(*answer), HasSubstr("the time limit was reached"));
  EXPECT_EQ(memberOf(*answer, "complete"), json::value(false));
}

TEST(Oracle, bindings_on_their_way_succeed_in_the_simulation) {
  Asked a;
  a.api.latency = std::chrono::hours(1);
  for (int n = 0; n < 3; ++n) a.node(aNode(fmt::format("n{}", n)).allocatable("cpu", "1000"));
  for (int n = 0; n < 200; ++n) a.create(aPod(fmt::format("p{}", n)).request("cpu", "1"));
  a.run(std::chrono::milliseconds(10));
  ASSERT_GE(a.scheduler->bindingsInFlight(), 128u);
  const auto answer = a.ask("objects: [" + podText("last", "1") + "]");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(*answer, "placed"), json::value(1)) << toJson(*answer);
}

TEST(Oracle, errors_name_the_field) {
  Asked a;
  EXPECT_EQ(a.refusal("objects: 5"), "spec.objects: must be a list");
  EXPECT_EQ(a.refusal("objects: [{kind: Pod}]"), "spec.objects[0].apiVersion: is required");
  EXPECT_EQ(a.refusal("object: []"), "spec.object: unknown field");
  EXPECT_EQ(a.refusal("objects: [{apiVersion: v1, kind: Pod, metadata: {}}]"),
            "spec.objects[0]: metadata.name: is required");
  EXPECT_THAT(a.refusal("objects: [{apiVersion: v1, kind: Pod, metadata: {name: p, labels: 3}}]"),
              HasSubstr("spec.objects[0]: metadata.labels"));
  EXPECT_EQ(a.refusal("addNodes: [{count: 1}]"),
            "spec.addNodes[0]: must have either \"like\", the name of a node, or \"node\", a Node");
  EXPECT_EQ(a.refusal("addNodes: [{count: 9999999, like: a}]"),
            "spec.addNodes: at most 5000 nodes can be added");
  EXPECT_EQ(a.refusal("addNodes: [{like: a}]"), "spec.addNodes[0].like: there is no node \"a\"");
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
