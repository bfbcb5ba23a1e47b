// One GPU for two plugins: DeviceShare gives the devices of Device objects, DynamicResources those
// of ResourceSlices, and both list the same hardware.

#include "scheduler/plugins/dynamicresources/device_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/deviceshare/device_world.h"
#include "scheduler/plugins/dynamicresources/claims_fixture.h"
#include "scheduler/plugins/dynamicresources/plugin.h"
#include "scheduler/testing/claims.h"

namespace koord::scheduler {
namespace {

using testing::aReservation;
using testing::ClaimApi;
using testing::DeviceMachine;
using testing::DeviceWorld;
using testing::gpuClaim;
using testing::gpuClass;
using ::testing::HasSubstr;
using testing::kUnschedulable;
using testing::percentOfGpu;
using testing::PodBuilder;
using testing::podWithClaims;
using testing::wholeGpus;

const std::string kGiven =
    kUnschedulable + "node(s) devices for the claims are allocated by DeviceShare";
const std::string kClaimed =
    "Insufficient GPU Devices, node(s) devices are allocated to resource claims";

// A device of a slice: its name, attributes and other fields as JSON.
struct SliceEntry {
  std::string name;
  std::string attributes;
  std::string more;
};

std::shared_ptr<const api::ResourceSlice> sliceOf(const std::string& node,
                                                  const std::vector<SliceEntry>& entries,
                                                  const std::string& more = "", int slices = 1,
                                                  const std::string& suffix = "") {
  std::string list;
  for (const SliceEntry& entry : entries)
    list += fmt::format(R"({}{{"name": "{}", "attributes": {{{}}}{}}})", list.empty() ? "" : ", ",
                        entry.name, entry.attributes, entry.more);
  return std::make_shared<const api::ResourceSlice>(
      api::decodeText<api::ResourceSlice>(
          fmt::format(
              R"({{"metadata": {{"name": "{0}-gpus{4}"}}, "spec": {{"driver": "gpu.example", "nodeName": "{0}",
              "pool": {{"name": "{0}", "generation": 1, "resourceSliceCount": {3}}}{2},
              "devices": [{1}]}}}})",
              node, list, more, slices, suffix))
          .value());
}

std::string uuid(const std::string& text) {
  return fmt::format(R"("uuid": {{"string": "{}"}})", text);
}

struct TwoPlugins : DeviceWorld {
  Stores& stores = world.stores();
  ClaimApi api{world.loop(), stores.of<api::ResourceClaim>()};

  TwoPlugins()
      : DeviceWorld(testing::kWithDevices, 1,
                    {"DynamicResourceAllocation", "DRAAdminAccess", "DRAPartitionableDevices",
                     "DRAConsumableCapacity", "DRAPrioritizedList", "DRAExtendedResource"}) {
    world.apiToUse = &api;
    stores.of<api::DeviceClass>().set(gpuClass());
  }
  // GPUs with ids GPU-0, GPU-1, ... at the PCI addresses 0000:10:00.0, 0000:11:00.0, ...
  static DeviceMachine gpus(int count) {
    DeviceMachine machine;
    for (int minor = 0; minor < count; ++minor) {
      machine.gpu(minor, 0, "a");
      machine.device.spec.devices.back().id = fmt::format("GPU-{}", minor);
      machine.device.spec.devices.back().topology->busID = fmt::format("0000:1{}:00.0", minor);
    }
    return machine;
  }
  void machineWith(const std::string& name, int count) {
    node(name);
    set(name, gpus(count));
  }
  void publish(const std::shared_ptr<const api::ResourceSlice>& slice) {
    stores.of<api::ResourceSlice>().set(slice);
  }
  // The node has these GPUs in both worlds.
  void shared(const std::string& name, int count) {
    machineWith(name, count);
    std::vector<SliceEntry> entries;
    for (int i = 0; i < count; ++i)
      entries.push_back({fmt::format("gpu-{}", i), uuid(fmt::format("GPU-{}", i)), ""});
    publish(sliceOf(name, entries));
  }
  PodBuilder claiming(const std::string& name, int count = 1) {
    api.put(*gpuClaim("claim-" + name, count));
    return podWithClaims(name, {"claim-" + name});
  }
  // Schedules a pod with a claim; returns the devices, or the reason of the failure.
  std::string claim(const std::string& name, int count = 1) {
    const std::string result = schedule(claiming(name, count));
    const std::string devices = api.devicesOf("claim-" + name);
    return devices.empty() ? result : devices;
  }
  // The pod ends, and the controller deallocates its claim.
  void endWithClaim(const std::string& name) {
    end(name);
    api.change("claim-" + name, [](auto& claim) { claim.status = {}; });
  }
};

struct BothWorlds : ::testing::Test, TwoPlugins {};

TEST_F(BothWorlds, a_gpu_is_given_once) {
  shared("n", 3);
  EXPECT_EQ(schedule(wholeGpus("a", "1")), "n gpu 0");
  EXPECT_EQ(claim("b"), "n/gpu-1");
  EXPECT_EQ(schedule(wholeGpus("c", "1")), "n gpu 2");
  EXPECT_EQ(answer(wholeGpus("d", "1"), "n"), kUnschedulable + kClaimed);
  EXPECT_EQ(answer(percentOfGpu("d", "10"), "n"), kUnschedulable + kClaimed);
  EXPECT_EQ(answer(claiming("d"), "n"), kGiven);
  EXPECT_EQ(answer(claiming("all", 4), "n"), kNoDevices);
  endWithClaim("b");
  EXPECT_EQ(schedule(percentOfGpu("e", "10")), "n gpu 1:10");
  EXPECT_EQ(answer(claiming("f"), "n"), kGiven);
  end("e");
  EXPECT_EQ(claim("g"), "n/gpu-1");
  expectSound();
}

// Filter counts what the pod's own claim will take, so the pod goes to a node that has both.
TEST_F(BothWorlds, a_pod_with_a_claim_and_a_request_goes_where_it_gets_both) {
  shared("a", 1);
  shared("b", 2);
  for (int i = 0; i < 3; ++i) {
    const PodBuilder pod = claiming("p", 1).request("koordinator.sh/gpu", "50");
    EXPECT_EQ(answer(pod, "a"), kUnschedulable + "Insufficient GPU Devices");
    EXPECT_EQ(answer(pod, "b"), "");
    EXPECT_EQ(schedule(pod), "b gpu 1:50");
    EXPECT_EQ(api.devicesOf("claim-p"), "b/gpu-0");
    endWithClaim("p");
  }
  schedule(wholeGpus("other", "1"), "b");
  EXPECT_EQ(answer(claiming("q", 1).request("koordinator.sh/gpu", "50"), "b"),
            kUnschedulable + "Insufficient GPU Devices");
  expectSound();
}

TEST_F(BothWorlds, the_same_hardware_is_recognised) {
  const auto text = [](const char* name, const char* value) {
    return fmt::format(R"("{}": {{"string": "{}"}})", name, value);
  };
  const struct {
    std::string attributes;
    bool same;
  } kCases[] = {
      {uuid("GPU-0"), true},
      {uuid("gpu-0"), true},
      {uuid("GPU-1"), false},
      {text("gpu.example/uuid", "GPU-0"), true},
      {text("parentUUID", "GPU-0"), true},
      {text("resource.kubernetes.io/pciBusID", "0000:10:00.0"), true},
      {text("resource.kubernetes.io/pciBusID", "0000:10:00.1"), false},
      {text("pcieBusID", "00000000:10:00.0"), true},
      {text("resource.kubernetes.io/pcieRoot", "0000:10:00.0"), false},
      {text("serial", "GPU-0"), false},
      {uuid("MIG-7") + ", " + text("parentUUID", "GPU-0"), true},
      {R"("uuid": {"strings": ["GPU-5", "GPU-0"]})", true},
      {R"("uuid": {"int": 0})", false},
      {uuid(""), false},
      {"", false},
  };
  int number = 0;
  for (const auto& [attributes, same] : kCases) {
    const std::string name = fmt::format("n{}", number++);
    machineWith(name, 1);
    publish(sliceOf(name, {{"d", attributes, ""}}));
    const std::string found = same ? kGiven : "";
    ASSERT_EQ(schedule(wholeGpus("p-" + name, "1"), name), name + " gpu 0");
    EXPECT_EQ(answer(claiming("c-" + name), name), found) << attributes;
  }
}

TEST_F(BothWorlds, a_part_excludes_the_whole) {
  machineWith("n", 2);
  const std::string counters =
      R"(, "consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "1"}}}])";
  const std::string of0 = R"("parentUUID": {"string": "GPU-0"})";
  const std::string sets =
      R"(, "sharedCounters": [{"name": "s", "counters": {"m": {"value": "4"}}}])";
  publish(sliceOf("n", {}, sets, 2, "-counters"));
  publish(sliceOf("n",
                  {{"mig-0", of0, ""},
                   {"mig-1", of0, ""},
                   {"gpu-1", uuid("GPU-1"), counters},
                   // Without an attribute that names the GPU.
                   {"part", R"("profile": {"string": "1g"})", counters}},
                  "", 2));
  EXPECT_EQ(claim("a"), "n/mig-0");
  EXPECT_EQ(schedule(wholeGpus("b", "1")), "n gpu 1");
  // Of the GPU of which a claim has one part, claims can have the other.
  EXPECT_EQ(claim("c"), "n/mig-1");
  EXPECT_EQ(answer(claiming("d"), "n"), kGiven);
  end("b");
  EXPECT_EQ(claim("e", 2), "n/gpu-1,n/part");
  EXPECT_EQ(answer(wholeGpus("f", "1"), "n"), kUnschedulable + kClaimed);
  endWithClaim("a");
  EXPECT_EQ(answer(wholeGpus("f", "1"), "n"), kUnschedulable + kClaimed);
  endWithClaim("c");
  EXPECT_EQ(schedule(wholeGpus("f", "1")), "n gpu 0");
  expectSound();
}

TEST_F(BothWorlds, a_shared_device_counts_with_its_first_share) {
  machineWith("n", 1);
  publish(sliceOf("n", {{"gpu-0", uuid("GPU-0"), R"(, "allowMultipleAllocations": true)"}}));
  EXPECT_EQ(claim("a"), "n/gpu-0");
  EXPECT_EQ(claim("b"), "n/gpu-0");
  EXPECT_EQ(answer(percentOfGpu("c", "10"), "n"), kUnschedulable + kClaimed);
  endWithClaim("a");
  EXPECT_EQ(answer(percentOfGpu("c", "10"), "n"), kUnschedulable + kClaimed);
  endWithClaim("b");
  EXPECT_EQ(schedule(percentOfGpu("c", "10")), "n gpu 0:10");
  EXPECT_EQ(answer(claiming("d"), "n"), kGiven);
}

TEST_F(BothWorlds, access_for_administrators_is_no_allocation) {
  shared("n", 1);
  const auto forAdmins = [&](const std::string& name) {
    auto claim = gpuClaim("claim-" + name);
    claim->spec.devices.requests[0].exactly->adminAccess = true;
    api.put(*claim);
    return podWithClaims(name, {"claim-" + name});
  };
  EXPECT_EQ(schedule(wholeGpus("a", "1")), "n gpu 0");
  EXPECT_EQ(schedule(forAdmins("b")), "n");
  EXPECT_EQ(api.devicesOf("claim-b"), "n/gpu-0");
  end("a");
  EXPECT_EQ(schedule(percentOfGpu("c", "50")), "n gpu 0:50");
}

TEST_F(BothWorlds, a_network_card_is_one_with_its_functions) {
  node("n");
  DeviceMachine machine;
  machine.rdma(0, 0, "a", 2).rdma(1, 0, "a", 2);  // 0000:00:00.0, ..., 0000:01:00.1
  set("n", machine);
  publish(sliceOf(
      "n", {{"vf", R"("resource.kubernetes.io/pciBusID": {"string": "0000:00:00.1"})", ""}}));
  EXPECT_EQ(claim("a"), "n/vf");
  EXPECT_EQ(schedule(testing::gpuPod("b", "koordinator.sh/rdma", "1")), "n rdma 1");
  endWithClaim("a");
  EXPECT_EQ(schedule(testing::gpuPod("c", "koordinator.sh/rdma", "100")), "n rdma 0");
  EXPECT_EQ(answer(claiming("d"), "n"), kGiven);
}

TEST_F(BothWorlds, what_a_reservation_holds_is_not_for_claims) {
  shared("n", 2);
  set(aReservation("r")
          .request("koordinator.sh/gpu", "100")
          .owner("app", "web")
          .on("n")
          .annotation(std::string(model::kAnnotationDeviceAllocated),
                      R"({"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "100",
          "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}}]})"));
  EXPECT_EQ(claim("a"), "n/gpu-1");
  // Labels of an owner do not help: the reservation is of other resources.
  EXPECT_EQ(answer(claiming("b").label("app", "web"), "n"), kGiven);
  EXPECT_EQ(schedule(percentOfGpu("c", "100").label("app", "web")), "n gpu 0 in uid-r");
  end("c");
  stores.of<api::Reservation>().erase({"", "r"});
  EXPECT_EQ(claim("d"), "n/gpu-0");
}

// A device that was allocated twice before, by another scheduler, is full for owners, too.
TEST_F(BothWorlds, a_claim_on_what_a_reservation_holds_keeps_owners_away) {
  shared("n", 1);
  EXPECT_EQ(claim("a"), "n/gpu-0");
  set(aReservation("r")
          .request("koordinator.sh/gpu", "100")
          .owner("app", "web")
          .on("n")
          .annotation(std::string(model::kAnnotationDeviceAllocated),
                      R"({"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "100",
          "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}}]})"));
  EXPECT_NE(answer(wholeGpus("c", "1").label("app", "web"), "n"), "");
  endWithClaim("a");
  EXPECT_EQ(answer(wholeGpus("c", "1").label("app", "web"), "n"), "");
}

TEST_F(BothWorlds, a_simulation_frees_the_devices_of_pods_but_not_those_of_claims) {
  shared("n", 2);
  EXPECT_EQ(schedule(wholeGpus("a", "1")), "n gpu 0");
  EXPECT_EQ(claim("b"), "n/gpu-1");
  const PodBuilder forClaim = claiming("c");
  const PodBuilder forGpu = wholeGpus("d", "1");
  {
    Cluster::Transaction whatIf(cluster());
    cluster().removePod("uid-default-a");
    EXPECT_EQ(answer(forClaim, "n"), "");
    EXPECT_EQ(answer(forGpu, "n"), "");
  }
  EXPECT_EQ(answer(forClaim, "n"), kGiven);
  EXPECT_EQ(answer(forGpu, "n"), kUnschedulable + kClaimed);
  {
    Cluster::Transaction whatIf(cluster());
    cluster().removePod("uid-default-b");
    EXPECT_EQ(answer(forGpu, "n"), kUnschedulable + kClaimed);
    EXPECT_EQ(answer(forClaim, "n"), kGiven);
  }
  EXPECT_EQ(answer(forGpu, "n"), kUnschedulable + kClaimed);
  // A pod that is deleted leaves its claim allocated until the controller has seen it.
  end("b");
  EXPECT_EQ(answer(forGpu, "n"), kUnschedulable + kClaimed);
  expectSound();
}

TEST_F(BothWorlds, a_device_in_use_keeps_its_identity_when_objects_vanish) {
  shared("n", 2);
  EXPECT_EQ(claim("a"), "n/gpu-0");
  EXPECT_EQ(schedule(wholeGpus("b", "1")), "n gpu 1");
  const auto slice = stores.of<api::ResourceSlice>().get({"", "n-gpus"});
  // The driver is down.
  stores.of<api::ResourceSlice>().erase({"", "n-gpus"});
  EXPECT_EQ(answer(wholeGpus("c", "1"), "n"), kUnschedulable + kClaimed);
  // It comes back with another device of that name; the pod still uses the former one.
  publish(sliceOf("n", {{"gpu-0", uuid("GPU-7"), ""}, {"gpu-1", uuid("GPU-1"), ""}}));
  EXPECT_EQ(answer(wholeGpus("c", "1"), "n"), kUnschedulable + kClaimed);
  publish(slice);
  // koordlet does not list the GPU.
  set("n", gpus(1));
  EXPECT_EQ(answer(claiming("d"), "n"), kGiven);
  erase("n");
  EXPECT_EQ(answer(claiming("e"), "n"), kGiven);
  end("b");
  EXPECT_EQ(claim("f"), "n/gpu-1");
  set("n", gpus(2));
  EXPECT_EQ(answer(wholeGpus("c", "1"), "n"), kUnschedulable + kClaimed);
  endWithClaim("a");
  EXPECT_EQ(schedule(wholeGpus("c", "1")), "n gpu 0");
}

// The slice tells whose counters the part shares, although no Device says which GPU that is.
TEST_F(BothWorlds, a_part_keeps_its_gpu_when_the_slice_goes_after_the_device) {
  machineWith("n", 2);
  const std::string counters =
      R"(, "consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "1"}}}])";
  publish(sliceOf("n", {},
                  R"(, "sharedCounters": [{"name": "s", "counters": {"m": {"value": "4"}}}])", 2,
                  "-counters"));
  publish(sliceOf("n", {{"a-part", "", counters}, {"gpu-1", uuid("GPU-1"), counters}}, "", 2));
  EXPECT_EQ(claim("a"), "n/a-part");
  erase("n");
  stores.of<api::ResourceSlice>().erase({"", "n-gpus"});
  stores.of<api::ResourceSlice>().erase({"", "n-gpus-counters"});
  set("n", gpus(2));
  EXPECT_EQ(schedule(wholeGpus("b", "1")), "n gpu 0");
  EXPECT_EQ(answer(wholeGpus("c", "1"), "n"), kUnschedulable + kClaimed);
  endWithClaim("a");
  EXPECT_EQ(schedule(wholeGpus("c", "1")), "n gpu 1");
}

TEST_F(BothWorlds, a_restart_finds_the_devices_of_both) {
  shared("n", 3);
  EXPECT_EQ(claim("a"), "n/gpu-0");
  EXPECT_EQ(schedule(wholeGpus("b", "1")), "n gpu 1");
  TwoPlugins after;
  const auto bring = [&](bool slices, bool device) {
    if (slices) after.publish(stores.of<api::ResourceSlice>().get({"", "n-gpus"}));
    after.node("n");
    if (device) after.set("n", gpus(3));
  };
  after.api.put(*api.claims.at("claim-a"));
  bring(false, false);
  for (const auto& [name, pod] : running) after.world.bound(pod);
  // The Device is not there: the annotation has the id of the GPU.
  after.publish(stores.of<api::ResourceSlice>().get({"", "n-gpus"}));
  EXPECT_EQ(after.claim("c"), "n/gpu-2");
  EXPECT_EQ(after.answer(after.claiming("d"), "n"), kGiven);
  after.set("n", gpus(3));
  EXPECT_EQ(after.answer(wholeGpus("e", "1"), "n"), kUnschedulable + kClaimed);
  after.endWithClaim("c");
  EXPECT_EQ(after.schedule(wholeGpus("e", "1")), "n gpu 2");
  after.expectSound();
}

TEST_F(BothWorlds, after_a_restart_claims_without_slices_have_all_devices) {
  shared("n", 2);
  EXPECT_EQ(claim("a"), "n/gpu-0");
  TwoPlugins after;
  after.machineWith("n", 2);
  after.machineWith("m", 2);
  after.api.put(*api.claims.at("claim-a"));
  EXPECT_EQ(after.answer(wholeGpus("b", "1"), "n"), kUnschedulable + kClaimed);
  EXPECT_EQ(after.answer(wholeGpus("b", "1"), "m"), "");
  after.publish(stores.of<api::ResourceSlice>().get({"", "n-gpus"}));
  EXPECT_EQ(after.schedule(wholeGpus("b", "1"), "n"), "n gpu 1");
  // In the same process the identity is known.
  after.stores.of<api::ResourceSlice>().erase({"", "n-gpus"});
  after.end("b");
  EXPECT_EQ(after.schedule(wholeGpus("c", "1"), "n"), "n gpu 1");
  after.api.change("claim-a", [](auto& claim) { claim.status = {}; });
  EXPECT_EQ(after.schedule(wholeGpus("d", "1"), "n"), "n gpu 0");
}

TEST_F(BothWorlds, a_device_that_was_given_meanwhile_is_not_bound) {
  shared("n", 1);
  const PodPtr pod = world.pod(claiming("a"));
  CycleState state;
  ASSERT_TRUE(world.search().find(state, pod, {}).status.ok());
  ASSERT_TRUE(cluster().assume(pod, id("n")));
  for (const auto& each : world.profile().reserve)
    ASSERT_TRUE(each.point->reserve(state, pod, id("n")).ok());
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + kClaimed);
  // Bound by another scheduler.
  world.bound(
      testing::noted(wholeGpus("c", "1"), model::kAnnotationDeviceAllocated,
                     R"({"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "100"}}]})")
          .nodeName("n"));
  std::optional<Status> status;
  TaskGroup tasks;
  auto* claims = world.profile().offers<DynamicResources>().front();
  tasks.spawn(preBind(claims, &state, pod, id("n"), &status));
  world.loop().advance(std::chrono::seconds(1));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "DeviceShare allocated the devices to another pod in the meantime");
  EXPECT_EQ(api.devicesOf("claim-a"), "");
}

TEST_F(BothWorlds, a_device_that_a_claim_got_meanwhile_is_not_bound) {
  shared("n", 1);
  const PodPtr pod = world.pod(wholeGpus("a", "1"));
  CycleState state;
  ASSERT_TRUE(world.search().find(state, pod, {}).status.ok());
  ASSERT_TRUE(cluster().assume(pod, id("n")));
  for (const auto& each : world.profile().reserve)
    ASSERT_TRUE(each.point->reserve(state, pod, id("n")).ok());
  auto other = gpuClaim("other");
  other->status.allocation.emplace().devices.results.push_back(
      {.request = "gpu", .driver = "gpu.example", .pool = "n", .device = "gpu-0"});
  api.put(*other);
  std::optional<Status> status;
  TaskGroup tasks;
  tasks.spawn(preBind(plugin, &state, pod, id("n"), &status));
  world.loop().advance(std::chrono::seconds(1));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "gpu 0 of node n was allocated to a resource claim in the meantime");
}

// The write of its claim may still succeed.
TEST_F(BothWorlds, a_pod_that_goes_while_its_claim_is_written_keeps_the_device_until_then) {
  shared("n", 1);
  const PodPtr pod = world.pod(claiming("a"));
  CycleState state;
  ASSERT_TRUE(world.search().find(state, pod, {}).status.ok());
  ASSERT_TRUE(cluster().assume(pod, id("n")));
  for (const auto& each : world.profile().reserve)
    ASSERT_TRUE(each.point->reserve(state, pod, id("n")).ok());
  std::optional<Status> status;
  TaskGroup tasks;
  auto* claims = world.profile().offers<DynamicResources>().front();
  tasks.spawn(preBind(claims, &state, pod, id("n"), &status));
  cluster().removePod(pod->uid());
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + kClaimed);
  world.loop().advance(std::chrono::seconds(1));
  EXPECT_EQ(api.devicesOf("claim-a"), "n/gpu-0");
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + kClaimed);
}

TEST_F(BothWorlds, slices_for_several_nodes_are_linked_where_the_hardware_is) {
  machineWith("n", 1);
  machineWith("m", 0);
  auto slice = std::make_shared<api::ResourceSlice>(*sliceOf("n", {{"gpu-0", uuid("GPU-0"), ""}}));
  slice->spec.nodeName = "";
  slice->spec.allNodes = true;
  publish(slice);
  EXPECT_EQ(schedule(wholeGpus("a", "1"), "n"), "n gpu 0");
  EXPECT_EQ(answer(claiming("b"), "n"), kGiven);
  end("a");
  EXPECT_EQ(claim("c"), "n/gpu-0");
  EXPECT_EQ(answer(wholeGpus("d", "1"), "n"), kUnschedulable + kClaimed);
  endWithClaim("c");
  EXPECT_EQ(schedule(wholeGpus("d", "1"), "n"), "n gpu 0");
}

TEST_F(BothWorlds, a_node_without_a_device_plugin_gives_gpus_by_claims) {
  auto backing = std::make_shared<api::DeviceClass>(*gpuClass());
  backing->spec.extendedResourceName = "nvidia.com/gpu";
  stores.of<api::DeviceClass>().set(backing);
  // No nvidia.com/gpu is allocatable.
  world.node(testing::aNode("n")
                 .allocatable("koordinator.sh/gpu-core", "200")
                 .allocatable("koordinator.sh/gpu-memory-ratio", "200")
                 .allocatable("koordinator.sh/gpu", "200"));
  set("n", gpus(2));
  publish(sliceOf("n", {{"gpu-0", uuid("GPU-0"), ""}, {"gpu-1", uuid("GPU-1"), ""}}));
  shared("m", 1);
  EXPECT_EQ(schedule(wholeGpus("a", "1"), "n"), "n");
  EXPECT_EQ(api.devicesOf("a-extended-resources-1"), "n/gpu-0");
  EXPECT_EQ(answer(wholeGpus("b", "2"), "n"), kNoDevices);
  EXPECT_EQ(plugin->remedyFor(*world.pod(wholeGpus("b", "2")), id("n")), "");
  EXPECT_EQ(schedule(wholeGpus("b", "1"), "m"), "m gpu 0");
  EXPECT_EQ(api.claims.size(), 1U) << "the node has a device plugin";
  // Other names of GPUs are for DeviceShare.
  EXPECT_EQ(schedule(percentOfGpu("c", "100"), "n"), "n gpu 1");
  EXPECT_EQ(answer(wholeGpus("d", "1"), "n"), kGiven);
  end("c");
  EXPECT_EQ(schedule(wholeGpus("d", "1"), "n"), "n");
  EXPECT_EQ(answer(percentOfGpu("e", "10"), "n"), kUnschedulable + kClaimed);
  expectSound();
}

TEST_F(BothWorlds, explanations_name_the_claims) {
  shared("n", 2);
  EXPECT_EQ(claim("a"), "n/gpu-0");
  EXPECT_EQ(plugin->remedyFor(*world.pod(wholeGpus("b", "2")), id("n")),
            "free GPUs there: 1 idle, 0 shared, 1 full; 1 of them allocated to resource claims");
  EXPECT_THAT(toJson(plugin->factsOf(*world.pod(wholeGpus("b", "2")))),
              HasSubstr(R"("gpu":{"0":"allocated to a resource claim","1":"idle"})"));
  const auto summary = plugin->routes()[1].answer("n");
  ASSERT_TRUE(summary);
  EXPECT_EQ(toJson(*find(*summary, "devicesOfClaims")), R"({"gpu":[0]})");
  EXPECT_EQ(toJson(*koord::at(*summary, "deviceFree", "koordinator.sh/gpu-core")), R"("100")");
  EXPECT_THAT(plugin->metrics(), HasSubstr("scheduler_gpus{state=\"full\"} 1"));
}

}  // namespace
}  // namespace koord::scheduler
