#include "scheduler/plugins/deviceshare/plugin.h"

#include <gmock/gmock.h>

#include "scheduler/plugins/deviceshare/device_world.h"
#include "scheduler/plugins/nodenumaresource/numa_builders.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aReservation;
using testing::DeviceMachine;
using testing::DeviceWorld;
using testing::gpuPod;
using ::testing::HasSubstr;
using testing::kUnresolvable;
using testing::kUnschedulable;
using testing::noted;
using testing::percentOfGpu;
using testing::PodBuilder;
using testing::wholeGpus;

struct Devices : ::testing::Test, DeviceWorld {};

// --- Allocations.

TEST_F(Devices, whole_gpus_are_given_and_written_down) {
  machine("n");
  EXPECT_EQ(schedule(wholeGpus("p", "2")), "n gpu 0,1");
  const auto& annotations = running.at("p").object().metadata.annotations;
  EXPECT_EQ(annotations.at(std::string(model::kAnnotationDeviceAllocated)),
            R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100",)"
            R"("koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"},)"
            R"("id":"gpu0"},{"minor":1,"resources":{"koordinator.sh/gpu-core":"100",)"
            R"("koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"},)"
            R"("id":"gpu1"}]})");
  expectSound();
}

TEST_F(Devices, gpus_are_given_once) {
  machine("n");
  EXPECT_EQ(schedule(wholeGpus("a", "4")), "n gpu 0,1,2,3");
  EXPECT_EQ(schedule(wholeGpus("b", "4")), "n gpu 4,5,6,7");
  EXPECT_EQ(schedule(wholeGpus("c", "1")), "0/1 nodes are available: 1 Insufficient GPU Devices.");
  end("a");
  EXPECT_EQ(schedule(wholeGpus("c", "1")), "n gpu 0");
  expectSound();
}

TEST_F(Devices, parts_of_gpus_go_to_one_that_is_in_use) {
  machine("n");
  EXPECT_EQ(schedule(percentOfGpu("a", "50")), "n gpu 0:50");
  // The switch in use; on it the emptier GPU, since the strategy is least allocated.
  EXPECT_EQ(schedule(percentOfGpu("b", "50")), "n gpu 1:50");
  EXPECT_EQ(schedule(percentOfGpu("c", "60")), "n gpu 2:60");
  EXPECT_EQ(schedule(wholeGpus("d", "5")), "n gpu 3,4,5,6,7");
  EXPECT_EQ(answer(percentOfGpu("e", "60"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(answer(percentOfGpu("e", "50"), "n"), "");
  expectSound();
}

TEST_F(Devices, bytes_of_memory_are_percent_of_it_too) {
  machine("n");
  EXPECT_EQ(schedule(gpuPod("a", "koordinator.sh/gpu-memory", "8Gi")), "n gpu 0:50");
  EXPECT_EQ(schedule(gpuPod("b", "koordinator.sh/gpu-memory", "10Gi")), "n gpu 1:63");
}

TEST_F(Devices, network_cards_come_from_the_switches_of_the_gpus) {
  machine("n", true);
  const auto pod = noted(wholeGpus("p", "4").request("koordinator.sh/rdma", "1"),
                         kAnnotationDeviceJoint, R"({"deviceTypes":["gpu","rdma"]})");
  EXPECT_EQ(schedule(pod), "n gpu 0,1,2,3 rdma 0,1");
  expectSound();
}

TEST_F(Devices, virtual_functions_are_given_once) {
  node("n");
  DeviceMachine machine;
  set("n", machine.rdma(0, 0, "a", 2));
  const auto pod = [&](const char* name) {
    return noted(gpuPod(name, "koordinator.sh/rdma", "1"), kAnnotationDeviceHint,
                 R"({"rdma":{"vfSelector":{}}})");
  };
  EXPECT_EQ(schedule(pod("a")), "n rdma 0/0000:00:00.0");
  EXPECT_EQ(schedule(pod("b")), "n rdma 0/0000:00:00.1");
  EXPECT_EQ(schedule(pod("c")), "0/1 nodes are available: 1 Insufficient rdma devices.");
  end("a");
  EXPECT_EQ(schedule(pod("c")), "n rdma 0/0000:00:00.0");
  expectSound();
}

TEST_F(Devices, nodes_without_a_device_object_are_left_to_kubelet) {
  node("n");
  EXPECT_EQ(schedule(wholeGpus("p", "2")), "n");
  EXPECT_EQ(world.scores(world.pod(wholeGpus("q", "1"))).size(), 1u);
}

TEST_F(Devices, pods_without_devices_are_none_of_its_business) {
  machine("n");
  EXPECT_EQ(schedule(aPod("p").request("cpu", "1")), "n");
  EXPECT_TRUE(plugin->factsOf(*world.pod(aPod("q"))).is_null());
}

// --- Rejections.

TEST_F(Devices, requests_that_mean_nothing_are_refused) {
  machine("n");
  EXPECT_EQ(answer(gpuPod("a", "koordinator.sh/gpu-core", "50"), "n"),
            kUnresolvable + "invalid resource device requests: [koordinator.sh/gpu-core]");
  EXPECT_EQ(answer(percentOfGpu("b", "150"), "n"),
            kUnresolvable + "invalid resource unit koordinator.sh/gpu: 150");
  EXPECT_EQ(answer(noted(wholeGpus("c", "1"), kAnnotationDeviceHint, "{"), "n").substr(0, 70),
            (kUnresolvable + "invalid DeviceAllocateHint annotation, err: ").substr(0, 70));
  EXPECT_THAT(answer(noted(wholeGpus("d", "1"), model::kAnnotationDeviceAllocated,
                           R"({"gpu":[{"minor":-1}]})"),
                     "n"),
              HasSubstr("device-allocated]: gpu[0].minor: -1 is not a number of a device"));
}

TEST_F(Devices, devices_that_cannot_be_read_are_left_out) {
  node("n");
  api::Device device = DeviceMachine::eightGpus().device;
  device.spec.devices[0].minor.reset();
  device.spec.devices[1].minor = 2;  // twice
  device.spec.devices[3].type = "tpu";
  device.spec.devices[4].resources["koordinator.sh/gpu-core"] = testing::quantity("-100");
  device.spec.devices[5].health = false;
  set("n", device);
  machine("other");
  const auto& problems = devices("n").inventory.problems();
  EXPECT_EQ(problems, (std::vector<std::string>{"spec.devices[0].minor: missing",
                                                "spec.devices[2].minor: duplicate 2",
                                                "spec.devices[3].type: \"tpu\" is not known",
                                                "spec.devices[4].resources[koordinator.sh/"
                                                "gpu-core]: -100 is negative"}));
  EXPECT_EQ(answer(wholeGpus("p", "3"), "n"), "");
  EXPECT_EQ(answer(wholeGpus("p", "4"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(answer(wholeGpus("p", "8"), "other"), "");
}

TEST(DevicesOfZones, a_node_under_best_effort_is_scored_as_a_whole) {
  std::string yaml = testing::kWithDevices;
  const std::string plugins = "[{name: SchedulingHint}, {name: DeviceShare}";
  yaml.replace(yaml.find(plugins), plugins.size(),
               "[{name: NodeNUMAResource}, {name: DeviceShare}");
  const auto scored = [&](const char* policy) {
    DeviceWorld f(yaml);
    f.machine("n", false, {{"node.koordinator.sh/numa-topology-policy", policy}});
    api::NodeResourceTopology report;
    report.metadata.name = "n";
    for (const char* zone : {"node-0", "node-1"})
      report.zones.push_back({zone, "Node", {{"cpu", {}, Quantity::of(48), {}}}});
    f.world.stores().of<CpuReport>().set(testing::asReported(report));
    EXPECT_EQ(f.schedule(wholeGpus("first", "1")), "n gpu 0");
    const PodPtr pod = f.world.pod(wholeGpus("p", "1").request("cpu", "1"));
    CycleState state;
    EXPECT_TRUE(f.plugin->preFilter(state, *pod).status.ok());
    const std::vector<NodeId> nodes{f.id("n")};
    std::vector<std::int64_t> scores(1);
    EXPECT_TRUE(f.plugin->score(state, *pod, nodes, scores).ok());
    return scores.front();
  };
  // The whole node has more left than one of its NUMA nodes.
  EXPECT_EQ(scored("BestEffort"), scored("None"));
  EXPECT_NE(scored("SingleNUMANode"), scored("None"));
}

TEST_F(Devices, shared_gpus_need_the_isolation_that_the_pod_asks_for) {
  machine("plain");
  machine("hami", false, {{"koordinator.sh/gpu-isolation-provider", "HAMi-core"}});
  machine("manuals", false, {{"koordinator.sh/gpu-isolation-provider", "hami-core"}});
  for (const char* provider : {"HAMi-core", "hami-core"}) {
    const auto pod =
        percentOfGpu("p", "50").label("koordinator.sh/gpu-isolation-provider", provider);
    EXPECT_EQ(answer(pod, "plain"),
              kUnresolvable + "GPUIsolationProviderHAMICore not found on the node");
    EXPECT_EQ(answer(pod, "hami"), "");
    EXPECT_EQ(answer(pod, "manuals"), "");
  }
}

TEST_F(Devices, models_that_cannot_be_shared_take_whole_requests_only) {
  DeviceWorld other(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: DeviceShare}]}}
  pluginConfig:
  - name: DeviceShare
    args: {gpuShareUnsupportedModels: [{vendor: metax, model: C500}]}
)");
  other.machine(
      "n", false,
      {{"node.koordinator.sh/gpu-vendor", "metax"}, {"node.koordinator.sh/gpu-model", "C500"}});
  EXPECT_EQ(other.answer(percentOfGpu("p", "50"), "n"),
            kUnresolvable + "model \"C500\" of vendor \"metax\" does not support GPU Share");
  EXPECT_EQ(other.answer(wholeGpus("q", "1"), "n"), "");
}

// --- Scores.

TEST_F(Devices, the_emptier_node_is_better_unless_told_otherwise) {
  const std::string most = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: DeviceShare}]}
  pluginConfig:
  - name: DeviceShare
    args: {scoringStrategy: {type: %s, resources: [{name: koordinator.sh/gpu-memory-ratio, weight: 1}, {name: koordinator.sh/gpu-memory, weight: 1}]}}
)";
  for (const bool binpack : {false, true}) {
    std::string yaml = most;
    yaml.replace(yaml.find("%s"), 2, binpack ? "MostAllocated" : "LeastAllocated");
    DeviceWorld each(yaml);
    for (const char* name : {"used", "idle"}) {
      each.node(name);
      DeviceMachine machine;
      each.set(name, machine.gpu(0, 0, "a").gpu(1, 0, "a"));
    }
    EXPECT_THAT(each.schedule(percentOfGpu("a", "50"), "used"), HasSubstr("used gpu 0:50"));
    // The example of the specification: 62 and 87; 100 for the highest.
    const auto scores = each.world.scores(each.world.pod(gpuPod("p", "koordinator.sh/gpu", "50")));
    EXPECT_EQ(scores.at("used"), binpack ? 100 : 71);
    EXPECT_EQ(scores.at("idle"), binpack ? 32 : 100);
  }
}

TEST_F(Devices, counting_gpus_says_what_the_allocator_says) {
  // Nodes with and without topology, model, partitions and health, filled at random.
  Random random(7);
  const DeviceAllocator allocator;
  DeviceScoring scoring;
  scoring.weights = {{DeviceResource::GpuMemoryRatio, 1}, {DeviceResource::GpuMemory, 1}};
  for (int round = 0; round < 3000; ++round) {
    DeviceMachine machine = DeviceMachine::eightGpus();
    if (random.below(3) == 0) machine.device.spec.devices[random.below(8)].topology.reset();
    if (random.below(3) == 0) machine.device.spec.devices[random.below(8)].health = false;
    if (random.below(4) == 0) machine.node.model = "H800";
    for (int minor = 0; minor < 9; ++minor)
      if (random.below(2) == 0)
        machine.useGpu(minor, static_cast<std::int64_t>(25 * (1 + random.below(4))));
    const char* const names[] = {"nvidia.com/gpu", "koordinator.sh/gpu",
                                 "koordinator.sh/gpu-memory"};
    const std::size_t kind = random.below(3);
    const std::string amount = kind == 0   ? std::to_string(1 + random.below(5))
                               : kind == 1 ? std::to_string(25 * (1 + random.below(4)))
                                           : std::to_string(1 + random.below(16)) + "Gi";
    api::ResourceList asked{{names[kind], testing::quantity(amount)}};
    if (kind == 1 && random.below(2) == 0) {
      asked = {{"koordinator.sh/gpu.shared", testing::quantity("2")},
               {"koordinator.sh/gpu-memory-ratio", testing::quantity("100")}};
    }
    const auto demand = readDeviceDemand(asked, {});
    ASSERT_TRUE(demand);
    ASSERT_TRUE(isPlain(*demand));
    const DeviceInventory inventory(std::make_shared<const api::Device>(machine.device));
    const DeviceOffer offer{inventory, machine.used, machine.node, std::nullopt};
    const DeviceQuestion question{.offer = offer, .demand = *demand, .scoring = &scoring};
    const DeviceAnswer exact = allocator.allocate(question);
    const QuickFit quick = quickFit(*demand, inventory, machine.used, machine.node);
    if (quick == QuickFit::Fits) {
      EXPECT_TRUE(exact.ok()) << round << " " << amount;
    }
    if (quick == QuickFit::Lacks) {
      ASSERT_FALSE(exact.ok()) << round << " " << amount;
      EXPECT_EQ(exact.reasons.front(), quickReason(*demand, inventory));
      EXPECT_EQ(exact.outcome, DeviceAnswer::Outcome::Unschedulable);
    }
    EXPECT_EQ(quickScore(*demand, scoring, inventory, machine.used), allocator.score(question));
  }
}

// --- Changes, restarts.

TEST_F(Devices, a_device_that_breaks_is_not_given_and_keeps_its_pod) {
  machine("n");
  EXPECT_EQ(schedule(wholeGpus("a", "7")), "n gpu 0,1,2,3,4,5,6");
  DeviceMachine broken = DeviceMachine::eightGpus();
  broken.device.spec.devices[7].health = false;
  set("n", broken);
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  set("n", DeviceMachine::eightGpus());
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), "");
  erase("n");
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + "Insufficient gpu devices");
  set("n", DeviceMachine::eightGpus());
  EXPECT_EQ(schedule(wholeGpus("b", "1")), "n gpu 7");
  EXPECT_EQ(answer(wholeGpus("c", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  expectSound();
}

// After a restart pods can be there before their Device. Preempting the last of them must not look
// as if the node had no managed devices.
TEST_F(Devices, a_node_whose_pods_had_devices_stays_managed_until_its_device_arrives) {
  machine("n");
  schedule(wholeGpus("a", "1"));
  DeviceWorld again;
  again.node("n");
  again.world.bound(running.at("a"));
  const PodBuilder waiting = wholeGpus("b", "1");
  EXPECT_EQ(again.answer(waiting, "n"), kUnschedulable + "Insufficient gpu devices");
  again.cluster().removePod("uid-default-a");
  EXPECT_EQ(again.answer(waiting, "n"), kUnresolvable + "Insufficient gpu devices");
  again.set("n", DeviceMachine::eightGpus());
  EXPECT_EQ(again.answer(waiting, "n"), "");
}

TEST_F(Devices, what_pods_hold_is_read_again_in_any_order) {
  machine("n", true);
  schedule(wholeGpus("a", "3"));
  schedule(percentOfGpu("b", "30"));
  schedule(noted(wholeGpus("c", "2").request("koordinator.sh/rdma", "1"), kAnnotationDeviceJoint,
                 R"({"deviceTypes":["gpu","rdma"]})"));
  const NodeDevices before = devices("n");
  for (int order = 0; order < 6; ++order) {
    DeviceWorld again;
    const auto pods = [&] {
      for (auto& [name, pod] : running) again.world.bound(pod);
    };
    if (order % 3 == 0) pods();
    if (order < 3) again.node("n");
    if (order % 3 == 1) pods();
    again.set("n", DeviceMachine::eightGpus(true));
    if (order >= 3) again.node("n");
    if (order % 3 == 2) pods();
    EXPECT_TRUE(again.devices("n").use == before.use) << order;
    again.expectSound();
    EXPECT_EQ(again.answer(wholeGpus("d", "3"), "n"), kUnschedulable + "Insufficient GPU Devices");
  }
}

TEST_F(Devices, an_annotation_that_is_spoilt_frees_nothing) {
  machine("n");
  schedule(wholeGpus("a", "8"));
  PodBuilder pod = running.at("a");
  world.bound(noted(pod, model::kAnnotationDeviceAllocated, "{oops").version("2"));
  EXPECT_EQ(answer(wholeGpus("b", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  expectSound();
}

TEST_F(Devices, what_if_questions_see_what_victims_would_leave) {
  machine("n");
  schedule(wholeGpus("a", "8"));
  const auto pod = wholeGpus("b", "8");
  {
    Cluster::Transaction transaction(cluster());
    cluster().removePod("uid-default-a");
    EXPECT_EQ(answer(pod, "n"), "");
  }
  EXPECT_EQ(answer(pod, "n"), kUnschedulable + "Insufficient GPU Devices");
  expectSound();
}

TEST_F(Devices, a_pod_is_not_bound_to_a_device_that_broke_meanwhile) {
  machine("n");
  const PodPtr pod = world.pod(wholeGpus("p", "1"));
  ASSERT_TRUE(cluster().assume(pod, id("n")));
  CycleState state;
  ASSERT_TRUE(plugin->reserve(state, pod, id("n")).ok());
  DeviceMachine broken = DeviceMachine::eightGpus();
  broken.device.spec.devices[0].health = false;
  set("n", broken);
  std::optional<Status> status;
  TaskGroup tasks;
  tasks.spawn(preBind(plugin, &state, pod, id("n"), &status));
  world.loop().runReady();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->message(), "gpu 0 of node n is unhealthy");
}

TEST_F(Devices, recorded_devices_are_given_again_where_a_hint_asks_for_that) {
  machine("n");
  const std::string recorded = R"({"gpu":[{"minor":5,"resources":{"koordinator.sh/gpu-core":"100",)"
                               R"("koordinator.sh/gpu-memory-ratio":"100"}}]})";
  const auto pod = noted(wholeGpus("p", "1"), model::kAnnotationDeviceAllocated, recorded);
  EXPECT_EQ(schedule(noted(pod, model::kAnnotationSchedulingHint,
                           R"({"extensions":{"DeviceShare":{}}})")),
            "n gpu 5");
  PodBuilder next = pod;
  next.object().metadata.name = "q";
  next.object().metadata.uid = "uid-default-q";
  EXPECT_EQ(schedule(next), "n gpu 4");
}

// --- Reservations.

struct Reserved : Devices {
  // Two GPUs, 2 and 3 of n, for pods with the label app: web.
  Reserved() {
    machine("n");
    reserve2();
  }
  void reserve2(const char* policy = "Aligned") {
    auto reservation =
        aReservation("r").request("nvidia.com/gpu", "2").owner("app", "web").policy(policy).on("n");
    reservation.object().metadata.annotations[std::string(model::kAnnotationDeviceAllocated)] =
        R"({"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}},)"
        R"({"minor":3,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}}]})";
    DeviceWorld::set(reservation);
  }
  static PodBuilder web(const char* name, const char* count) {
    return wholeGpus(name, count).label("app", "web");
  }
};

TEST_F(Reserved, devices_of_a_reservation_go_to_its_owners) {
  EXPECT_EQ(answer(wholeGpus("p", "7"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(schedule(web("w", "1")), "n gpu 2 in uid-r");
  EXPECT_EQ(schedule(wholeGpus("p", "6")), "n gpu 0,1,4,5,6,7");
  EXPECT_EQ(answer(wholeGpus("q", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(schedule(web("v", "1")), "n gpu 3 in uid-r");
  EXPECT_EQ(answer(web("u", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  end("w");
  EXPECT_EQ(answer(wholeGpus("q", "1"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(schedule(web("u", "1")), "n gpu 2 in uid-r");
  expectSound();
}

TEST_F(Reserved, a_larger_owner_takes_free_ones_besides) {
  EXPECT_EQ(schedule(web("w", "8")), "n gpu 0,1,2,3,4,5,6,7 in uid-r");
  expectSound();
}

TEST_F(Reserved, a_restricted_one_gives_nothing_else) {
  reserve2("Restricted");
  const auto wish = [](PodBuilder pod) {
    return noted(std::move(pod), model::kAnnotationReservationAffinity, "{}");
  };
  EXPECT_EQ(schedule(web("w", "2")), "n gpu 2,3 in uid-r");
  EXPECT_THAT(answer(wish(web("v", "1")), "n"), HasSubstr("Reservation(s) Insufficient"));
}

TEST_F(Reserved, an_owner_of_a_restricted_one_is_scored_within_it) {
  machine("m");
  const auto total = [&](const char* policy) {
    reserve2(policy);
    return world.scores(world.pod(web("w", "1")), {"n", "m"})["n"];
  };
  // Of a whole node 93, as on the other one; of two reserved GPUs 75, which is 80 % of that.
  EXPECT_EQ(total("Aligned") - total("Restricted"), 20);
}

TEST_F(Reserved, when_it_goes_its_owner_keeps_what_it_has) {
  schedule(web("w", "1"));
  world.stores().of<api::Reservation>().erase({"", "r"});
  EXPECT_EQ(answer(wholeGpus("p", "8"), "n"), kUnschedulable + "Insufficient GPU Devices");
  EXPECT_EQ(schedule(wholeGpus("p", "7")), "n gpu 0,1,3,4,5,6,7");
  expectSound();
}

TEST_F(Reserved, owners_and_reservations_are_read_again_in_any_order) {
  schedule(web("w", "1"));
  for (const bool ownerFirst : {true, false}) {
    DeviceWorld again;
    again.machine("n");
    if (ownerFirst) again.world.bound(running.at("w"));
    again.world.stores().of<api::Reservation>().set(
        world.stores().of<api::Reservation>().get({"", "r"}));
    if (!ownerFirst) again.world.bound(running.at("w"));
    EXPECT_TRUE(again.devices("n").use == devices("n").use);
    again.expectSound();
    EXPECT_EQ(again.schedule(web("v", "1")), "n gpu 3 in uid-r");
  }
}

// --- NUMA.

TEST_F(Devices, hints_name_the_numa_nodes_that_have_enough) {
  machine("n");
  schedule(wholeGpus("a", "1"));
  const NumaHints hints = plugin->numaHints(*world.pod(wholeGpus("p", "4")), id("n"));
  ASSERT_TRUE(hints.status.ok());
  ASSERT_EQ(hints.resources.size(), 1u);
  EXPECT_EQ(hints.resources[0].resource, "gpu");
  EXPECT_EQ(hints.resources[0].hints,
            (std::vector<NumaHint>{{0b10, true, 500}, {0b11, false, 500}}));
  EXPECT_TRUE(plugin->checkNuma(*world.pod(wholeGpus("p", "4")), id("n"), 0b10).ok());
  EXPECT_FALSE(plugin->checkNuma(*world.pod(wholeGpus("p", "4")), id("n"), 0b01).ok());
}

TEST_F(Devices, there_are_no_hints_where_nothing_is_known_or_wanted) {
  node("bare");
  machine("n");
  EXPECT_TRUE(plugin->numaHints(*world.pod(aPod("p")), id("n")).resources.empty());
  EXPECT_TRUE(plugin->numaHints(*world.pod(wholeGpus("p", "1")), id("bare")).resources.empty());
  const NumaHints none = plugin->numaHints(*world.pod(wholeGpus("p", "9")), id("n"));
  EXPECT_EQ(none.status.message(), "Insufficient NUMA Scoped Devices");
}

// --- Endpoints and explain.

TEST_F(Devices, the_service_tells_totals_and_holders) {
  machine("n");
  schedule(percentOfGpu("a", "50"));
  auto routes = plugin->routes();
  const auto one = routes[1].answer("n");
  ASSERT_TRUE(one);
  EXPECT_EQ(textAt(*one, "deviceTotal", "koordinator.sh/gpu-core"), "800");
  EXPECT_EQ(textAt(*one, "deviceFree", "koordinator.sh/gpu-memory"), "120Gi");
  EXPECT_EQ(textAt(*one, "deviceUsedDetail", "gpu", "0", "koordinator.sh/gpu-core"), "50");
  EXPECT_EQ(textAt(*one, "allocateSet", "gpu", "default/a", "0", "koordinator.sh/gpu-core"), "50");
  EXPECT_EQ(routes[1].answer("m").error().message, "cannot find node m");
  EXPECT_THAT(plugin->metrics(), HasSubstr("scheduler_gpus{state=\"shared\"} 1\n"));
  EXPECT_THAT(plugin->metrics(), HasSubstr("scheduler_gpu_fragmentation_ratio 0.0667\n"));
}

TEST_F(Devices, explain_says_what_is_free_where) {
  machine("n");
  schedule(wholeGpus("a", "7"));
  const json::value facts = plugin->factsOf(*world.pod(wholeGpus("p", "2")));
  const json::value& node = facts.as_object().at("nodes").as_array().at(0);
  EXPECT_EQ(textAt(node, "reason"), "Insufficient GPU Devices");
  EXPECT_EQ(textAt(node, "devices", "gpu", "7"), "idle");
  const json::value own = plugin->factsOf(*world.pod(wholeGpus("a", "7")));
  EXPECT_EQ(textAt(own, "node"), "n");
}

}  // namespace
}  // namespace koord::scheduler
