#include "api/codec.h"
#include "api/reservation.h"
#include "scheduler/oracle/filling.h"
#include "scheduler/oracle/nodes_needed.h"
#include "scheduler/oracle/oracle_fixture.h"
#include "scheduler/plugins/reservation/reservation_object.h"

// Questions about amounts: how many copies fit, and how many nodes some pods need.

namespace koord::scheduler::oracle::testing {
namespace {

// "pool: nodes pods, cpu before > after".
std::vector<std::string> poolsIn(const json::value& status) {
  std::vector<std::string> pools;
  for (const json::value& pool : at(status, "fill", "pools", "list")->get_array())
    pools.push_back(fmt::format("{}: {} {}, {} > {}", textAt(pool, "name"),
                                toJson(memberOf(pool, "nodes")), toJson(memberOf(pool, "pods")),
                                textAt(pool, "before", "cpu"), textAt(pool, "after", "cpu")));
  return pools;
}

// "plugin: reason on nodes, cpu free".
std::vector<std::string> unusableIn(const json::value& status, std::size_t pool = 0) {
  std::vector<std::string> rows;
  const auto& pools = at(status, "fill", "pools", "list")->get_array();
  for (const json::value& rest : memberOf(pools.at(pool), "unusable").get_array())
    rows.push_back(
        fmt::format("{}: {} on {}, {}", textAt(rest, "plugin"),
                    std::string_view(memberOf(rest, "reasons").get_array().at(0).get_string()),
                    toJson(memberOf(rest, "nodes")), textAt(rest, "free", "cpu")));
  return rows;
}

std::int64_t copiesIn(const json::value& status) {
  return at(status, "fill", "copies")->to_number<std::int64_t>();
}

std::string gangText(const std::string& name, int members, const std::string& cpu) {
  return fmt::format(
      "{{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: PodGroup, metadata: {{name: {0}}}, "
      "spec: {{minMember: {1}}}}}, {{apiVersion: batch/v1, kind: Job, metadata: {{name: {0}}}, "
      "spec: {{parallelism: {1}, template: {{metadata: {{labels: "
      "{{pod-group.scheduling.sigs.k8s.io: {0}}}}}, spec: {{containers: [{{name: main, "
      "resources: {{requests: {{cpu: '{2}'}}}}}}]}}}}}}}}",
      name, members, cpu);
}

}  // namespace

TEST(Capacity, counts_the_pods_that_fit_and_shows_what_stays_free_and_why) {
  Asked a;
  a.node(aNode("a").label("topology.kubernetes.io/zone", "east"));
  a.node(aNode("b").label("topology.kubernetes.io/zone", "east"));
  a.node(aNode("c").label("topology.kubernetes.io/zone", "west"));
  a.node(aNode("tainted").taint("only", "others"));
  a.runs(aPod("first").request("cpu", "2"), "a");
  const auto answer = a.ask("{fill: {}, objects: [" + deploymentText("web", 1, "1500m") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 5) << toJson(*answer);
  EXPECT_EQ(memberOf(*answer, "complete"), json::value(true));
  EXPECT_EQ(textAt(*answer, "fill", "of"), "Deployment default/web");
  EXPECT_EQ(textAt(*answer, "fill", "pools", "label"), "topology.kubernetes.io/zone");
  EXPECT_THAT(poolsIn(*answer),
              ElementsAre(": 1 0, 4 > 4", "east: 2 3, 6 > 1500m", "west: 1 2, 4 > 1"));
  EXPECT_THAT(unusableIn(*answer, 0),
              ElementsAre("TaintToleration: node(s) had untolerated taint(s) on 1, 4"));
  EXPECT_THAT(unusableIn(*answer, 1),
              ElementsAre("NodeResourcesFit: Insufficient cpu on 2, 1500m"));
  EXPECT_THAT(std::string(textAt(*answer, "fill", "message")), HasSubstr("3 Insufficient cpu"));
  EXPECT_EQ(a.scheduler->cluster().podTotal(), 1u);
}

TEST(Capacity, a_full_batch_is_followed_by_the_next) {
  Asked a;
  for (int n = 0; n < 50; ++n) a.node(aNode(fmt::format("n{}", n)));
  const auto answer = a.ask("{fill: {}, objects: [" + podText("p", "100m") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 2000);
}

TEST(Capacity, pods_that_exist_do_not_matter_and_none_is_preempted) {
  Asked a;
  a.node(aNode("a"));
  a.runs(aPod("web").request("cpu", "1").priority(1), "a");
  const auto answer = a.ask("{fill: {}, objects: [" + podText("web", "2", 1000) + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 1) << toJson(*answer);
}

TEST(Capacity, gangs_count_as_a_whole) {
  Asked a;
  for (const char* name : {"a", "b", "c"}) a.node(aNode(name));
  const auto answer = a.ask("{fill: {}, objects: [" + gangText("train", 2, "2500m") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 1) << toJson(*answer);
  EXPECT_EQ(memberOf(*at(*answer, "fill"), "podsPerCopy"), json::value(2));
  EXPECT_THAT(poolsIn(*answer), ElementsAre(": 3 2, 12 > 7"));
}

TEST(Capacity, other_changes_of_the_question_come_first) {
  Asked a;
  for (const char* name : {"a", "b"}) a.node(aNode(name));
  const auto answer =
      a.ask("{fill: {}, addNodes: [{count: 2, like: a}], drainNodes: [b], objects: [" +
            podText("p", "4") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 3) << toJson(*answer);
}

TEST(Capacity, a_quota_limits_the_copies_and_its_plugin_says_so) {
  Asked a;
  a.node(aNode("a"));
  const std::string pod =
      "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: "
      "{quota.scheduling.koordinator.sh/name: team}}, spec: {containers: [{name: main, resources: "
      "{requests: {cpu: 500m, memory: 1Mi}}}]}}";
  const std::string quota =
      "{apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: team}, "
      "spec: {min: {cpu: 1, memory: 1Gi}, max: {cpu: 1500m, memory: 1Gi}}}";
  const auto answer = a.ask("{fill: {}, objects: [" + quota + ", " + pod + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 3) << toJson(*answer);
  ASSERT_EQ(unusableIn(*answer).size(), 1u);
  EXPECT_THAT(unusableIn(*answer)[0], HasSubstr("ElasticQuota: "));
  const auto& quotas = memberOf(*answer, "quotas").get_array();
  const auto team =
      std::ranges::find(quotas, "team", [](const json::value& one) { return textAt(one, "name"); });
  ASSERT_NE(team, quotas.end());
  EXPECT_EQ(textAt(*team, "after", "used", "cpu"), "1500m");
}

TEST(Capacity, refuses_objects_without_pods_and_two_questions_at_once) {
  Asked a;
  a.node(aNode("a"));
  EXPECT_THAT(a.refusal("{fill: {}}"), HasSubstr("spec.fill: the objects have no pods"));
  EXPECT_THAT(a.refusal("{nodesFor: {like: a}}"), HasSubstr("spec.nodesFor: the objects have no"));
  EXPECT_THAT(a.refusal("{fill: {}, nodesFor: {like: a}}"), HasSubstr("together with spec.fill"));
  EXPECT_THAT(a.refusal("{nodesFor: {like: a}, drainNodes: [a]}"), HasSubstr("no other nodes"));
  EXPECT_THAT(a.refusal("{nodesFor: {like: b}, objects: [" + podText("p", "1") + "]}"),
              HasSubstr("spec.nodesFor.like: there is no node \"b\""));
  EXPECT_THAT(a.refusal("{fill: {pools: 'a b'}}"), HasSubstr("spec.fill.pools: \"a b\""));
}

// Without the other pods of the copy, the rejected one has a node.
TEST(Capacity, a_rejected_copy_has_its_message_and_the_reasons_of_the_nodes) {
  Asked a;
  a.node(aNode("a"));
  a.node(aNode("tainted").taint("only", "others"));
  const auto answer = a.ask("{fill: {}, objects: [" + deploymentText("web", 3, "1") + ", " +
                            deploymentText("api", 3, "1") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(copiesIn(*answer), 0) << toJson(*answer);
  EXPECT_THAT(std::string(textAt(*answer, "fill", "message")), HasSubstr("1 Insufficient cpu"));
  EXPECT_THAT(
      unusableIn(*answer),
      ElementsAre(": accepts one more pod, but the nodes do not accept a whole copy on 1, 4",
                  "TaintToleration: node(s) had untolerated taint(s) on 1, 4"));
}

TEST(Capacity, a_copy_is_never_cut_short) {
  Asked a;
  a.node(aNode("a"));
  EXPECT_EQ(a.refusal("{fill: {}, objects: [" + deploymentText("web", 15'000, "1") + ", " +
                      deploymentText("api", 15'000, "1") + "]}"),
            "spec.fill: a copy has 30000 pods, and a simulation takes 20000; ask about fewer");
  const auto one = a.ask("{fill: {}, objects: [" + deploymentText("web", 30'000, "1") + "]}");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(copiesIn(*one), 4) << "its copies are single pods";
}

TEST(Capacity, without_the_right_to_list_nodes_only_the_number_is_shown) {
  Asked a;
  a.node(aNode("a"));
  const auto status = a.ask("{fill: {}, objects: [" + podText("p", "1") + "]}");
  ASSERT_TRUE(status) << status.error().message;
  const SomeCaller caller({});
  auto showing = visiblePart(caller, json::object{{"status", *status}});
  Result<json::value> shown;
  TaskGroup tasks;
  tasks.spawn(
      [](auto* task, auto* result) -> Task<void> { *result = co_await *task; }(&showing, &shown));
  ASSERT_TRUE(shown) << shown.error().message;
  const json::value& fill = *at(*shown, "status", "fill");
  EXPECT_EQ(memberOf(fill, "copies"), json::value(4));
  EXPECT_EQ(find(fill, "pools"), nullptr);
}

TEST(NodesNeeded, the_smallest_number_is_found_beside_a_lower_bound) {
  Asked a;
  a.node(aNode("a"));
  a.runs(aPod("other").request("cpu", "4"), "a");
  // 3 of 4 CPUs: one on each node, although three quarters of the nodes have as many CPUs.
  const auto answer =
      a.ask("{nodesFor: {like: a}, objects: [" + deploymentText("web", 8, "3") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  const json::value& needed = memberOf(*answer, "nodesFor");
  EXPECT_EQ(memberOf(needed, "count"), json::value(8)) << toJson(needed);
  EXPECT_EQ(memberOf(needed, "tooFew"), json::value(7));
  EXPECT_EQ(memberOf(needed, "lowerBound"), json::value(6));
  EXPECT_EQ(memberOf(needed, "pods"), json::value(8));
  EXPECT_EQ(memberOf(needed, "pending"), json::value(1));
  EXPECT_THAT(std::string(textAt(needed, "message")), HasSubstr("7 Insufficient cpu"));
}

TEST(NodesNeeded, pods_that_no_node_accepts_need_no_number_of_nodes) {
  Asked a;
  a.node(aNode("a"));
  const auto answer = a.ask(
      "{nodesFor: {node: {status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}}}, "
      "objects: [" +
      podText("small", "1") + ", " + podText("large", "5") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  const json::value& needed = memberOf(*answer, "nodesFor");
  EXPECT_EQ(find(needed, "count"), nullptr) << toJson(needed);
  EXPECT_EQ(memberOf(needed, "lowerBound"), json::value(2));
  EXPECT_EQ(memberOf(needed, "placed"), json::value(1));
  EXPECT_THAT(std::string(textAt(needed, "message")), HasSubstr("2 Insufficient cpu"));
}

TEST(NodesNeeded, the_number_of_pods_bounds_the_nodes_too) {
  Asked a;
  const auto answer = a.ask(
      "{nodesFor: {node: {status: {allocatable: {cpu: 64, memory: 8Gi, pods: 3}}}}, "
      "objects: [" +
      deploymentText("web", 10, "1") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  const json::value& needed = memberOf(*answer, "nodesFor");
  EXPECT_EQ(memberOf(needed, "lowerBound"), json::value(4)) << toJson(needed);
  EXPECT_EQ(memberOf(needed, "count"), json::value(4));
}

TEST(NodesNeeded, there_are_no_other_nodes_and_no_reservations_of_the_cluster) {
  Asked a;
  a.node(aNode("a"));
  const std::string node =
      "{apiVersion: v1, kind: Node, metadata: {name: more}, status: {allocatable: {cpu: 4, pods: "
      "9}}}";
  EXPECT_THAT(
      a.refusal("{nodesFor: {like: a}, objects: [" + node + ", " + podText("p", "1") + "]}"),
      HasSubstr("spec.nodesFor: has no other nodes: the objects must not be Nodes"));
  const std::string reservation = R"({
    "metadata": {"name": "waits", "uid": "r"},
    "spec": {"template": {"spec": {"schedulerName": "default-scheduler", "containers": [
      {"name": "main", "resources": {"requests": {"cpu": "4"}}}]}},
      "owners": [{"object": {"namespace": "default", "name": "nobody"}}], "ttl": "24h"},
    "status": {"phase": "Pending"}})";
  a.scheduler->stores().of<api::Reservation>().set(std::make_shared<const api::Reservation>(
      *api::decode<api::Reservation>(*parseJson(reservation))));
  const auto answer = a.ask("{nodesFor: {like: a}, objects: [" + podText("p", "4") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(memberOf(*answer, "nodesFor"), "count"), json::value(1)) << toJson(*answer);
}

TEST(NodesNeeded, gangs_and_spreading_are_the_schedulers_own) {
  Asked a;
  a.node(aNode("a").label("kubernetes.io/hostname", "a"));
  const auto answer = a.ask("{nodesFor: {like: a}, objects: [" + gangText("train", 5, "1") + "]}");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(memberOf(memberOf(*answer, "nodesFor"), "count"), json::value(2)) << toJson(*answer);
  std::string alone = deploymentText("web", 5, "1");
  const std::string before = "spec: {containers";
  alone.replace(alone.rfind(before), before.size(),
                "spec: {topologySpreadConstraints: [], affinity: {podAntiAffinity: "
                "{requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {matchLabels: "
                "{app: web}}, topologyKey: kubernetes.io/hostname}]}}, containers");
  const auto apart = a.ask("{nodesFor: {like: a}, objects: [" + alone + "]}");
  ASSERT_TRUE(apart) << apart.error().message;
  EXPECT_EQ(memberOf(memberOf(*apart, "nodesFor"), "count"), json::value(5)) << toJson(*apart);
}

}  // namespace koord::scheduler::oracle::testing
