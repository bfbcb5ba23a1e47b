#include "scheduler/engine/pod_shapes.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "scheduler/engine/cluster.h"

namespace koord::scheduler {
namespace {

struct Pods {
  Cluster cluster;

  static api::Pod aPodNamed(const std::string& name) {
    api::Pod pod;
    pod.metadata.name = pod.metadata.uid = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.labels = {{"app", "web"}};
    pod.spec.containers.emplace_back().resources.requests["cpu"] = *Quantity::parse("2");
    return pod;
  }
  PodPtr info(api::Pod pod) {
    const auto object = std::make_shared<const api::Pod>(std::move(pod));
    (void)cluster.shapes().of(*object);  // the first pod of its kind
    return makePodInfo(cluster, object);
  }
  ShapeId shape(api::Pod pod) { return info(std::move(pod))->shape; }
};

TEST(PodShapes, podsOfOneTemplateHaveOneShape) {
  Pods pods;
  const PodPtr one = pods.info(Pods::aPodNamed("one"));
  const PodPtr two = pods.info(Pods::aPodNamed("two"));
  EXPECT_NE(one->shape, 0U);
  EXPECT_EQ(one->shape, two->shape);
  EXPECT_EQ(two->request.base[kCpu], 2000);
  EXPECT_EQ(two->request, one->request);
  api::Pod bound = Pods::aPodNamed("one");
  bound.spec.nodeName = "node";
  bound.status.phase = "Running";
  EXPECT_EQ(pods.shape(bound), one->shape);
}

TEST(PodShapes, whateverAPodSaysDifferentlyIsAnotherShape) {
  Pods pods;
  const ShapeId plain = pods.shape(Pods::aPodNamed("plain"));
  std::vector<api::Pod> others(9, Pods::aPodNamed("other"));
  others[0].metadata.labels["app"] = "db";
  others[1].metadata.annotations["a"] = "b";
  others[2].metadata.namespace_ = "team";
  others[3].spec.containers[0].resources.requests["cpu"] = *Quantity::parse("3");
  others[4].spec.priority = 7;
  others[5].spec.nodeSelector["zone"] = "a";
  others[6].spec.tolerations.emplace_back().key = "k";
  others[7].metadata.ownerReferences.push_back({"apps/v1", "ReplicaSet", "web", "u", true, true});
  others[8].spec.initContainers.emplace_back().name = "init";
  std::set<ShapeId> shapes{plain};
  for (const api::Pod& other : others) shapes.insert(pods.shape(other));
  EXPECT_EQ(shapes.size(), 10U);
  EXPECT_FALSE(shapes.contains(0));
}

TEST(PodShapes, podsThatAreLikeNoOtherHaveNone) {
  Pods pods;
  const auto object = std::make_shared<const api::Pod>(Pods::aPodNamed("first"));
  EXPECT_EQ(makePodInfo(pods.cluster, object)->shape, 0U);
  EXPECT_NE(makePodInfo(pods.cluster, object)->shape, 0U);
  api::Pod talks = Pods::aPodNamed("talks");
  talks.metadata.annotations["a"] = std::string(10'000, 'x');
  EXPECT_EQ(pods.shape(talks), 0U);
  api::Pod social = Pods::aPodNamed("social");
  social.spec.affinity.emplace();
  EXPECT_EQ(pods.shape(social), 0U);
  api::Pod resized = Pods::aPodNamed("resized");
  resized.status.containerStatuses.emplace_back();
  EXPECT_EQ(pods.shape(resized), 0U);
  api::Pod imaged = Pods::aPodNamed("imaged");
  imaged.spec.volumes.emplace_back().image = json::object{{"reference", "r"}};
  EXPECT_EQ(pods.shape(imaged), 0U);
  api::Pod whole = Pods::aPodNamed("whole");
  whole.spec.resources.emplace();
  EXPECT_EQ(pods.shape(whole), 0U);
}

TEST(PodShapes, whatFollowsFromAShapeIsReadOnce) {
  Pods pods;
  api::Pod pod = Pods::aPodNamed("one");
  pod.spec.containers[0].ports.push_back({"http", 80, 8080, "", {}});
  const PodPtr one = pods.info(pod);
  pod.metadata.name = pod.metadata.uid = "two";
  const PodPtr two = pods.info(pod);
  EXPECT_EQ(two->uid(), "two");
  EXPECT_EQ(two->ports, one->ports);
  EXPECT_EQ(two->labelSet, one->labelSet);
  EXPECT_EQ(two->nonZeroMemory, one->nonZeroMemory);
  pod.spec.containers[0].ports[0].hostPort = 81;
  EXPECT_EQ(pods.info(pod)->ports[0].port, 81);
}

TEST(PodShapes, manyTemplatesAreNotKeptForGood) {
  Pods pods;
  std::set<ShapeId> shapes;
  for (int n = 0; n < 10'000; ++n) {
    api::Pod pod = Pods::aPodNamed("p");
    pod.metadata.labels["n"] = std::to_string(n);
    shapes.insert(pods.shape(pod));
  }
  EXPECT_EQ(shapes.size(), 10'000U);
  EXPECT_LE(pods.cluster.shapes().size(), 4096U);
}

TEST(ByShape, worksThingsOutOncePerShape) {
  Pods pods;
  ByShape<int> facts;
  int made = 0;
  const auto make = [&] { return ++made; };
  const PodPtr one = pods.info(Pods::aPodNamed("one"));
  api::Pod database = Pods::aPodNamed("two");
  database.metadata.labels["app"] = "db";
  const PodPtr two = pods.info(database);
  EXPECT_EQ(facts.find(*one), nullptr);
  EXPECT_EQ(facts.of(*one, make), 1);
  EXPECT_EQ(facts.of(*two, make), 2);
  EXPECT_EQ(facts.of(*pods.info(Pods::aPodNamed("three")), make), 1);
  EXPECT_EQ(*facts.find(*two), 2);
  // Without a shape: while it is the same pod.
  api::Pod social = Pods::aPodNamed("lone");
  social.spec.affinity.emplace();
  const PodPtr lone = pods.info(social);
  EXPECT_EQ(facts.of(*lone, make), 3);
  EXPECT_EQ(facts.of(*lone, make), 3);
  EXPECT_EQ(facts.find(*lone), nullptr);
  EXPECT_EQ(facts.of(*one, make), 1);
  facts.clear();
  EXPECT_EQ(facts.of(*one, make), 4);
}

TEST(ByShape, aLaterShapeTakesThePlaceOfOneThatWasGivenLongAgo) {
  ByShape<int> facts;
  PodInfo early, late;
  early.shape = 7;
  late.shape = 7 + PodShapes::kMaxShapes;
  EXPECT_EQ(facts.of(early, [] { return 1; }), 1);
  EXPECT_EQ(facts.of(late, [] { return 2; }), 2);
  EXPECT_EQ(facts.find(early), nullptr);
  EXPECT_EQ(facts.of(early, [] { return 3; }), 3);
}

}  // namespace
}  // namespace koord::scheduler
