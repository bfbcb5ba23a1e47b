#include "cluster/controllers/devices/device_taint_eviction.h"

#include <gmock/gmock.h>

#include "cluster/controllers/controllers_testing.h"
#include "kube/client.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class DeviceTaintEvictionTest : public ControllersTest {
 protected:
  // A pod on a node with a claim that has the device gpu-0.
  DeviceTaintEvictionTest() {
    cluster.create("apiVersion: v1\nkind: Node\nmetadata: {name: n1}");
    createSlice("");
    cluster.create(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: "
        "{requests: [{name: r, exactly: {deviceClassName: g}}]}}\n");
    cluster.create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {terminationGracePeriodSeconds: 0, "
        "containers: [{name: c, image: i}], resourceClaims: [{name: x, resourceClaimName: c}]}\n");
    const auto pod = cluster.get<api::Pod>("p");
    EXPECT_TRUE(cluster.run(
        kube::bindPod(cluster.api, api::keyOf(pod->metadata), pod->metadata.uid, "n1")));
  }
  void createSlice(const std::string& taints) {
    cluster.create(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: "
        "d.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1}, "
        "devices: [{name: gpu-0" +
        taints + "}, {name: gpu-1}]}\n");
  }
  void allocate(const std::string& tolerations = "") {
    const auto pod = cluster.get<api::Pod>("p");
    cluster.patch<api::ResourceClaim>(
        "c",
        "status: {allocation: {devices: {results: [{request: r, driver: d.example.com, pool: n1, "
        "device: gpu-0" +
            tolerations +
            "}]}}, reservedFor: [{resource: pods, name: p, uid: " + pod->metadata.uid + "}]}",
        "status");
    cluster.loop.advance(1s);
  }
  void createRule(const std::string& effect, const std::string& device = "gpu-0") {
    cluster.create(
        "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: "
        "broken}\nspec: {deviceSelector: {driver: d.example.com, device: " +
        device + "}, taint: {key: example.com/broken, effect: " + effect + "}}\n");
    cluster.loop.advance(1s);
  }
  bool isThere() {
    const auto pod = cluster.get<api::Pod>("p");
    return pod && !pod->metadata.deletionTimestamp;
  }
  api::Condition condition() {
    const auto conditions = cluster.get<api::DeviceTaintRule>("broken")->status.conditions;
    return conditions.empty() ? api::Condition{} : conditions[0];
  }
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const auto& event : cluster.list<api::Event>())
      if (event.reason == "DeviceTaintManagerEviction") out.push_back(event.message);
    return out;
  }
};

TEST_F(DeviceTaintEvictionTest, ARuleWithNoExecuteEvictsThePodsOfTheDevice) {
  allocate();
  createRule("NoSchedule");
  EXPECT_TRUE(isThere());
  EXPECT_EQ(condition().reason, "OtherEffect");
  cluster.patch<api::DeviceTaintRule>("broken", "spec: {taint: {effect: NoExecute}}");
  EXPECT_TRUE(cluster.until([&] { return !isThere(); }));
  EXPECT_THAT(events(), testing::ElementsAre("Marking for deletion"));
  cluster.loop.advance(30s);
  EXPECT_EQ(condition().reason, "Completed");
  EXPECT_EQ(condition().message, "1 pod evicted since starting the controller.");
}

TEST_F(DeviceTaintEvictionTest, ARuleForAnotherDeviceEvictsNoPod) {
  allocate();
  createRule("NoExecute", "gpu-1");
  cluster.loop.advance(30s);
  EXPECT_TRUE(isThere());
  EXPECT_EQ(condition().reason, "NotStarted");
}

TEST_F(DeviceTaintEvictionTest, ARuleWithoutEffectSaysWhatItWouldEvict) {
  allocate();
  createRule("None");
  EXPECT_TRUE(isThere());
  EXPECT_EQ(condition().reason, "NoEffect");
  EXPECT_THAT(condition().message,
              StartsWith("1 published device selected. 1 allocated device selected. 1 pod would be "
                         "evicted in 1 namespace if the effect was NoExecute."));
}

TEST_F(DeviceTaintEvictionTest, ATaintOfASliceEvictsAndATolerationDelays) {
  allocate(", tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 60}]");
  cluster.patch<api::ResourceSlice>(
      "s",
      "spec: {devices: [{name: gpu-0, taints: [{key: k, effect: NoExecute}]}, {name: gpu-1}]}");
  cluster.loop.advance(50s);
  EXPECT_TRUE(isThere());
  EXPECT_TRUE(cluster.until([&] { return !isThere(); }, 15s));
}

TEST_F(DeviceTaintEvictionTest, AnEvictionIsCancelledWhenTheTaintGoes) {
  allocate(", tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 60}]");
  createRule("NoExecute");
  cluster.loop.advance(20s);
  EXPECT_EQ(condition().reason, "PodsPendingEviction");
  EXPECT_EQ(condition().message, "1 pod needs to be evicted in 1 namespace.");
  cluster.remove<api::DeviceTaintRule>("broken");
  cluster.loop.advance(120s);
  EXPECT_TRUE(isThere());
  EXPECT_THAT(events(), testing::ElementsAre("Cancelling deletion"));
}

TEST_F(DeviceTaintEvictionTest, ATolerationWithoutTimeToleratesForever) {
  allocate(", tolerations: [{key: example.com/broken, operator: Exists, effect: NoExecute}]");
  createRule("NoExecute");
  cluster.loop.advance(60s);
  EXPECT_TRUE(isThere());
}

}  // namespace
}  // namespace koord::cluster
