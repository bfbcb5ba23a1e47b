#include "scheduler/plugins/volumebinding/plugin.h"

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
using testing::kUnresolvable;
using testing::PodBuilder;
using testing::World;
using Answers = std::map<std::string, std::string>;
using namespace std::chrono_literals;

const std::string kNoVolume =
    kUnresolvable + "node(s) didn't find available persistent volumes to bind";

// n1 in zone a, n2 in zone b; class "fast" has no provisioner and waits for the first consumer.
struct BindingTest : ::testing::Test {
  World world;
  VolumeBinding* plugin = nullptr;
  Stores& stores = world.stores();

  BindingTest() {
    VolumeBindingArgs args;
    args.bindTimeout = 30s;
    plugin =
        &dynamic_cast<VolumeBinding&>(world.only(std::make_unique<VolumeBinding>(world, args)));
    world.node(aNode("n1").label("zone", "a"));
    world.node(aNode("n2").label("zone", "b"));
    stores.of<api::StorageClass>().set(
        aClass("fast", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"));
  }
  Answers filter(const PodBuilder& pod) { return world.filter(world.pod(pod)); }
  Status reserveOn(CycleState& state, const PodPtr& pod, const char* node) {
    EXPECT_TRUE(plugin->preFilter(state, *pod).status.ok());
    EXPECT_TRUE(world.cluster().assume(pod, *world.cluster().findNode(node)));
    return plugin->reserve(state, pod, *world.cluster().findNode(node));
  }
};

TEST_F(BindingTest, claims_that_cannot_be_used_reject_the_pod_and_say_why) {
  EXPECT_EQ(filter(aPod("p").claim("c"))["n1"],
            kUnresolvable + "persistentvolumeclaim \"c\" not found");
  auto lost = aClaim("c").bound("v");
  lost.object().status.phase = "Lost";
  stores.of<api::PersistentVolumeClaim>().set(lost.build());
  EXPECT_EQ(
      filter(aPod("p").claim("c"))["n1"],
      kUnresolvable + "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"v\"");
  auto leaving = aClaim("c").version("2");
  leaving.object().metadata.deletionTimestamp = WallTime{};
  stores.of<api::PersistentVolumeClaim>().set(leaving.build());
  EXPECT_EQ(filter(aPod("p").claim("c"))["n1"],
            kUnresolvable + "persistentvolumeclaim \"c\" is being deleted");
  stores.of<api::StorageClass>().set(aClass("fast", "Immediate", "x"));
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").version("3").build());
  EXPECT_EQ(filter(aPod("p").claim("c"))["n1"],
            kUnresolvable + "pod has unbound immediate PersistentVolumeClaims");
}

TEST_F(BindingTest, an_ephemeral_volumes_claim_must_be_the_pods_own) {
  PodBuilder pod = aPod("p");
  auto& volume = pod.object().spec.volumes.emplace_back();
  volume.name = "scratch";
  volume.ephemeral = json::object{};
  EXPECT_EQ(filter(pod)["n1"], kUnresolvable +
                                   "waiting for ephemeral volume controller to create the "
                                   "persistentvolumeclaim \"p-scratch\"");
  stores.of<api::PersistentVolumeClaim>().set(aClaim("p-scratch").build());
  EXPECT_EQ(
      filter(pod)["n1"],
      kUnresolvable + "PVC default/p-scratch was not created for pod default/p (pod is not owner)");
  auto owned = aClaim("p-scratch").version("2");
  owned.object().metadata.ownerReferences.push_back(
      {"v1", "Pod", "p", "uid-default-p", true, false});
  stores.of<api::PersistentVolumeClaim>().set(owned.build());
  EXPECT_EQ(filter(pod)["n1"], kNoVolume);
}

TEST_F(BindingTest, a_bound_volume_decides_where_the_pod_can_run) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").bound("v").build());
  EXPECT_EQ(
      filter(aPod("p").claim("c"))["n1"],
      kUnresolvable + "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)");
  stores.of<api::PersistentVolume>().set(aVolume("v").where("zone", "b").build());
  EXPECT_EQ(
      filter(aPod("p").claim("c")),
      (Answers{{"n1", kUnresolvable + "node(s) didn't match PersistentVolume's node affinity"},
               {"n2", ""}}));
}

TEST_F(BindingTest, the_smallest_volume_that_is_large_enough_is_promised_when_a_node_is_chosen) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").size("2Gi").build());
  for (const auto& [name, size] : {std::pair{"small", "1Gi"}, {"large", "9Gi"}, {"right", "3Gi"}})
    stores.of<api::PersistentVolume>().set(aVolume(name).size(size).where("zone", "a").build());
  EXPECT_EQ(filter(aPod("p").claim("c")), (Answers{{"n1", ""}, {"n2", kNoVolume}}));
  CycleState state;
  const PodPtr pod = world.pod(aPod("p").claim("c"));
  ASSERT_TRUE(reserveOn(state, pod, "n1").ok());
  const auto reserved = stores.assumed<api::PersistentVolume>().get({"", "right"});
  ASSERT_TRUE(reserved->spec.claimRef);
  EXPECT_EQ(reserved->spec.claimRef->name, "c");
  EXPECT_EQ(reserved->metadata.annotations.at("pv.kubernetes.io/bound-by-controller"), "yes");
  stores.of<api::PersistentVolumeClaim>().set(aClaim("d").size("3Gi").build());
  CycleState other;
  const PodPtr next = world.pod(aPod("q").claim("d"));
  ASSERT_TRUE(reserveOn(other, next, "n1").ok());
  EXPECT_TRUE(stores.assumed<api::PersistentVolume>().get({"", "large"})->spec.claimRef)
      << "the right one is taken";
  EXPECT_EQ(world.cluster().verifyNode(*world.cluster().findNode("n1")), "");
  {
    Cluster::Transaction whatIf(world.cluster());
    world.cluster().removePod(pod->uid());
    EXPECT_FALSE(stores.assumed<api::PersistentVolume>().get({"", "right"})->spec.claimRef);
  }
  EXPECT_TRUE(stores.assumed<api::PersistentVolume>().get({"", "right"})->spec.claimRef);
  ASSERT_TRUE(world.cluster().forget(pod->uid()));
  EXPECT_FALSE(stores.assumed<api::PersistentVolume>().get({"", "right"})->spec.claimRef);
}

TEST_F(BindingTest, what_a_dry_run_puts_back_does_not_hide_a_newer_object) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").size("2Gi").build());
  stores.of<api::PersistentVolume>().set(aVolume("v").size("3Gi").where("zone", "a").build());
  CycleState state;
  const PodPtr pod = world.pod(aPod("p").claim("c"));
  ASSERT_TRUE(reserveOn(state, pod, "n1").ok());
  auto newer = std::make_shared<api::PersistentVolume>(
      *stores.assumed<api::PersistentVolume>().get({"", "v"}));
  newer->metadata.resourceVersion = "12345";
  stores.of<api::PersistentVolume>().set(newer);
  {
    Cluster::Transaction whatIf(world.cluster());
    const auto removed = world.cluster().removePod(pod->uid());
    ASSERT_TRUE(world.cluster().assume(pod, *world.cluster().findNode("n1"), removed->grants));
    EXPECT_EQ(stores.assumed<api::PersistentVolume>().get({"", "v"}), newer) << "put back";
  }
  EXPECT_EQ(stores.assumed<api::PersistentVolume>().get({"", "v"}), newer) << "rolled back";
}

TEST_F(BindingTest, a_volume_that_two_pods_were_promised_stays_promised_until_both_are_gone) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").build());
  stores.of<api::PersistentVolume>().set(aVolume("v").build());
  CycleState first, second;
  const PodPtr one = world.pod(aPod("one").claim("c"));
  const PodPtr two = world.pod(aPod("two").claim("c"));
  ASSERT_TRUE(reserveOn(first, one, "n1").ok());
  ASSERT_TRUE(reserveOn(second, two, "n1").ok());
  ASSERT_TRUE(world.cluster().forget(one->uid()));
  EXPECT_TRUE(stores.assumed<api::PersistentVolume>().get({"", "v"})->spec.claimRef);
  ASSERT_TRUE(world.cluster().forget(two->uid()));
  EXPECT_FALSE(stores.assumed<api::PersistentVolume>().get({"", "v"})->spec.claimRef);
}

TEST_F(BindingTest, volumes_must_suit_the_claim_in_class_mode_access_and_labels) {
  auto claim = aClaim("c");
  claim.object().spec.selector.emplace().matchLabels["tier"] = "gold";
  stores.of<api::PersistentVolumeClaim>().set(claim.build());
  const auto usable = [&](testing::VolumeBuilder volume) {
    stores.of<api::PersistentVolume>().set(volume.build());
    const bool found = filter(aPod("p").claim("c"))["n1"].empty();
    stores.of<api::PersistentVolume>().erase({"", "v"});
    return found;
  };
  const auto good = aVolume("v").label("tier", "gold");
  EXPECT_TRUE(usable(good));
  EXPECT_FALSE(usable(aVolume("v")));
  auto bad = good;
  bad.object().spec.storageClassName = "slow";
  EXPECT_FALSE(usable(bad));
  bad = good;
  bad.object().spec.volumeMode = "Block";
  EXPECT_FALSE(usable(bad));
  bad = good;
  bad.object().spec.accessModes = {"ReadOnlyMany"};
  EXPECT_FALSE(usable(bad));
  bad = good;
  bad.object().status.phase = "Released";
  EXPECT_FALSE(usable(bad));
  bad = good;
  bad.object().metadata.deletionTimestamp = WallTime{};
  EXPECT_FALSE(usable(bad));
  bad = good;
  bad.reserved("someone-elses");
  EXPECT_FALSE(usable(bad));
}

TEST_F(BindingTest, a_volume_promised_to_the_claim_is_the_only_one_for_it) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").build());
  stores.of<api::PersistentVolume>().set(
      aVolume("mine").size("5Gi").reserved("c").where("zone", "b").build());
  stores.of<api::PersistentVolume>().set(aVolume("other").build());
  EXPECT_EQ(filter(aPod("p").claim("c")), (Answers{{"n1", kNoVolume}, {"n2", ""}}));
}

TEST_F(BindingTest, two_claims_of_a_pod_need_two_volumes) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").build());
  stores.of<api::PersistentVolumeClaim>().set(aClaim("d").size("2Gi").build());
  stores.of<api::PersistentVolume>().set(aVolume("v").size("2Gi").build());
  EXPECT_EQ(filter(aPod("p").claim("c").claim("d"))["n1"], kNoVolume);
  stores.of<api::PersistentVolume>().set(aVolume("w").build());
  EXPECT_EQ(filter(aPod("p").claim("d").claim("c"))["n1"], "")
      << "the small claim leaves the large volume";
}

TEST_F(BindingTest, without_a_volume_one_is_made_where_topology_and_capacity_allow) {
  auto class_ = aClass("fast", "WaitForFirstConsumer", "disk.csi");
  class_->allowedTopologies = {{{{"zone", {"b", "c"}}}}};
  stores.of<api::StorageClass>().set(class_);
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").size("10Gi").build());
  const PodBuilder pod = aPod("p").claim("c");
  EXPECT_EQ(filter(pod), (Answers{{"n1", kNoVolume}, {"n2", ""}}));
  auto driver = std::make_shared<api::CSIDriver>();
  driver->metadata.name = "disk.csi";
  driver->spec.storageCapacity = true;
  stores.of<api::CSIDriver>().set(driver);
  EXPECT_EQ(filter(pod)["n2"], kUnresolvable + "node(s) did not have enough free storage");
  auto capacity = std::make_shared<api::CSIStorageCapacity>();
  capacity->metadata.name = "b";
  capacity->storageClassName = "fast";
  capacity->nodeTopology.emplace().matchLabels["zone"] = "b";
  capacity->capacity = testing::quantity("100Gi");
  stores.of<api::CSIStorageCapacity>().set(capacity);
  EXPECT_EQ(filter(pod)["n2"], "");
  auto chopped = std::make_shared<api::CSIStorageCapacity>(*capacity);
  chopped->maximumVolumeSize = testing::quantity("9Gi");
  stores.of<api::CSIStorageCapacity>().set(chopped);
  EXPECT_EQ(filter(pod)["n2"], kUnresolvable + "node(s) did not have enough free storage");
}

TEST_F(BindingTest,
       every_node_is_offered_its_own_volumes_and_storage_however_many_nodes_there_are) {
  constexpr int kNodes = 1000;
  stores.of<api::StorageClass>().set(aClass("made", "WaitForFirstConsumer", "csi.example.com"));
  auto driver = std::make_shared<api::CSIDriver>();
  driver->metadata.name = "csi.example.com";
  driver->spec.storageCapacity = true;
  stores.of<api::CSIDriver>().set(driver);
  for (int n = 0; n < kNodes; ++n) {
    const std::string name = "local-" + std::to_string(n);
    world.node(aNode(name).label("host", name));
    for (const char* size : {"2Gi", "3Gi"}) {
      if (n % 2 != 0) continue;
      stores.of<api::PersistentVolume>().set(
          aVolume(name + "-" + size).size(size).where("host", name).build());
    }
    if (n % 3 != 0) continue;
    auto capacity = std::make_shared<api::CSIStorageCapacity>();
    capacity->metadata.name = name;
    capacity->storageClassName = "made";
    capacity->nodeTopology.emplace().matchLabels["host"] = name;
    capacity->capacity = testing::quantity("100Gi");
    stores.of<api::CSIStorageCapacity>().set(capacity);
  }
  for (const char* name : {"a", "b"})
    stores.of<api::PersistentVolumeClaim>().set(aClaim(name).size("1Gi").build());
  auto made = aClaim("c").size("50Gi");
  made.object().spec.storageClassName = "made";
  stores.of<api::PersistentVolumeClaim>().set(made.build());
  const PodBuilder pod = aPod("p").claim("a").claim("b").claim("c");
  const Answers answers = filter(pod);
  for (int n = 0; n < kNodes; ++n)
    EXPECT_EQ(answers.at("local-" + std::to_string(n)).empty(), n % 6 == 0) << n;
  CycleState state;
  ASSERT_TRUE(reserveOn(state, world.pod(pod), "local-6").ok());
  for (const char* volume : {"local-6-2Gi", "local-6-3Gi"})
    EXPECT_TRUE(stores.assumed<api::PersistentVolume>().get({"", volume})->spec.claimRef) << volume;
}

TEST_F(BindingTest, a_claim_that_is_being_provisioned_stays_on_its_node) {
  stores.of<api::StorageClass>().set(aClass("fast", "WaitForFirstConsumer", "disk.csi"));
  stores.of<api::PersistentVolumeClaim>().set(
      aClaim("c").annotation("volume.kubernetes.io/selected-node", "n2").build());
  EXPECT_EQ(filter(aPod("p").claim("c")), (Answers{{"n1", kNoVolume}, {"n2", ""}}));
}

TEST_F(BindingTest, a_pod_whose_claims_are_bound_has_nothing_to_wait_for) {
  stores.of<api::PersistentVolumeClaim>().set(aClaim("c").bound("v").build());
  stores.of<api::PersistentVolume>().set(aVolume("v").build());
  CycleState state;
  const PodPtr pod = world.pod(aPod("p").claim("c"));
  ASSERT_TRUE(reserveOn(state, pod, "n1").ok());
  EXPECT_TRUE(plugin->preBindPreFlight(state, pod, 0).skipped());
}

}  // namespace
}  // namespace koord::scheduler
