#include "scheduler/plugins/volumerestrictions/plugin.h"

#include <gtest/gtest.h>

#include "scheduler/testing/volumes.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aClaim;
using testing::aNode;
using testing::aPod;
using testing::PodBuilder;
using testing::World;

const std::string kDisk = "Unschedulable: node(s) had no available disk";
const std::string kSole =
    "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
    "mode already "
    "in-use by another pod";

struct RestrictionsTest : ::testing::Test {
  World world;
  Plugin* plugin = nullptr;
  RestrictionsTest() {
    plugin = &world.only(std::make_unique<VolumeRestrictions>(world));
    for (const char* name : {"n1", "n2"}) world.node(aNode(name));
  }
  static PodBuilder withDisk(const char* name, json::value api::Volume::* kind,
                             const char* source) {
    PodBuilder pod = aPod(name);
    pod.object().spec.volumes.emplace_back().*kind = *parseJson(source);
    return pod;
  }
  // Returns true if both may be on one node.
  bool together(json::value api::Volume::* kind, const char* a, const char* b) {
    const PodPtr other = world.bound(withDisk("other", kind, a).nodeName("n1"));
    auto answers = world.filter(world.pod(withDisk("p", kind, b)));
    EXPECT_EQ(answers["n2"], "");
    EXPECT_TRUE(answers["n1"].empty() || answers["n1"] == kDisk);
    world.cluster().removePod(other->uid());
    return answers["n1"].empty();
  }
};

TEST_F(RestrictionsTest, a_disk_is_shared_on_a_node_only_where_its_kind_allows_it) {
  const auto gce = &api::Volume::gcePersistentDisk;
  EXPECT_FALSE(together(gce, R"({"pdName":"d"})", R"({"pdName":"d","readOnly":true})"));
  EXPECT_TRUE(
      together(gce, R"({"pdName":"d","readOnly":true})", R"({"pdName":"d","readOnly":true})"));
  EXPECT_TRUE(together(gce, R"({"pdName":"d"})", R"({"pdName":"e"})"));
  const auto aws = &api::Volume::awsElasticBlockStore;
  EXPECT_FALSE(
      together(aws, R"({"volumeID":"v","readOnly":true})", R"({"volumeID":"v","readOnly":true})"));
  const auto iscsi = &api::Volume::iscsi;
  EXPECT_FALSE(together(iscsi, R"({"iqn":"q"})", R"({"iqn":"q"})"));
  EXPECT_TRUE(together(iscsi, R"({"iqn":"q","readOnly":true})", R"({"iqn":"q","readOnly":true})"));
  const auto rbd = &api::Volume::rbd;
  EXPECT_FALSE(together(rbd, R"({"monitors":["a","b"],"pool":"p","image":"i"})",
                        R"({"monitors":["b"],"pool":"p","image":"i"})"));
  EXPECT_TRUE(together(rbd, R"({"monitors":["a"],"pool":"p","image":"i"})",
                       R"({"monitors":["b"],"pool":"p","image":"i"})"));
}

TEST_F(RestrictionsTest, a_claim_for_one_pod_is_free_again_when_that_pod_has_gone) {
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("c").mode("ReadWriteOncePod").build());
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("shared").build());
  EXPECT_EQ(world.filter(world.pod(aPod("p").claim("c")))["n1"], "");
  const PodPtr user = world.bound(aPod("u").claim("c").claim("shared").nodeName("n1"));
  EXPECT_EQ(world.filter(world.pod(aPod("p").claim("shared")))["n1"], "");
  auto answers = world.filter(world.pod(aPod("p").claim("c")));
  EXPECT_EQ(answers["n1"], kSole);
  EXPECT_EQ(answers["n2"], kSole);
  EXPECT_EQ(world.filter(world.pod(aPod("p", "elsewhere").claim("absent")))["n1"],
            "UnschedulableAndUnresolvable: persistentvolumeclaim \"absent\" not found");

  ClusterEvent gone;
  gone.oldPod = user;
  const auto hint = dynamic_cast<EnqueueExtensions&>(*plugin).eventsToRegister()[0].hint;
  EXPECT_EQ(hint(*world.pod(aPod("p").claim("c")), gone), Hint::Queue);
  EXPECT_EQ(hint(*world.pod(aPod("p").claim("other")), gone), Hint::Skip);
  world.cluster().removePod(user->uid());
  EXPECT_EQ(world.filter(world.pod(aPod("p").claim("c")))["n1"], "");
}

TEST_F(RestrictionsTest, a_disk_is_free_for_pods_of_all_namespaces) {
  const auto gce = &api::Volume::gcePersistentDisk;
  PodBuilder user("u", "elsewhere");
  user.object().spec.volumes.emplace_back().*gce = *parseJson(R"({"pdName":"d"})");
  ClusterEvent gone;
  gone.oldPod = world.pod(std::move(user));
  const auto hint = dynamic_cast<EnqueueExtensions&>(*plugin).eventsToRegister()[0].hint;
  EXPECT_EQ(hint(*world.pod(withDisk("p", gce, R"({"pdName":"d"})")), gone), Hint::Queue);
  EXPECT_EQ(hint(*world.pod(withDisk("p", gce, R"({"pdName":"e"})")), gone), Hint::Skip);
}

TEST_F(RestrictionsTest, a_claim_for_one_pod_is_free_when_the_node_of_that_pod_was_deleted) {
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("c").mode("ReadWriteOncePod").build());
  world.bound(aPod("u").claim("c").nodeName("n1"));
  EXPECT_EQ(world.filter(world.pod(aPod("p").claim("c")))["n2"], kSole);
  world.cluster().removeNode("n1");
  EXPECT_EQ(world.filter(world.pod(aPod("p").claim("c")))["n2"], "");
}

}  // namespace
}  // namespace koord::scheduler
