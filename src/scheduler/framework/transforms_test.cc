#include "scheduler/framework/transforms.h"

#include <gtest/gtest.h>

#include "model/well_known.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;

constexpr PodTransforms kAll{true, true, true};

std::string textOf(const api::ResourceList& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts)
    text += (text.empty() ? "" : " ") + name + "=" + amount.toString();
  return text;
}

api::Pod transformed(PodBuilder builder, const PodTransforms& transforms = {}) {
  api::Pod pod = *builder.build();
  transformPod(pod, transforms);
  return pod;
}
std::string requestsOf(const api::Pod& pod) {
  return textOf(pod.spec.containers.front().resources.requests);
}

// What is left of 32 cores and 64Gi, with 1000 milli of batch CPU.
std::string left(const char* reservation) {
  NodeBuilder node = aNode("n");
  node.object().status.allocatable = {{"cpu", testing::quantity("32")},
                                      {"memory", testing::quantity("64Gi")},
                                      {std::string(model::kBatchCpu), testing::quantity("1000")}};
  node.object().metadata.annotations[model::kAnnotationNodeReservation] = reservation;
  api::Node object = *node.build();
  transformNode(object);
  return textOf(object.status.allocatable);
}

TEST(Transforms, what_a_node_keeps_is_not_allocatable) {
  const std::string rest = " kubernetes.io/batch-cpu=1k memory=64Gi";
  EXPECT_EQ(left(R"({"resources":{"cpu":"5"}})"), "cpu=27" + rest);
  EXPECT_EQ(left(R"({"reservedCPUs":"0-3"})"), "cpu=28" + rest);
  EXPECT_EQ(left(R"({"resources":{"cpu":"5"},"reservedCPUs":"0-3"})"), "cpu=28" + rest);
  EXPECT_EQ(left(R"({"reservedCPUs":"0-3","applyPolicy":"ReservedCPUsOnly"})"), "cpu=32" + rest);
  EXPECT_EQ(left(R"({"reservedCPUs":"0-3","applyPolicy":"Default"})"), "cpu=28" + rest);
  EXPECT_EQ(left(R"({"resources":{"cpu":"40"}})"), "cpu=0" + rest);
  EXPECT_EQ(left(R"({"resources":{"memory":"2Gi"}})"),
            "cpu=32 kubernetes.io/batch-cpu=1k memory=62Gi");
  EXPECT_EQ(left(R"({"resources":{"kubernetes.io/batch-cpu":"300"}})"), "cpu=32" + rest)
      << "the manager has subtracted it already";
  EXPECT_EQ(left(R"({"resources":{"example.com/gpu":"1"}})"), "cpu=32 example.com/gpu=0" + rest);
}

TEST(Transforms, a_reservation_that_cannot_be_read_keeps_nothing) {
  const std::string all = "cpu=32 kubernetes.io/batch-cpu=1k memory=64Gi";
  for (const char* bad : {"{bad json", "", "[]", R"({"resources":{"cpu":"many"}})",
                          R"({"resources":{"cpu":"5"},"reservedCPUs":"3-x"})", "{}", "null",
                          R"({"resources":{"cpu":"0"}})"}) {
    EXPECT_EQ(left(bad), all) << bad;
  }
}

TEST(Transforms, what_is_reserved_of_batch_resources_leaves_them_alone) {
  NodeBuilder node = aNode("n");
  node.object().status.allocatable = {{"koordinator.sh/batch-cpu", testing::quantity("5")}};
  node.object().metadata.annotations[model::kAnnotationNodeReservation] =
      R"({"resources":{"kubernetes.io/batch-cpu":"1","kubernetes.io/batch-memory":"1Gi"}})";
  api::Node object = *node.build();
  transformNode(object);
  EXPECT_EQ(textOf(object.status.allocatable), "kubernetes.io/batch-cpu=5");
}

TEST(Transforms, deprecated_names_become_those_of_today) {
  PodBuilder pod =
      aPod("p").request("koordinator.sh/batch-cpu", "500").request("kubernetes.io/gpu-core", "50");
  pod.object().spec.overhead["koordinator.sh/batch-memory"] = testing::quantity("1Mi");
  pod.object().spec.initContainers = pod.object().spec.containers;
  const api::Pod today = transformed(pod);
  EXPECT_EQ(requestsOf(today), "koordinator.sh/gpu-core=50 kubernetes.io/batch-cpu=500");
  EXPECT_EQ(textOf(today.spec.initContainers.front().resources.requests), requestsOf(today));
  EXPECT_EQ(textOf(today.spec.overhead), "kubernetes.io/batch-memory=1Mi");

  const api::Pod both = transformed(aPod("p")
                                        .request("koordinator.sh/batch-cpu", "500")
                                        .request("kubernetes.io/batch-cpu", "700"));
  EXPECT_EQ(requestsOf(both), "koordinator.sh/batch-cpu=500 kubernetes.io/batch-cpu=700")
      << "what is there already stays";

  NodeBuilder node = aNode("n");
  node.object().status.allocatable = {{"koordinator.sh/batch-cpu", testing::quantity("5")}};
  node.object().status.capacity = {{"kubernetes.io/fpga", testing::quantity("2")}};
  api::Node object = *node.build();
  transformNode(object);
  EXPECT_EQ(textOf(object.status.allocatable), "kubernetes.io/batch-cpu=5");
  EXPECT_EQ(textOf(object.status.capacity), "koordinator.sh/fpga=2");
}

TEST(Transforms, also_in_what_a_pod_was_given_of_devices) {
  const auto given = [](const char* text) {
    PodBuilder pod = aPod("p");
    pod.object().metadata.annotations[model::kAnnotationDeviceAllocated] = text;
    return transformed(pod).metadata.annotations.at(model::kAnnotationDeviceAllocated);
  };
  EXPECT_EQ(given(R"({"gpu": [{"minor": 1, "resources": {"kubernetes.io/gpu-core": "100"}}]})"),
            R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  for (const char* same :
       {R"({"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}}]})",
        R"({"gpu": "kubernetes.io/gpu-core", "x": ["kubernetes.io/gpu"]})", R"("kubernetes.io/)"})
    EXPECT_EQ(given(same), same);
}

TEST(Transforms, the_label_has_the_last_word_on_the_scheduler) {
  const api::Pod pod =
      transformed(aPod("p").label(std::string(model::kLabelSchedulerName), "koord-scheduler"));
  EXPECT_EQ(pod.spec.schedulerName, "koord-scheduler");
  EXPECT_EQ(pod.metadata.annotations.at(model::kAnnotationOriginalSchedulerName),
            "default-scheduler");
  const api::Pod same =
      transformed(aPod("p").label(std::string(model::kLabelSchedulerName), "default-scheduler"));
  EXPECT_TRUE(same.metadata.annotations.empty());
}

TEST(Transforms, gates_decide_about_the_others) {
  PodBuilder builder = aPod("p")
                           .request("cpu", "1500m")
                           .request("memory", "1Gi")
                           .label(std::string(model::kLabelPriorityClass), "koord-batch");
  builder.object().metadata.annotations[model::kAnnotationReplaceResources] =
      " cpu : kubernetes.io/batch-cpu ,memory:, nonsense, a:b:c";
  const api::Pod off = transformed(builder);
  EXPECT_EQ(requestsOf(off), "cpu=1500m memory=1Gi");
  EXPECT_FALSE(off.spec.priority);
  EXPECT_FALSE(off.spec.preemptionPolicy);
  const api::Pod on = transformed(builder, kAll);
  EXPECT_EQ(requestsOf(on), "kubernetes.io/batch-cpu=1500") << "cores become thousandths";
  EXPECT_EQ(on.spec.priority, 5500);
  EXPECT_EQ(*on.spec.preemptionPolicy, "Never");
  builder.object().spec.priority = 7;
  builder.label(std::string(model::kLabelPreemptionPolicy), "PreemptLowerPriority");
  const api::Pod own = transformed(builder, kAll);
  EXPECT_EQ(own.spec.priority, 7);
  EXPECT_EQ(*own.spec.preemptionPolicy, "PreemptLowerPriority");
}

}  // namespace
}  // namespace koord::scheduler
