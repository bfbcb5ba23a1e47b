#include "scheduler/framework/slim_pod.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "model/pod_requests.h"

namespace koord::scheduler {
namespace {

api::Pod podOf(std::string_view node) {
  auto document = *parseJson(R"({"metadata":{"name":"p","finalizers":["x/y"],"labels":{"app":"web"},
      "annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{}"}},
    "spec":{"nodeName":"","tolerations":[{"key":"k"}],"priority":7,
      "volumes":[{"name":"scratch"},{"name":"data","persistentVolumeClaim":{"claimName":"c"}}],
      "initContainers":[{"name":"side","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
      "containers":[
        {"name":"same","image":"web:1","command":["run"],"ports":[{"containerPort":80},{"hostPort":81}],
         "resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2"}}},
        {"name":"grown","resources":{"requests":{"cpu":"1"}}}]},
    "status":{"phase":"Running","startTime":"2026-01-01T00:00:00Z","hostIP":"10.0.0.1",
      "conditions":[{"type":"Ready","status":"True"},{"type":"DisruptionTarget","status":"True"},
        {"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},
        {"type":"Initialized","status":"False"}],
      "containerStatuses":[
        {"name":"same","resources":{"requests":{"cpu":"1","memory":"1Gi"}},
         "allocatedResources":{"cpu":"1","memory":"1Gi"}},
        {"name":"grown","image":"web:1","resources":{"requests":{"cpu":"3"}}}]}})");
  auto pod = *api::decode<api::Pod>(document);
  pod.spec.nodeName = node;
  return pod;
}

TEST(SlimPod, a_running_pod_takes_up_what_it_did_before) {
  const api::Pod pod = podOf("n");
  api::Pod slim = pod;
  slimPod(slim);
  EXPECT_EQ(model::podRequests(slim), model::podRequests(pod));
  EXPECT_EQ(slim.status.containerStatuses.size(), 1u);  // the status that differs from the spec
  EXPECT_EQ(slim.spec.containers[0].resources.limits, pod.spec.containers[0].resources.limits);
  ASSERT_EQ(slim.spec.containers[0].ports.size(), 1u);
  EXPECT_EQ(slim.spec.containers[0].ports[0].hostPort, 81);
  ASSERT_EQ(slim.spec.volumes.size(), 1u);
  EXPECT_EQ(slim.spec.volumes[0].name, "data");
  ASSERT_EQ(slim.status.conditions.size(), 1u);
  EXPECT_EQ(slim.status.conditions[0].type, "DisruptionTarget");
  EXPECT_EQ(slim.status.startTime, pod.status.startTime);
  EXPECT_EQ(slim.metadata.labels, pod.metadata.labels);
  EXPECT_EQ(slim.metadata.annotations.size(), 1u);
  EXPECT_TRUE(slim.spec.tolerations.empty() && slim.spec.containers[0].image.empty());
}

TEST(SlimPod, what_a_status_reports_and_nobody_asked_for_is_not_kept) {
  auto pod = *api::decodeText<api::Pod>(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n",
      "containers":[{"name":"c","resources":{"requests":{"kubernetes.io/batch-cpu":"1000"}}}]},
    "status":{"containerStatuses":[{"name":"c","allocatedResources":{"kubernetes.io/batch-cpu":"1k"},
      "resources":{"requests":{"cpu":"1","kubernetes.io/batch-cpu":"1000"}}}]}})");
  slimPod(pod);
  EXPECT_TRUE(pod.status.containerStatuses.empty());
  EXPECT_EQ(model::podTotals(pod).milliCpu, 0);
}

TEST(SlimPod, of_conditions_those_stay_that_say_when_something_was_if_somebody_asks_for_it) {
  const auto kept = [](PodFields keep, std::string_view initialized) {
    api::Pod pod = podOf("n");
    pod.status.conditions.back().status = initialized;
    slimPod(pod, keep);
    std::string types;
    for (const auto& condition : pod.status.conditions) types += condition.type + " ";
    return types;
  };
  EXPECT_EQ(kept(0, "True"), "DisruptionTarget ");
  EXPECT_EQ(kept(field::kScheduledAt, "True"), "DisruptionTarget PodScheduled ");
  EXPECT_EQ(kept(field::kScheduledAt | field::kInitializedAt, "True"),
            "DisruptionTarget PodScheduled Initialized ");
  EXPECT_EQ(kept(field::kInitializedAt, "False"), "DisruptionTarget ");
}

TEST(SlimPod, a_pending_pod_keeps_all_that_its_placing_depends_on) {
  api::Pod pod = podOf("");
  slimPod(pod);
  EXPECT_EQ(pod.spec.containers[0].image, "web:1");
  EXPECT_EQ(pod.spec.tolerations.size(), 1u);
  EXPECT_EQ(pod.spec.volumes.size(), 2u);
}

}  // namespace
}  // namespace koord::scheduler
