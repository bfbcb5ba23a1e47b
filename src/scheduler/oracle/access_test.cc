#include "scheduler/oracle/access.h"

#include "scheduler/oracle/oracle_fixture.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler::oracle::testing {
namespace {

Task<void> keepVisible(const kube::Caller* caller, json::value answer, json::value* visible) {
  auto hiding = visiblePart(*caller, std::move(answer));
  auto seen = co_await hiding;
  if (seen) *visible = memberOf(*seen, "status");
}

json::value visibleTo(std::set<std::string> rights, const std::string& status) {
  const SomeCaller caller(std::move(rights));
  json::value visible;
  TaskGroup tasks;
  tasks.spawn(keepVisible(&caller, json::object{{"status", *parseYaml(status)}}, &visible));
  return visible;
}

Question questionOf(const std::string& spec) {
  return *readQuestion(simulationWith(spec));
}

std::vector<std::string> rightsOf(const std::string& spec) {
  std::vector<std::string> rights;
  for (const auto& right : rightsFor(questionOf(spec), "home")) rights.push_back(describe(right));
  return rights;
}

TEST(OracleAccess, each_object_needs_the_right_to_create_it_in_its_namespace) {
  EXPECT_THAT(rightsOf(R"(
objects:
- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: x}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
  - {apiVersion: apps/v1, kind: DeploymentList, items: [{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: z}}]}
- {apiVersion: scheduling.koordinator.sh/v1alpha1, kind: Reservation, metadata: {name: r, namespace: x}}
addNodes: [{count: 1, like: a}]
drainNodes: [b]
loseNodes: [c]
configuration: {})"),
              ElementsAre("create pods in namespace \"x\"",
                          "create deployments.apps in namespace \"default\"",
                          "create deployments.apps in namespace \"z\"",
                          "create reservations.scheduling.koordinator.sh", "create nodes",
                          "patch nodes \"b\"", "delete nodes \"c\"",
                          "update configmaps in namespace \"home\""));
}

TEST(OracleAccess, objects_that_are_not_simulated_need_no_right) {
  EXPECT_THAT(rightsOf(R"(
objects:
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}})"),
              IsEmpty());
}

TEST(OracleAccess, an_object_that_exists_needs_the_right_to_update_it) {
  Asked f;
  Stores& stores = f.scheduler->stores();
  auto quota = std::make_shared<api::ElasticQuota>();
  quota->metadata.namespace_ = "x";
  quota->metadata.name = "q";
  stores.of<api::ElasticQuota>().set(quota);
  auto set = std::make_shared<api::StatefulSetSelection>();
  set->metadata.namespace_ = "x";
  set->metadata.name = "db";
  stores.of<api::StatefulSetSelection>().set(set);
  std::vector<std::string> rights;
  for (const auto& right : rightsToChange(questionOf(R"(
objects:
- {apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: q, namespace: x}}
- {apiVersion: scheduling.sigs.k8s.io/v1alpha1, kind: ElasticQuota, metadata: {name: q}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: x}}
- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: other, namespace: x}})"),
                                          *f.scheduler))
    rights.push_back(describe(right));
  EXPECT_THAT(rights, ElementsAre("update elasticquotas.scheduling.sigs.k8s.io \"q\" in namespace "
                                  "\"x\"",
                                  "update statefulsets.apps \"db\" in namespace \"x\""));
}

constexpr const char* kStatus = R"(
pods:
- {namespace: mine, name: p, state: placed, node: a}
- {namespace: theirs, name: moved, from: b, state: placed, node: a}
victims:
- {namespace: theirs, name: victim, node: a, preemptor: mine/p}
- {namespace: mine, name: old, node: a, preemptor: theirs/waits}
others:
- {namespace: theirs, name: waits, node: a}
remedies:
- {pods: 1, namespace: mine, name: p, nearestMiss: {node: c}, butForOne: [], nodes: {count: 1, like: c}}
- {pods: 1, namespace: theirs, name: moved}
quotas: [{name: q}]
nodes: [{name: a, before: {cpu: 1}, after: {cpu: 2}}])";

TEST(OracleAccess, a_caller_without_rights_learns_numbers_only) {
  EXPECT_EQ(visibleTo({"list pods in namespace \"mine\""}, kStatus), *parseYaml(R"(
pods: [{namespace: mine, name: p, state: placed, node: a}]
hiddenPods: 1
victims: [{namespace: mine, name: old, node: a}]
hiddenVictims: 1
others: []
hiddenOthers: 1
remedies: [{pods: 1, namespace: mine, name: p, nodes: {count: 1}}]
hiddenRemedies: 1)"));
}

TEST(OracleAccess, a_caller_who_may_list_everything_sees_everything) {
  EXPECT_EQ(
      visibleTo({"list pods", "list nodes", "list elasticquotas.scheduling.sigs.k8s.io"}, kStatus),
      *parseYaml(kStatus));
}

}  // namespace
}  // namespace koord::scheduler::oracle::testing
