// Unit tests of formats other than Devices: allocations, templates, annotations for vendors'
// plugins.

#include <gmock/gmock.h>

#include "scheduler/plugins/deviceshare/adaption.h"
#include "scheduler/plugins/deviceshare/device_world.h"
#include "scheduler/plugins/deviceshare/devices/allocation.h"
#include "scheduler/plugins/deviceshare/templates.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::DeviceWorld;
using testing::gpuPod;
using ::testing::HasSubstr;

// --- Records.

std::string problemIn(const char* annotation) {
  const auto given = parseAllocatedDevices(annotation);
  return given ? "" : given.error().message;
}

TEST(AllocatedDevices, are_written_as_they_are_read) {
  const std::string text =
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50"},)"
      R"("extension":{"vfs":[{"busID":"0000:09:00.2"}],"gpuSharedResourceTemplate":"vir02"}}],)"
      R"("rdma":[{"minor":3,"resources":{"koordinator.sh/rdma":"1"}}]})";
  const auto given = parseAllocatedDevices(text);
  ASSERT_TRUE(given);
  EXPECT_EQ(at(*given, DeviceType::Gpu)[0].functions[0].busId, "0000:09:00.2");
  EXPECT_EQ(toJson(describeAllocatedDevices(*given, DeviceInventory())), text);
}

TEST(AllocatedDevices, mistakes_are_named_by_field) {
  EXPECT_EQ(problemIn(R"({"gpu":[{"minor":0},{"minor":-1}]})"),
            "gpu[1].minor: -1 is not a number of a device");
  EXPECT_EQ(problemIn(R"({"gpu":[{"minor":70000}]})"),
            "gpu[0].minor: 70000 is not a number of a device");
  EXPECT_EQ(problemIn(R"({"gpu":{}})"), "gpu: expected a list");
  EXPECT_EQ(problemIn("[]"), "expected an object of devices by type");
  EXPECT_THAT(problemIn(R"({"gpu":[{"resources":{"koordinator.sh/gpu-memory":"1Ei"}}]})"),
              HasSubstr("is above the maximum"));
  EXPECT_THAT(problemIn(R"({"gpu":[{"minor":"x"}]})"), HasSubstr("gpu[0]"));
  EXPECT_EQ(problemIn(R"({"tpu":[{"minor":-1}],"rdma":null})"), "");
}

// --- Templates.

TEST(GpuTemplates, are_read_by_vendor_and_model) {
  GpuTemplates templates;
  ASSERT_TRUE(templates.set(
      "huawei-Ascend-310P3:\n  vir02: {huawei.com/npu-core: 2, koordinator.sh/gpu-memory: 6Gi}\n"
      "  vir01: {huawei.com/npu-core: \"1\"}\n"));
  const auto& known = templates.of({"huawei", "Ascend-310P3", false});
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].name, "vir01");
  EXPECT_TRUE(templates.anyOf(known[1].amounts));
  EXPECT_TRUE(templates.of({"huawei", "other", false}).empty());
  const auto version = templates.version();
  EXPECT_EQ(templates.set("a: {b: {huawei.com/npu-core: [1]}}").error().message,
            "a.b: huawei.com/npu-core: expected a quantity");
  EXPECT_FALSE(templates.set("- 1"));
  EXPECT_EQ(templates.of({"huawei", "Ascend-310P3", false}).size(), 2u);
  EXPECT_EQ(templates.version(), version);
  templates.clear();
  EXPECT_TRUE(templates.of({"huawei", "Ascend-310P3", false}).empty());
}

TEST(GpuTemplates, decide_which_parts_of_npus_pods_get) {
  DeviceWorld f;
  f.node("n", {{"node.koordinator.sh/gpu-vendor", "huawei"},
               {"node.koordinator.sh/gpu-model", "Ascend-310P3"}});
  api::Device device;
  auto& npu = device.spec.devices.emplace_back();
  npu.type = "gpu";
  npu.minor = 0;
  npu.health = true;
  npu.resources = DeviceAmounts::of({{"huawei.com/npu-core", Quantity::of(8)},
                                     {"huawei.com/npu-cpu", Quantity::of(7)},
                                     {"koordinator.sh/gpu-memory", testing::quantity("24Gi")},
                                     {"koordinator.sh/gpu-memory-ratio", Quantity::of(100)}})
                      .toList();
  f.set("n", device);
  const auto pod = [](const char* name) {
    return gpuPod(name, "koordinator.sh/gpu.shared", "1")
        .request("huawei.com/npu-core", "2")
        .request("huawei.com/npu-cpu", "2")
        .request("koordinator.sh/gpu-memory", "6Gi");
  };
  const std::string none = "UnschedulableAndUnresolvable: no matched GPU shared resource template";
  EXPECT_EQ(f.answer(pod("a"), "n"), none);
  GpuTemplates& templates =
      GpuTemplates::of(f.world, {"koordinator-system", "gpu-shared-resource-templates"});
  const std::string vir02 =
      "vir02: {huawei.com/npu-core: 2, huawei.com/npu-cpu: 2, "
      "koordinator.sh/gpu-memory: 6Gi}";
  ASSERT_TRUE(templates.set("huawei-other: {" + vir02 + "}"));
  EXPECT_EQ(f.answer(pod("a"), "n"), none);
  ASSERT_TRUE(templates.set("huawei-Ascend-310P3: {" + vir02 + "}"));
  EXPECT_EQ(f.schedule(pod("a")), "n gpu 0:25");
  EXPECT_THAT(f.running.at("a").object().metadata.annotations.at(
                  std::string(model::kAnnotationDeviceAllocated)),
              HasSubstr(R"("gpuSharedResourceTemplate":"vir02")"));
  f.expectSound();
}

// --- Vendors.

AllocatedDevices gpus(std::initializer_list<int> minors, std::int64_t core = 50) {
  AllocatedDevices given;
  for (const int minor : minors)
    at(given, DeviceType::Gpu)
        .push_back({minor,
                    DeviceAmounts::of({{"koordinator.sh/gpu-core", Quantity::of(core)},
                                       {"koordinator.sh/gpu-memory", testing::quantity("8Gi")}}),
                    {},
                    {}});
  return given;
}
api::StringMap vendor(const char* name, const char* model = "") {
  return {{"node.koordinator.sh/gpu-vendor", name}, {"node.koordinator.sh/gpu-model", model}};
}
const WallTime kNow{std::chrono::seconds(1'700'000'000)};

TEST(DeviceAnnotations, everybody_is_told_when_and_which) {
  const auto words = wordsFor(gpus({0, 3}), {}, {}, kNow);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->annotations,
            (api::StringMap{{"scheduling.koordinator.sh/bind-timestamp", "1700000000000000000"},
                            {"scheduling.koordinator.sh/gpu-minors", "0,3"}}));
  EXPECT_EQ(words->lock, "");
}

TEST(DeviceAnnotations, huawei_has_templates_or_numbers) {
  EXPECT_EQ(
      wordsFor(gpus({0, 1}), vendor("huawei"), {}, kNow)->annotations.at("huawei.com/npu-core"),
      "0,1");
  EXPECT_EQ(wordsFor(gpus({0, 1}), vendor("huawei", "Ascend-310P3-300I-DUO"), {}, kNow)
                ->annotations.at("huawei.com/Ascend310P"),
            "Ascend310P-0,Ascend310P-1");
  AllocatedDevices part = gpus({2});
  at(part, DeviceType::Gpu)[0].gpuTemplate = "vir02";
  EXPECT_EQ(wordsFor(part, vendor("huawei"), {}, kNow)->annotations.at("huawei.com/npu-core"),
            "2-vir02");
}

TEST(DeviceAnnotations, cambricon_takes_one_and_locks_the_node) {
  const auto words = wordsFor(gpus({1}), vendor("cambricon"), {}, kNow);
  EXPECT_EQ(words->annotations.at("CAMBRICON_DSMLU_PROFILE"), "1_50_32");
  EXPECT_EQ(words->annotations.at("CAMBRICON_DSMLU_ASSIGHED"), "false");
  EXPECT_EQ(words->lock, "cambricon.com/dsmlu.lock");
  EXPECT_EQ(wordsFor(gpus({1, 2}), vendor("cambricon"), {}, kNow).error().message,
            "failed to adapt for GPU device plugin of vendor \"cambricon\": multiple gpu share is "
            "not supported on device side");
}

TEST(DeviceAnnotations, metax_is_told_ids_and_shares) {
  const auto words = wordsFor(gpus({0, 1}), vendor("metax"), {"a", "b"}, kNow);
  EXPECT_EQ(words->annotations.at("metax-tech.com/gpu-devices-allocated"),
            R"([[{"uuid":"a","compute":50,"vRam":8192},{"uuid":"b","compute":50,"vRam":8192}]])");
  EXPECT_EQ(words->lock, "hami.io/mutex.lock");
}

TEST(DeviceLock, has_three_parts) {
  const auto lock = parseDeviceLock("2026-01-01T00:00:00Z,default,web");
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->pod.toString(), "default/web");
  for (const char* wrong : {"", "now,a,b", "2026-01-01T00:00:00Z,a", "2026-01-01T00:00:00Z,a,b,c"})
    EXPECT_EQ(parseDeviceLock(wrong).error().message,
              "invalid node lock value \"" + std::string(wrong) + "\"");
}

}  // namespace
}  // namespace koord::scheduler
