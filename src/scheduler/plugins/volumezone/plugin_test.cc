#include "scheduler/plugins/volumezone/plugin.h"

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

const std::string kZone = "topology.kubernetes.io/zone";
const std::string kBetaZone = "failure-domain.beta.kubernetes.io/zone";
const std::string kNone = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

struct ZoneTest : ::testing::Test {
  World world;
  ZoneTest() {
    world.only(std::make_unique<VolumeZone>(world));
    world.node(aNode("a").label(kZone, "a"));
    world.node(aNode("b").label(kZone, "b"));
    world.node(aNode("old").label(kBetaZone, "a"));
    world.node(aNode("bare"));
  }
  std::map<std::string, std::string> filter(const std::string& claim) {
    return world.filter(world.pod(aPod("p").claim(claim)));
  }
};

TEST_F(ZoneTest, nodes_must_be_in_one_of_the_zones_of_the_volume) {
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("c").bound("v").build());
  world.stores().of<api::PersistentVolume>().set(aVolume("v").label(kZone, "a__c").build());
  EXPECT_EQ(filter("c"), (std::map<std::string, std::string>{
                             {"a", ""}, {"b", kNone}, {"bare", ""}, {"old", kNone}}));
  world.stores().of<api::PersistentVolume>().set(aVolume("v").label(kBetaZone, "a").build());
  EXPECT_EQ(filter("c"), (std::map<std::string, std::string>{
                             {"a", ""}, {"b", kNone}, {"bare", ""}, {"old", ""}}));
  world.stores().of<api::PersistentVolume>().set(aVolume("v").build());
  EXPECT_EQ(filter("c")["b"], "");
}

TEST_F(ZoneTest, claims_without_a_volume_are_left_to_their_first_consumer_or_refused) {
  const std::string prefix = "UnschedulableAndUnresolvable: ";
  EXPECT_EQ(filter("absent")["a"], prefix + "persistentvolumeclaim \"absent\" not found");
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("c").build());
  EXPECT_EQ(filter("c")["a"], prefix + "storageclass.storage.k8s.io \"fast\" not found");
  world.stores().of<api::StorageClass>().set(aClass("fast", "WaitForFirstConsumer", "x"));
  EXPECT_EQ(filter("c")["a"], "");
  world.stores().of<api::StorageClass>().set(aClass("fast", "Immediate", "x"));
  EXPECT_EQ(filter("c")["a"], prefix + "PersistentVolume had no name");
  world.stores().of<api::StorageClass>().set(aClass("fast", "", "x"));
  EXPECT_EQ(filter("c")["a"], prefix + "VolumeBindingMode not set for StorageClass \"fast\"");
  auto classless = aClaim("none");
  classless.object().spec.storageClassName.reset();
  world.stores().of<api::PersistentVolumeClaim>().set(classless.build());
  EXPECT_EQ(filter("none")["a"],
            prefix + "PersistentVolumeClaim had no pv name and storageClassName name");
  world.stores().of<api::PersistentVolumeClaim>().set(aClaim("lost").bound("gone").build());
  EXPECT_EQ(filter("lost")["a"], prefix + "persistentvolume \"gone\" not found");
}

}  // namespace
}  // namespace koord::scheduler
