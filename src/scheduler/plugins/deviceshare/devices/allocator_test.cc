// The worked examples of device allocation, the differences from upstream, and invariants for every
// request.

#include "scheduler/plugins/deviceshare/devices/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/node_names.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"

namespace koord::scheduler {
namespace {

using testing::DeviceMachine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DeviceScoring kLeastFirst{false,
                                {{DeviceResource::GpuMemoryRatio, 1},
                                 {DeviceResource::GpuMemory, 1},
                                 {DeviceResource::Rdma, 1},
                                 {DeviceResource::Fpga, 1}}};
const DeviceScoring kMostFirst{true, kLeastFirst.weights};

api::ResourceList asks(std::vector<std::pair<std::string, std::string>> entries) {
  api::ResourceList list;
  for (const auto& [name, amount] : entries) list[name] = *Quantity::parse(amount);
  return list;
}

DeviceMachine eightWithUsed(std::initializer_list<int> used, bool withRdma = false) {
  DeviceMachine machine = DeviceMachine::eightGpus(withRdma);
  for (const int minor : used) machine.useGpu(minor);
  return machine;
}

api::StringMap hint(std::string text) {
  return {{std::string(kAnnotationDeviceHint), std::move(text)}};
}

TEST(WholeGpus, come_from_one_switch_if_they_can_and_from_one_in_use_at_that) {
  EXPECT_EQ(eightWithUsed({}).ask("nvidia.com/gpu", "2"), "gpu 0,1");
  EXPECT_EQ(eightWithUsed({0}).ask("nvidia.com/gpu", "2"), "gpu 2,3");
  EXPECT_EQ(eightWithUsed({0, 2}).ask("nvidia.com/gpu", "2"), "gpu 4,5");
  EXPECT_EQ(eightWithUsed({0, 2, 4, 6}).ask("nvidia.com/gpu", "2"), "gpu 1,3");
  EXPECT_EQ(eightWithUsed({0, 2, 4, 6}).ask("nvidia.com/gpu", "4"), "gpu 1,3,5,7");
  EXPECT_EQ(eightWithUsed({0}).ask("nvidia.com/gpu", "8"), "Insufficient GPU Devices");
}

TEST(WholeGpus, must_be_as_near_as_their_hint_says) {
  EXPECT_EQ(eightWithUsed({0, 2, 4, 6})
                .ask({.requests = asks({{"nvidia.com/gpu", "2"}}),
                      .annotations = hint(R"({"gpu": {"requiredTopologyScope": "PCIe"}})")}),
            "Insufficient Topology Scoped GPU Devices");
  const auto onDevice = hint(R"({"gpu": {"requiredTopologyScope": "Device"}})");
  DeviceMachine machine = eightWithUsed({0});
  EXPECT_EQ(machine.ask({.requests = asks({{"nvidia.com/gpu", "1"}}), .annotations = onDevice}),
            "gpu 1");
  EXPECT_EQ(machine.ask({.requests = asks({{"nvidia.com/gpu", "2"}}), .annotations = onDevice}),
            "Insufficient Topology Scoped GPU Devices");
  EXPECT_EQ(machine.ask({.requests = asks({{"nvidia.com/gpu", "1"}}),
                         .annotations = onDevice,
                         .rules = DeviceRules::AsUpstream}),
            "Insufficient Topology Scoped GPU Devices");
}

TEST(SharedGpus, pack_onto_switches_in_use_and_within_one_the_strategy_decides) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  machine.useGpu(0, 50);
  const auto half = asks({{"koordinator.sh/gpu", "50"}});
  EXPECT_EQ(machine.ask({.requests = half, .scoring = &kLeastFirst}), "gpu 1");
  EXPECT_EQ(machine.ask({.requests = half, .scoring = &kMostFirst}), "gpu 0");
  // With two in use, upstream cannot distinguish them.
  DeviceMachine pair = DeviceMachine::eightGpus();
  pair.useGpu(0, 20);
  pair.useGpu(1, 40);
  const auto tenth = asks({{"koordinator.sh/gpu", "10"}});
  EXPECT_EQ(pair.ask({.requests = tenth, .scoring = &kMostFirst}), "gpu 1");
  EXPECT_EQ(pair.ask({.requests = tenth, .scoring = &kLeastFirst}), "gpu 0");
  EXPECT_EQ(pair.ask({.requests = tenth, .scoring = &kMostFirst, .rules = DeviceRules::AsUpstream}),
            "gpu 0");
}

TEST(SharedGpus, without_known_places_go_by_score_alone) {
  DeviceMachine machine;
  machine.gpu(0, 0, "a").gpu(1, 0, "a");
  for (auto& info : machine.device.spec.devices) info.topology.reset();
  machine.useGpu(0, 50);
  const auto half = asks({{"koordinator.sh/gpu", "50"}});
  EXPECT_EQ(machine.ask({.requests = half, .scoring = &kLeastFirst}), "gpu 1");
  EXPECT_EQ(machine.ask({.requests = half, .scoring = &kMostFirst}), "gpu 0");
}

TEST(SharedGpus, get_memory_in_bytes_and_percent) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  EXPECT_EQ(machine.ask("koordinator.sh/gpu-memory", "10Gi"), "gpu 0");
  const DeviceAmounts& given = at(machine.last.given, DeviceType::Gpu).front().amounts;
  EXPECT_EQ(given[DeviceResource::GpuMemoryRatio], 63);
  EXPECT_EQ(given[DeviceResource::GpuMemory], 10LL << 30);
}

TEST(SharedGpus, can_be_cut_into_three_by_bytes) {
  DeviceMachine machine;
  machine.gpu(0, 0, "a");
  const DeviceMachine::Request third{.requests = asks({{"koordinator.sh/gpu-memory", "5461Mi"}}),
                                     .keep = true};
  for (const int ratio : {34, 34, 32}) {
    EXPECT_EQ(machine.ask(third), "gpu 0");
    EXPECT_EQ(
        at(machine.last.given, DeviceType::Gpu).front().amounts[DeviceResource::GpuMemoryRatio],
        ratio);
  }
  EXPECT_EQ(machine.ask(third), "Insufficient GPU Devices");
  EXPECT_EQ(machine.ask("koordinator.sh/gpu-memory-ratio", "1"), "Insufficient GPU Devices");
}

TEST(Scores, of_a_node_count_what_is_used_and_asked) {
  DeviceMachine machine;
  machine.gpu(0, 0, "a").gpu(1, 0, "b");
  const auto half = asks({{"koordinator.sh/gpu", "50"}});
  machine.ask({.requests = half, .scoring = &kLeastFirst});
  EXPECT_EQ(machine.score, 87);
  machine.useGpu(0, 50);
  machine.ask({.requests = half, .scoring = &kLeastFirst});
  EXPECT_EQ(machine.score, 62);
  machine.ask({.requests = half, .scoring = &kMostFirst});
  EXPECT_EQ(machine.score, 37);
  // Two instances are twice as much; upstream counts one.
  const auto two =
      asks({{"koordinator.sh/gpu.shared", "2"}, {"koordinator.sh/gpu-memory-ratio", "50"}});
  machine.ask({.requests = two, .scoring = &kLeastFirst});
  EXPECT_EQ(machine.score, 62);
  machine.ask({.requests = two, .scoring = &kLeastFirst, .rules = DeviceRules::AsUpstream});
  EXPECT_EQ(machine.score, (62 + 75) / 2);
}

// --- Partitions.

TEST(Partitions, of_a_known_model_leave_the_larger_ones_whole) {
  DeviceMachine machine = eightWithUsed({0, 1});
  machine.node.model = "H800";
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "2"), "gpu 2,3");
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "4"), "gpu 4,5,6,7");
  // Partitions are not required, and there is a tree.
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "3"), "gpu 4,5,6");
  machine.node.honorsPartitions = true;
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "3"), "node(s) Unsupported number of GPU requests");
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "8"), "Insufficient Partitioned GPU Devices");
  EXPECT_EQ(machine.ask("koordinator.sh/gpu", "50"), "gpu 2");
}

TEST(Partitions, of_the_best_group_come_first) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  machine.device.metadata.annotations[std::string(model::kAnnotationGpuPartitions)] =
      R"({"2": [{"minors": [0, 1], "allocationScore": 1, "ringBusBandwidth": "100Gi"},
                {"minors": [2, 3], "allocationScore": 2, "ringBusBandwidth": "200Gi"},
                {"minors": [4, 5], "allocationScore": 2}]})";
  const auto two = asks({{"nvidia.com/gpu", "2"}});
  EXPECT_EQ(machine.ask({.requests = two}), "gpu 2,3");
  EXPECT_EQ(machine.ask({.requests = two, .rules = DeviceRules::AsUpstream}), "gpu 0,1");
  machine.useGpu(2);
  EXPECT_EQ(machine.ask({.requests = two}), "gpu 4,5");
  machine.useGpu(4);
  EXPECT_EQ(machine.ask({.requests = two}), "gpu 0,1");
  const auto partitionSpec = [](std::string text) {
    return api::StringMap{{std::string(kAnnotationPartitionSpec), std::move(text)}};
  };
  EXPECT_EQ(machine.ask({.requests = two,
                         .annotations = partitionSpec(R"({"allocatePolicy": "Restricted"})")}),
            "Insufficient Partitioned GPU Devices");
  EXPECT_EQ(machine.ask({.requests = two,
                         .annotations = partitionSpec(R"({"ringBusBandwidth": "150Gi"})")}),
            "Insufficient Partitioned GPU Devices");
  EXPECT_EQ(machine.ask(
                {.requests = asks({{"nvidia.com/gpu", "1"}}), .annotations = partitionSpec("{}")}),
            "node(s) Unsupported number of GPU requests");
  machine.device.metadata.annotations.clear();
  EXPECT_EQ(machine.ask({.requests = two, .annotations = partitionSpec("{}")}),
            "node(s) missing GPU Partition Table");
}

// --- Several types.

TEST(JointAllocation, takes_cards_from_the_switches_of_the_gpus) {
  DeviceMachine machine = DeviceMachine::eightGpus(true);
  const auto four = asks({{"nvidia.com/gpu", "4"}, {"koordinator.sh/rdma", "1"}});
  const auto joint = [](std::string text) {
    return api::StringMap{{std::string(kAnnotationDeviceJoint), std::move(text)}};
  };
  const auto near = joint(R"({"deviceTypes": ["gpu", "rdma"]})");
  const auto same = joint(R"({"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"})");
  EXPECT_EQ(machine.ask({.requests = four, .annotations = near}), "gpu 0,1,2,3 rdma 0,1");
  EXPECT_EQ(machine.ask({.requests = four, .annotations = same}), "gpu 0,1,2,3 rdma 0,1");
  machine.use(DeviceType::Rdma, 1, asks({{"koordinator.sh/rdma", "100"}}));
  EXPECT_EQ(machine.ask({.requests = four, .annotations = near}), "gpu 0,1,2,3 rdma 0,2");
  EXPECT_EQ(machine.ask({.requests = four, .annotations = same}),
            "node(s) Device Joint-Allocate rules violation");
  EXPECT_EQ(machine.ask({.requests = four}), "gpu 0,1,2,3 rdma 0");
}

TEST(OtherDevices, are_counted_as_their_hint_says) {
  DeviceMachine machine = DeviceMachine::eightGpus(true);
  EXPECT_EQ(machine.ask("koordinator.sh/rdma", "200"), "rdma 0,1");
  EXPECT_EQ(machine.ask("koordinator.sh/rdma", "500"), "Insufficient rdma devices");
  EXPECT_EQ(
      machine.ask({.requests = asks({{"koordinator.sh/rdma", "3"}}),
                   .annotations = hint(R"({"rdma": {"allocateStrategy": "RequestsAsCount"}})")}),
      "rdma 0,1,2");
  EXPECT_EQ(machine.ask({.requests = asks({{"koordinator.sh/rdma", "1"}}),
                         .annotations = hint(R"({"rdma": {"allocateStrategy": "ApplyForAll"}})")}),
            "rdma 0,1,2,3");
  EXPECT_EQ(machine.ask("koordinator.sh/fpga", "1"), "Insufficient fpga devices");
  EXPECT_EQ(machine.last.outcome, DeviceAnswer::Outcome::Unresolvable);
}

TEST(OtherDevices, give_each_virtual_function_once) {
  DeviceMachine machine;
  machine.rdma(0, 0, "a", 2).rdma(1, 0, "b");
  const DeviceMachine::Request request{.requests = asks({{"koordinator.sh/rdma", "10"}}),
                                       .annotations = hint(R"({"rdma": {"vfSelector": {}}})"),
                                       .keep = true};
  EXPECT_EQ(machine.ask(request), "rdma 0/0000:00:00.0");
  EXPECT_EQ(machine.ask(request), "rdma 0/0000:00:00.1");
  EXPECT_EQ(machine.ask(request), "Insufficient rdma devices");
  machine.device.spec.devices[0].vfGroups.clear();
  EXPECT_EQ(machine.ask(request), "Insufficient rdma VirtualFunctions");
}

TEST(OtherDevices, share_no_switch_that_is_wanted_alone) {
  DeviceMachine machine;
  machine.rdma(0, 0, "a").rdma(1, 0, "a").rdma(2, 0, "b");
  machine.use(DeviceType::Rdma, 0, asks({{"koordinator.sh/rdma", "10"}}));
  const DeviceMachine::Request request{
      .requests = asks({{"koordinator.sh/rdma", "10"}}),
      .annotations = hint(R"({"rdma": {"exclusivePolicy": "PCIeLevel"}})")};
  EXPECT_EQ(machine.ask(request), "rdma 2");
  machine.use(DeviceType::Rdma, 2, asks({{"koordinator.sh/rdma", "10"}}));
  EXPECT_EQ(machine.ask(request), "Insufficient rdma devices");
}

// --- Views.

TEST(Views, keep_to_numa_nodes_and_selectors) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  machine.device.spec.devices[5].labels["type"] = "A";
  const auto one = asks({{"nvidia.com/gpu", "1"}});
  EXPECT_EQ(machine.ask({.requests = one, .numas = 2}), "gpu 4");
  EXPECT_EQ(machine.ask({.requests = one, .numas = 4}), "Insufficient GPU Devices");
  machine.device.spec.devices[7].topology->nodeID = -1;  // unknown, so anywhere
  EXPECT_EQ(machine.ask({.requests = one, .numas = 4}), "gpu 7");
  EXPECT_EQ(machine.ask(
                {.requests = one,
                 .annotations = hint(R"({"gpu": {"selector": {"matchLabels": {"type": "A"}}}})")}),
            "gpu 5");
}

TEST(Views, see_as_free_what_may_be_taken_over_and_no_more_than_is_reserved) {
  DeviceMachine machine = eightWithUsed({0, 1, 2, 3, 4, 5, 6, 7});
  const auto one = asks({{"nvidia.com/gpu", "1"}});
  EXPECT_EQ(machine.ask({.requests = one}), "Insufficient GPU Devices");
  ByDeviceType<AmountsByMinor> own;
  own[0][3] = DeviceAmounts::of(
      asks({{"koordinator.sh/gpu-core", "100"}, {"koordinator.sh/gpu-memory-ratio", "100"}}));
  EXPECT_EQ(machine.ask({.requests = one, .reusable = own}), "gpu 3");
  EXPECT_EQ(machine.ask({.requests = one, .reusable = own, .only = own}), "gpu 3");
  DeviceMachine empty = DeviceMachine::eightGpus();
  EXPECT_EQ(empty.ask({.requests = one, .only = own}), "gpu 3");
  own[0][3] = DeviceAmounts::of(
      asks({{"koordinator.sh/gpu-core", "50"}, {"koordinator.sh/gpu-memory-ratio", "50"}}));
  EXPECT_EQ(empty.ask({.requests = one, .only = own}), "Insufficient GPU Devices");
  EXPECT_EQ(empty.ask({.requests = asks({{"koordinator.sh/rdma", "1"}}), .only = own}),
            "Insufficient rdma devices");
}

TEST(Views, prefer_a_reservations_own_devices) {
  DeviceMachine machine = DeviceMachine::eightGpus(true);
  ByDeviceType<Minors> own;
  at(own, DeviceType::Rdma) = Minors{3};
  EXPECT_EQ(machine.ask({.requests = asks({{"koordinator.sh/rdma", "200"}}), .preferred = own}),
            "rdma 3,0");
}

// --- Unusual Devices.

TEST(Inventory, leaves_out_what_cannot_be_and_says_where) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  auto& devices = machine.device.spec.devices;
  devices[0].minor.reset();
  devices[1].minor = -3;
  devices[2].type = "tpu";
  devices[3].minor = 4;
  devices[5].health = false;
  machine.device.metadata.annotations[std::string(model::kAnnotationGpuPartitions)] =
      "{\"two\": []}";
  const DeviceInventory inventory(std::make_shared<const api::Device>(machine.device));
  EXPECT_THAT(inventory.problems(),
              ElementsAre("spec.devices[0].minor: missing",
                          "spec.devices[1].minor: -3 is not a number of a device",
                          "spec.devices[2].type: \"tpu\" is not known",
                          "spec.devices[4].minor: duplicate 4",
                          HasSubstr("\"two\" is not a number of GPUs")));
  EXPECT_EQ(inventory.partitions(), nullptr);
  EXPECT_THAT(inventory.numaIds(), ElementsAre(1));
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "2"), "gpu 6,7");
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "4"), "Insufficient GPU Devices");
}

TEST(Inventory, says_what_cannot_be_of_devices_that_stay) {
  DeviceMachine machine = DeviceMachine::eightGpus();
  auto& devices = machine.device.spec.devices;
  devices[0].resources["koordinator.sh/gpu-core"] = Quantity::of(-100);
  devices[1].topology->nodeID = 70;
  machine.device.metadata.annotations[std::string(model::kAnnotationGpuPartitions)] =
      R"({"2": [{"minors": [0]}]})";
  const DeviceInventory inventory(std::make_shared<const api::Device>(machine.device));
  EXPECT_THAT(inventory.problems(),
              ElementsAre("spec.devices[0].resources[koordinator.sh/gpu-core]: -100 is negative",
                          "spec.devices[1].topology.nodeID: 70 is not a NUMA node",
                          HasSubstr("2[0].minors: 1 GPUs, not 2")));
  EXPECT_EQ(inventory.partitions(), nullptr);
  EXPECT_EQ(inventory.of(DeviceType::Gpu).size(), 8U);
}

TEST(Inventory, may_have_numbers_above_63) {
  DeviceMachine machine;
  machine.gpu(100, 0, "a").gpu(65535, 0, "a");
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "2"), "gpu 100,65535");
  machine.useGpu(100);
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "1"), "gpu 65535");
}

TEST(Use, outlives_the_devices_it_is_of) {
  DeviceMachine machine;
  machine.gpu(0, 0, "a").gpu(1, 0, "a");
  machine.useGpu(0);
  machine.useGpu(5, 30);  // which is not listed
  EXPECT_EQ(machine.ask("nvidia.com/gpu", "1"), "gpu 1");
  machine.device.spec.devices.clear();
  EXPECT_NE(machine.ask("nvidia.com/gpu", "1"), "gpu 1");
}

// For every request, no device gives more than it has, no function is allocated twice, and
// releasing an allocation leaves nothing behind.
TEST(Allocation, never_gives_more_than_there_is) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const std::vector<api::ResourceList> requests{
      asks({{"nvidia.com/gpu", "1"}}),
      asks({{"nvidia.com/gpu", "2"}, {"koordinator.sh/rdma", "1"}}),
      asks({{"koordinator.sh/gpu", "30"}}),
      asks({{"koordinator.sh/gpu-memory", "5Gi"}}),
      asks({{"koordinator.sh/gpu.shared", "2"}, {"koordinator.sh/gpu-memory-ratio", "66"}}),
      asks({{"koordinator.sh/gpu-core", "10"}, {"koordinator.sh/gpu-memory", "7Gi"}}),
      asks({{"koordinator.sh/rdma", "40"}}),
      asks({{"koordinator.sh/rdma", "200"}})};
  const std::vector<std::string> hints{
      "{}", R"({"rdma": {"vfSelector": {}}})", R"({"rdma": {"allocateStrategy": "ApplyForAll"}})",
      R"({"gpu": {"requiredTopologyScope": "NUMANode"}, "rdma": {"exclusivePolicy": "PCIeLevel"}})"};
  int given = 0;
  for (int round = 0; round < 300; ++round) {
    DeviceMachine machine;
    for (int minor = 0; minor < 4; ++minor) {
      machine.gpu(minor, minor / 2, std::string(1, static_cast<char>('a' + minor / 2)));
      machine.rdma(minor, minor / 2, std::string(1, static_cast<char>('a' + minor / 2)), 2);
    }
    if (round % 3 == 0) machine.node.model = "H100";
    std::vector<AllocatedDevices> pods;
    for (int step = 0; step < 12; ++step) {
      if (!pods.empty() && pick(0, 3) == 0) {
        machine.used.remove(pods.back());
        pods.pop_back();
      }
      DeviceMachine::Request request{
          .requests = requests[static_cast<std::size_t>(pick(0, 7))],
          .annotations = hint(hints[static_cast<std::size_t>(pick(0, 3))]),
          .scoring = pick(0, 1) == 0 ? &kLeastFirst : nullptr,
          .keep = true};
      if (pick(0, 1) == 0)
        request.annotations[std::string(kAnnotationDeviceJoint)] =
            R"({"deviceTypes": ["gpu", "rdma"]})";
      machine.ask(request);
      if (!machine.last.ok()) continue;
      pods.push_back(machine.last.given);
      ++given;
      std::set<std::string> functions;
      for (const AllocatedDevices& pod : pods)
        for (const AllocatedDevice& device : at(pod, DeviceType::Rdma))
          for (const auto& function : device.functions)
            EXPECT_TRUE(functions.insert(function.busId).second);
      for (const DeviceType type : {DeviceType::Gpu, DeviceType::Rdma})
        for (const auto& [minor, used] : machine.used.of(type)) {
          const auto total = DeviceAmounts::of(
              machine.device.spec
                  .devices[static_cast<std::size_t>(2 * minor + (type == DeviceType::Rdma ? 1 : 0))]
                  .resources);
          EXPECT_TRUE(total.covers(used)) << round;
        }
    }
    for (const AllocatedDevices& pod : pods) machine.used.remove(pod);
    EXPECT_EQ(machine.used, DeviceUse());
  }
  EXPECT_GT(given, 1000);
}

}  // namespace
}  // namespace koord::scheduler
