#include "scheduler/plugins/nodevolumelimits/plugin.h"

#include <gtest/gtest.h>

#include "scheduler/testing/volumes.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aClaim;
using testing::aClass;
using testing::aNode;
using testing::aPod;
using testing::aVolume;
using testing::World;

const std::string kNoMoreVolumes = "Unschedulable: node(s) exceed max volume count";

struct VolumeLimitsTest : ::testing::Test {
  World world;
  VolumeLimitsTest() {
    world.only(std::make_unique<NodeVolumeLimits>(world));
    world.node(aNode("n1"));
    world.node(aNode("free"));
    limit(2);
    for (const char* name : {"a", "b", "c", "d"}) {
      world.stores().of<api::PersistentVolumeClaim>().set(
          aClaim(name).bound(std::string("pv-") + name).build());
      world.stores().of<api::PersistentVolume>().set(
          aVolume(std::string("pv-") + name).csi("disk.csi", name).build());
    }
  }
  void limit(int count) {
    auto node = std::make_shared<api::CSINode>();
    node->metadata.name = "n1";
    node->spec.drivers.push_back({"disk.csi", api::VolumeNodeResources{count}});
    world.stores().of<api::CSINode>().set(node);
  }
  std::string on(const char* node, const testing::PodBuilder& pod) {
    return world.filter(world.pod(pod))[node];
  }
};

TEST_F(VolumeLimitsTest, distinct_volumes_of_a_driver_count_once_against_its_limit) {
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("b")), "");
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("b").claim("c")), kNoMoreVolumes);
  EXPECT_EQ(on("free", aPod("p").claim("a").claim("b").claim("c")), "") << "its limit is not known";
  world.bound(aPod("e1").claim("a").claim("b").nodeName("n1"));
  EXPECT_EQ(on("n1", aPod("p").claim("c")), kNoMoreVolumes);
  EXPECT_EQ(on("n1", aPod("p").claim("a")), "") << "it is there already";
  limit(3);
  EXPECT_EQ(on("n1", aPod("p").claim("c")), "");
  world.cluster().removePod("uid-default-e1");
  limit(2);
  EXPECT_EQ(on("n1", aPod("p").claim("c")), "");
}

TEST_F(VolumeLimitsTest, attached_volumes_and_claims_yet_to_be_bound_count_too) {
  auto attachment = std::make_shared<api::VolumeAttachment>();
  attachment->metadata.name = "x";
  attachment->spec = {"disk.csi", {"pv-d"}, "n1"};
  world.stores().of<api::VolumeAttachment>().set(attachment);
  EXPECT_EQ(on("n1", aPod("p").claim("a")), "");
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("d")), "");
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("b")), kNoMoreVolumes);
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("new").build());
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("new")), "") << "of no known driver";
  world.stores().of<api::StorageClass>().set(aClass("fast", "WaitForFirstConsumer", "disk.csi"));
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("new")), kNoMoreVolumes);
  world.stores().of<api::VolumeAttachment>().erase({"", "x"});
  EXPECT_EQ(on("n1", aPod("p").claim("a").claim("new")), "");
}

TEST_F(VolumeLimitsTest, a_claim_that_does_not_exist_rejects_the_pod) {
  EXPECT_EQ(on("n1", aPod("p").claim("z")),
            "UnschedulableAndUnresolvable: looking up PVC default/z: persistentvolumeclaim \"z\" "
            "not found");
}

}  // namespace
}  // namespace koord::scheduler
