#include "scheduler/plugins/deviceshare/devices/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/deviceshare/devices/demand.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

api::ResourceList listOf(std::vector<std::pair<std::string, std::string>> entries) {
  api::ResourceList list;
  for (const auto& [name, amount] : entries) list[name] = *Quantity::parse(amount);
  return list;
}

TEST(DeviceRequest, says_what_of_each_gpu_is_needed) {
  struct Row {
    std::vector<std::pair<std::string, std::string>> requests;
    int count;
    std::int64_t core, ratio, memory;
    bool shared;
  };
  const Row rows[] = {
      {{{"koordinator.sh/gpu", "50"}}, 1, 50, 50, 0, true},
      {{{"nvidia.com/gpu", "2"}}, 2, 100, 100, 0, false},
      {{{"koordinator.sh/gpu-core", "100"}, {"koordinator.sh/gpu-memory-ratio", "200"}},
       2,
       50,
       100,
       0,
       false},
      {{{"koordinator.sh/gpu-memory", "8Gi"}}, 1, 0, 0, 8LL << 30, true},
      {{{"koordinator.sh/gpu.shared", "2"}, {"koordinator.sh/gpu-memory-ratio", "100"}},
       2,
       0,
       50,
       0,
       true},
      {{{"koordinator.sh/gpu-core", "200"}, {"koordinator.sh/gpu-memory-ratio", "100"}},
       1,
       200,
       100,
       0,
       false},
  };
  for (const Row& row : rows) {
    const auto requests = readDeviceRequests(listOf(row.requests));
    ASSERT_TRUE(requests) << requests.error().message;
    const GpuRequirement needed = gpuRequirementOf(at(*requests, DeviceType::Gpu));
    EXPECT_EQ(needed.count, row.count);
    EXPECT_EQ(needed.each[DeviceResource::GpuCore], row.core);
    EXPECT_EQ(needed.each[DeviceResource::GpuMemoryRatio], row.ratio);
    EXPECT_EQ(needed.each[DeviceResource::GpuMemory], row.memory);
    EXPECT_EQ(needed.shared, row.shared);
  }
}

TEST(DeviceRequest, that_means_nothing_is_refused_in_the_words_of_users) {
  struct Row {
    std::vector<std::pair<std::string, std::string>> requests;
    std::string error;
  };
  const Row rows[] = {
      {{{"koordinator.sh/gpu", "150"}}, "invalid resource unit koordinator.sh/gpu: 150"},
      {{{"koordinator.sh/rdma", "101"}}, "invalid resource unit koordinator.sh/rdma: 101"},
      {{{"koordinator.sh/gpu.shared", "3"}, {"koordinator.sh/gpu-memory-ratio", "100"}},
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio "
       "koordinator.sh/gpu.shared]"},
      {{{"koordinator.sh/gpu-core", "50"}},
       "invalid resource device requests: [koordinator.sh/gpu-core]"},
      {{{"nvidia.com/gpu", "1"}, {"koordinator.sh/gpu-core", "50"}}, "invalid resource device"},
      {{{"koordinator.sh/gpu-memory", "-8Gi"}}, "invalid resource device"},
      {{{"koordinator.sh/fpga", "-1"}}, "invalid resource unit koordinator.sh/fpga: -1"},
      {{{"koordinator.sh/gpu.shared", "-2"}, {"koordinator.sh/gpu-memory-ratio", "100"}},
       "invalid resource device"},
  };
  for (const Row& row : rows) {
    const auto requests = readDeviceRequests(listOf(row.requests));
    ASSERT_FALSE(requests) << row.error;
    EXPECT_THAT(requests.error().message, HasSubstr(row.error));
  }
}

TEST(DeviceRequest, beyond_measure_does_not_overflow) {
  const auto requests = readDeviceRequests(listOf({{"nvidia.com/gpu", "9E"}}));
  ASSERT_TRUE(requests);
  EXPECT_GE(gpuRequirementOf(at(*requests, DeviceType::Gpu)).count, 1);
  EXPECT_GT(memoryBytesOf(INT64_MAX / 200, INT64_MAX / 200), 0);
}

TEST(DeviceRequest, rounds_memory_so_that_no_gpu_is_given_twice) {
  const std::int64_t total = 16LL << 30;
  EXPECT_EQ(memoryRatioOf(10LL << 30, total), 63);
  EXPECT_EQ(memoryRatioOf(10LL << 30, total, true), 62);
  EXPECT_EQ(memoryRatioOf(8LL << 30, total), 50);
  EXPECT_EQ(memoryRatioOf(1, 0), 0);
  EXPECT_EQ(memoryBytesOf(50, total), 8LL << 30);
}

TEST(DeviceDemand, reads_what_annotations_say) {
  const auto demand = readDeviceDemand(
      listOf({{"nvidia.com/gpu", "2"}, {"koordinator.sh/rdma", "1"}}),
      {{std::string(kAnnotationDeviceHint),
        R"({"gpu": {"selector": {"matchLabels": {"type": "A"}}, "requiredTopologyScope": "PCIe"},
            "rdma": {"vfSelector": {}, "exclusivePolicy": "PCIeLevel"}, "npu": null})"},
       {std::string(kAnnotationDeviceJoint),
        R"({"deviceTypes": ["gpu", "fpga", "rdma", "x"], "requiredScope": "SamePCIe"})"},
       {std::string(kAnnotationPartitionSpec),
        R"({"allocatePolicy": "Restricted", "ringBusBandwidth": "200Gi"})"}});
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(at(demand->hints, DeviceType::Gpu)->scope, TopologyScope::Pcie);
  EXPECT_TRUE(demand->hasSelectors());
  EXPECT_TRUE(demand->wantsFunction(DeviceType::Rdma));
  EXPECT_EQ(demand->joint, (std::vector{DeviceType::Gpu, DeviceType::Rdma}));
  EXPECT_TRUE(demand->samePcie);
  EXPECT_TRUE(demand->partition.bestOnly);
  EXPECT_EQ(demand->partition.ringBandwidth, 200LL << 30);
  EXPECT_THAT(demand->ignored,
              ElementsAre(HasSubstr("device-joint-allocate].deviceTypes: \"x\" is none of gpu")));
}

TEST(DeviceDemand, names_the_values_that_nobody_knows_and_goes_without_them) {
  const auto demand = readDeviceDemand(
      listOf({{"nvidia.com/gpu", "2"}}),
      {{std::string(kAnnotationDeviceHint),
        R"({"gpu": {"requiredTopologyScope": "Rack", "allocateStrategy": "Some",
                    "exclusivePolicy": "Alone"}, "tpu": {}})"},
       {std::string(kAnnotationDeviceJoint), R"({"requiredScope": "SameRack"})"},
       {std::string(kAnnotationPartitionSpec), R"({"allocatePolicy": "Always"})"}});
  ASSERT_TRUE(demand);
  EXPECT_THAT(
      demand->ignored,
      UnorderedElementsAre(HasSubstr("gpu.requiredTopologyScope: \"Rack\" is none of"),
                           HasSubstr("gpu.allocateStrategy"), HasSubstr("gpu.exclusivePolicy"),
                           HasSubstr("tpu: unknown type of devices"), HasSubstr("requiredScope"),
                           HasSubstr("allocatePolicy")));
  EXPECT_FALSE(demand->samePcie);
  EXPECT_FALSE(demand->partition.bestOnly);
}

TEST(DeviceDemand, names_the_annotation_that_is_malformed) {
  const api::ResourceList gpus = listOf({{"nvidia.com/gpu", "1"}});
  for (const auto& [key, text, error] :
       {std::tuple{kAnnotationDeviceHint, "{", "invalid DeviceAllocateHint annotation, err: "},
        std::tuple{kAnnotationDeviceHint, "[]", "invalid DeviceAllocateHint annotation, err: "},
        std::tuple{kAnnotationDeviceHint, R"({"gpu": 5})", "invalid DeviceAllocateHint annotation"},
        std::tuple{
            kAnnotationDeviceHint,
            R"({"gpu": {"selector": {"matchExpressions": [{"key": "a", "operator": "?"}]}}})",
            "invalid Selector of DeviceHint, deviceType: gpu, err: "},
        std::tuple{kAnnotationDeviceJoint, "{]", "invalid DeviceJointAllocate annotation, err: "},
        std::tuple{kAnnotationPartitionSpec, "7", "invalid GPUPartitionSpec annotation, err: "}}) {
    const auto demand = readDeviceDemand(gpus, {{std::string(key), text}});
    ASSERT_FALSE(demand) << text;
    EXPECT_THAT(demand.error().message, HasSubstr(error));
  }
  // Annotations of a pod that requests no devices are not parsed.
  EXPECT_TRUE(readDeviceDemand({}, {{std::string(kAnnotationDeviceHint), "{"}}));
}

}  // namespace
}  // namespace koord::scheduler
