#include "cluster/controllers/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/rollout.h"

namespace koord::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSet = R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: v1}]}}
)";
constexpr const char* kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: lone, labels: {app: web}}
spec: {containers: [{name: c, image: v1}]}
)";

class OwnershipTest : public ControllersTest {
 protected:
  std::string controllerOf(const std::string& pod) {
    const auto object = cluster.get<api::Pod>(pod);
    const auto* owner = api::controllerOf(object->metadata);
    return owner ? owner->name : "";
  }
};

TEST_F(OwnershipTest, APodOfNobodyIsAdoptedAndOneThatDoesNotMatchIsReleased) {
  cluster.create(kPod);
  cluster.create(kSet);
  ASSERT_TRUE(untilPods(2));
  EXPECT_EQ(controllerOf("lone"), "web");
  EXPECT_EQ(cluster.get<api::Pod>("lone")->metadata.ownerReferences.size(), 1u);
  cluster.patch<api::Pod>("lone", "metadata: {labels: {app: other}}");
  ASSERT_TRUE(untilPods(3));
  EXPECT_EQ(controllerOf("lone"), "");
  EXPECT_TRUE(cluster.get<api::Pod>("lone")->metadata.ownerReferences.empty());
  EXPECT_EQ(cluster.get<api::ReplicaSet>("web")->status.replicas, 2);
  // With its label restored, it is surplus.
  cluster.patch<api::Pod>("lone", "metadata: {labels: {app: web}}");
  EXPECT_TRUE(untilPods(2));
}

TEST_F(OwnershipTest, AnOwnerThatIsGoneOrGoingAdoptsNothing) {
  cluster.create(kPod);
  cluster.create(
      "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: old, finalizers: "
      "[example.com/keep]}\n"
      "spec: {replicas: 0, selector: {matchLabels: {app: old}}, template: {metadata: {labels: "
      "{app: old}}, spec: {containers: [{name: c, image: i}]}}}");
  const auto seen = *cluster.get<api::ReplicaSet>("old");
  const auto pod = std::make_shared<api::Pod>(*cluster.get<api::Pod>("lone"));
  const auto claim = [&](const api::ObjectMeta& owner) {
    Claims claims(cluster.api, {api::ReplicaSet::kType, owner}, api::Pod::kType);
    return cluster.run(claims.claim({pod, &pod->metadata}, true));
  };
  cluster.remove<api::ReplicaSet>("old");
  auto refused = claim(seen.metadata);  // the old version
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has just been deleted at"));
  auto another = seen.metadata;
  another.uid = "another";
  refused = claim(another);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is gone: got uid"));
  const auto going = *cluster.get<api::ReplicaSet>("old");
  const auto no = claim(going.metadata);
  ASSERT_TRUE(no);
  EXPECT_FALSE(*no);
  EXPECT_EQ(controllerOf("lone"), "");
}

TEST_F(OwnershipTest, AJobReleasesAPodWithItsFinalizer) {
  cluster.create(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: "
      "{restartPolicy: Never, containers: [{name: c, image: i}]}}}");
  ASSERT_TRUE(untilPods(1));
  const auto name = activePods()[0].metadata.name;
  cluster.patch<api::Pod>(
      name, "metadata: {labels: {batch.kubernetes.io/controller-uid: null, controller-uid: null}}");
  ASSERT_TRUE(untilPods(2));
  EXPECT_EQ(controllerOf(name), "");
  EXPECT_TRUE(cluster.get<api::Pod>(name)->metadata.finalizers.empty());
}

TEST_F(OwnershipTest, ANameThatSomebodyElseHasIsNotInTheWay) {
  const std::string deployment =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: "
      "{matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: "
      "[{name: c, image: v1}]}}}";
  cluster.create(deployment);
  ASSERT_TRUE(untilPods(1));
  const auto first = cluster.list<api::ReplicaSet>()[0].metadata.name;
  // After a change of its labels, the set is released and keeps its name.
  cluster.patch<api::ReplicaSet>(first, "metadata: {labels: {app: other}}");
  ASSERT_TRUE(untilPods(2));
  EXPECT_FALSE(api::controllerOf(cluster.get<api::ReplicaSet>(first)->metadata));
  const auto sets = cluster.list<api::ReplicaSet>();
  ASSERT_EQ(sets.size(), 2u);
  cluster.loop.advance(10s);
  EXPECT_EQ(cluster.list<api::ReplicaSet>().size(), 2u);
  setPhase("Running");
  EXPECT_EQ(cluster.get<api::Deployment>("web")->status.availableReplicas, 1);
}

TEST(ShareOutTest, ASizeChangesInProportion) {
  const auto at = [](int second) { return WallTime(std::chrono::seconds(second)); };
  const RolloutLimits grown{.desired = 20, .maxSurge = 5, .maxUnavailable = 5};
  // Twice as many, as they were: 8 of 10 old ones and 4 new.
  EXPECT_THAT(distributeReplicas(grown, {{8, 12, at(0)}, {4, 12, at(1)}}), ElementsAre(17, 8));
  const RolloutLimits shrunk{.desired = 5, .maxSurge = 1, .maxUnavailable = 1};
  EXPECT_THAT(distributeReplicas(shrunk, {{8, 12, at(0)}, {4, 12, at(1)}}), ElementsAre(4, 2));
  EXPECT_THAT(distributeReplicas({}, {{8, 12, at(0)}, {4, 12, at(1)}}), ElementsAre(0, 0));
  // Of two equal sets the newer gets the remainder.
  const RolloutLimits one{.desired = 11};
  EXPECT_THAT(distributeReplicas(one, {{5, 10, at(0)}, {5, 10, at(1)}}), ElementsAre(5, 6));
  EXPECT_THAT(distributeReplicas(one, {{0, 10, at(0)}, {10, 10, at(1)}}), ElementsAre(0, 11));
}

}  // namespace
}  // namespace koord::cluster
