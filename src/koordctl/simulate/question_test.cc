#include "koordctl/simulate/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/yaml.h"
#include "koordctl/simulate/simulation_text.h"
#include "model/manifest.h"

namespace koord::koordctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SimulateQuestion, lists_are_opened_and_namespaces_added) {
  const auto objects = model::objectsIn(R"(
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}}
- {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: shop}}
---
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Reservation
metadata: {name: r}
)",
                                        "team");
  ASSERT_TRUE(objects) << objects.error().message;
  ASSERT_EQ(objects->size(), 3u);
  EXPECT_EQ(textAt((*objects)[0], "metadata", "namespace"), "team");
  EXPECT_EQ(textAt((*objects)[1], "metadata", "namespace"), "shop");
  EXPECT_EQ(find(memberOf((*objects)[2], "metadata"), "namespace"), nullptr);
}

TEST(SimulateQuestion, documents_that_are_not_objects_are_refused) {
  const auto objects = model::objectsIn("{kind: Pod}\n---\njust a text\n", "team");
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.error().message, "document 2: must be an object, with apiVersion and kind");
}

TEST(SimulateQuestion, a_template_becomes_a_pod_and_takes_what_the_dry_run_added) {
  json::value job = *parseYaml(R"(
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: team}
spec:
  parallelism: 3
  template:
    metadata: {labels: {app: work}}
    spec: {containers: [{name: main}]}
)");
  json::value pod = podOf(job);
  EXPECT_EQ(textAt(pod, "kind"), "Pod");
  EXPECT_EQ(textAt(pod, "metadata", "namespace"), "team");
  pod.get_object()["spec"].get_object()["priority"] = 9000;
  pod.get_object()["metadata"].get_object()["labels"] = json::object{{"qos", "BE"}};
  takePod(job, pod);
  EXPECT_EQ(*at(job, "spec", "template", "spec", "priority"), json::value(9000));
  EXPECT_EQ(textAt(*at(job, "spec", "template"), "metadata", "labels", "qos"), "BE");
  EXPECT_EQ(*at(job, "spec", "parallelism"), json::value(3));
  EXPECT_TRUE(podOf(*parseYaml("{apiVersion: v1, kind: Service, spec: {}}")).is_null());
}

TEST(SimulateQuestion, shapes_are_nodes_or_amounts) {
  EXPECT_EQ(toJson(*newNodes(2, "node-7")), R"({"count":2,"like":"node-7"})");
  const auto nodes = newNodes(1, "cpu=8,memory=32Gi");
  ASSERT_TRUE(nodes);
  EXPECT_EQ(toJson(*at(*nodes, "node", "status", "allocatable")),
            R"({"cpu":"8","memory":"32Gi","pods":"110"})");
  EXPECT_THAT(newNodes(1, "cpu=many").error().message, HasSubstr("--shape \"cpu=many\""));
}

TEST(SimulateText, pods_of_one_workload_on_one_node_share_a_line) {
  const json::value result = *parseYaml(R"(
status:
  complete: true
  placed: 2
  pending: 1
  pods:
  - {namespace: d, name: w-0, of: Job d/w, state: placed, node: a}
  - {namespace: d, name: w-1, of: Job d/w, state: placed, node: a}
  - {namespace: d, name: w-2, of: Job d/w, state: pending, message: 0/1 nodes are available}
  remedies:
  - {pods: 1, of: Job d/w, nearestMiss: {node: a, missing: {cpu: "2"}}, nodes: {count: 1, like: a}}
  victims:
  - {namespace: d, name: low, node: a, priority: 1, preemptor: d/w-0, preemptorPriority: 9, plugin: P}
  hiddenVictims: 2
)");
  const std::string text = simulationText(result, false);
  EXPECT_THAT(text, HasSubstr("2 placed, 1 pending"));
  EXPECT_THAT(text, HasSubstr("2 pods of Job d/w"));
  EXPECT_THAT(text, HasSubstr("Pending  d/w-2: 0/1 nodes are available"));
  EXPECT_THAT(text, HasSubstr("a lacks 2 cpu; 1 more node like a would do"));
  EXPECT_THAT(text, HasSubstr("3 pods would be preempted"));
  EXPECT_THAT(text, HasSubstr("1 < 9"));
  EXPECT_THAT(text, HasSubstr("2 pods in namespaces that you may not read"));
  EXPECT_THAT(simulationText(result, true), HasSubstr("d/w-1"));
  EXPECT_THAT(text, Not(HasSubstr("d/w-1")));
  EXPECT_FALSE(allPlaced(result));
  EXPECT_FALSE(allPlaced(json::value(5)));
  EXPECT_THAT(simulationText(json::value(5), false), HasSubstr("no status"));
}

TEST(SimulateText, pods_that_the_answer_hides_are_counted_and_must_have_nodes) {
  const json::value pending =
      *parseYaml("status: {complete: true, placed: 1, pending: 1, hiddenPods: 2, pods: []}");
  EXPECT_THAT(simulationText(pending, false),
              HasSubstr("2 more pods in namespaces that you may not read"));
  EXPECT_FALSE(allPlaced(pending));
  EXPECT_TRUE(allPlaced(
      *parseYaml("status: {complete: true, placed: 2, pending: 0, hiddenPods: 2, pods: []}")));
}

}  // namespace
}  // namespace koord::koordctl
