// PreBind on the embedded API server: informers fill the stores, and the test acts as the volume
// controller and as provisioners.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/codec.h"
#include "apiserver/embedded_cluster.h"
#include "scheduler/plugins/volumebinding/plugin.h"
#include "scheduler/testing/volumes.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aClaim;
using testing::aClass;
using testing::aNode;
using testing::aPod;
using testing::aVolume;
using testing::ClaimBuilder;
using ::testing::HasSubstr;
using testing::VolumeBuilder;
using testing::World;
using namespace std::chrono_literals;

constexpr const char* kSelected = "volume.kubernetes.io/selected-node";

// Two nodes and a class "fast" that waits for the first consumer.
struct PreBind : ::testing::Test {
  World world;
  apiserver::EmbeddedCluster api{world.loop()};
  VolumeBinding* plugin = nullptr;
  std::vector<std::unique_ptr<StoreFeed>> feeds;
  CycleState state;
  PodPtr pod;
  std::optional<Status> status;  // of PreBind, at its end
  TaskGroup tasks;

  PreBind() {
    VolumeBindingArgs args;
    args.bindTimeout = 30s;
    plugin =
        &dynamic_cast<VolumeBinding&>(world.only(std::make_unique<VolumeBinding>(world, args)));
    world.node(aNode("n1"));
    world.node(aNode("n2"));
    world.apiToUse = &api;
    for (AnyStore* store : world.stores().all()) {
      feeds.push_back(store->feed(api, world.loop(), world.random()));
      feeds.back()->start();
    }
  }
  ~PreBind() override { feeds.clear(); }

  template <class T>
  void put(T object) {
    object.metadata.uid = "";
    object.metadata.resourceVersion = "";
    api.put(T::kType, toJson(api::encodeObject(object)));
    world.loop().advance(100ms);
  }
  void put(const ClaimBuilder& claim) { put(*claim.build()); }
  void put(const VolumeBuilder& volume) { put(*volume.build()); }
  template <class T>
  std::shared_ptr<const T> seen(const std::string& name, const std::string& namespace_ = "") {
    return world.stores().of<T>().get({namespace_, name});
  }
  auto claim(const std::string& name) { return seen<api::PersistentVolumeClaim>(name, "default"); }
  auto volume(const std::string& name) { return seen<api::PersistentVolume>(name); }

  static VolumeBuilder disk(const std::string& name) {
    VolumeBuilder volume = aVolume(name);
    volume.csi("disk.csi", name);
    return volume;
  }
  static Task<void> run(VolumeBinding* plugin, CycleState* state, PodPtr pod, NodeId node,
                        std::optional<Status>* out) {
    auto task = plugin->preBind(*state, pod, node);
    *out = co_await task;
  }
  // Reserves the node for the pod "p" with the claim "c".
  void reserve(const char* node) {
    pod = world.pod(aPod("p").claim("c"));
    ASSERT_TRUE(plugin->preFilter(state, *pod).status.ok());
    const NodeId id = *world.cluster().findNode(node);
    ASSERT_TRUE(world.cluster().assume(pod, id));
    ASSERT_TRUE(plugin->reserve(state, pod, id).ok());
    EXPECT_TRUE(plugin->preBindPreFlight(state, pod, id).ok());
  }
  void begin(const char* node) {
    tasks.spawn(run(plugin, &state, pod, *world.cluster().findNode(node), &status));
    world.loop().advance(2s);
  }
  // A claim for which a volume is to be provisioned on n2.
  void provision() {
    put(*aClass("fast", "WaitForFirstConsumer", "disk.csi"));
    put(aClaim("c"));
    reserve("n2");
    ASSERT_FALSE(HasFatalFailure());
    begin("n2");
  }
  // An existing volume that is promised to the claim for n1.
  void promise() {
    put(*aClass("fast", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"));
    put(aClaim("c"));
    put(disk("v"));
    reserve("n1");
  }
};

TEST_F(PreBind, the_pod_waits_until_its_claim_has_been_given_a_volume) {
  provision();
  ASSERT_EQ(api.writes.size(), 1u);
  EXPECT_EQ(claim("c")->metadata.annotations.at(kSelected), "n2");
  world.loop().advance(5s);
  EXPECT_FALSE(status);
  put(disk("made").reserved("c"));
  put(aClaim("c").annotation(kSelected, "n2").bound("made"));
  world.loop().advance(2s);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->ok()) << status->message();
  EXPECT_EQ(api.writes.size(), 1u);
}

TEST_F(PreBind, a_provisioner_that_gives_up_ends_the_wait) {
  provision();
  put(aClaim("c").annotation("some", "other"));
  world.loop().advance(2s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "binding volumes: provisioning failed for PVC \"c\"");
}

TEST_F(PreBind, the_wait_has_an_end) {
  provision();
  world.loop().advance(60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "binding volumes: context deadline exceeded");
}

TEST_F(PreBind, a_promised_volume_is_written_with_its_claim) {
  promise();
  begin("n1");
  ASSERT_EQ(api.writes.size(), 1u);
  const auto written = volume("v");
  ASSERT_TRUE(written->spec.claimRef);
  EXPECT_EQ(written->spec.claimRef->name, "c");
  EXPECT_EQ(written->spec.claimRef->uid, claim("c")->metadata.uid);
  EXPECT_EQ(written->metadata.annotations.at("pv.kubernetes.io/bound-by-controller"), "yes");
  EXPECT_FALSE(status);
  put(aClaim("c").bound("v"));
  world.loop().advance(2s);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->ok()) << status->message();
}

TEST_F(PreBind, a_volume_that_somebody_else_took_is_left_to_him) {
  promise();
  put(disk("v").reserved("other"));
  begin("n1");
  ASSERT_TRUE(status);
  EXPECT_THAT(status->message(), HasSubstr("the object has been modified"));
  EXPECT_EQ(volume("v")->spec.claimRef->name, "other");
}

TEST_F(PreBind, a_write_that_fails_is_told) {
  promise();
  api.failure = [](const kube::Request&) {
    return Error{ErrorCode::Unavailable, "etcdserver: request timed out", {}};
  };
  begin("n1");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "etcdserver: request timed out");
}

}  // namespace
}  // namespace koord::scheduler
