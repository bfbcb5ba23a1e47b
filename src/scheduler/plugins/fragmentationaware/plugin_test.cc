#include "scheduler/plugins/fragmentationaware/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::DeviceMachine;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::SchedulerFixture;

// A scheduler with DeviceShare and FragmentationAware, which alone scores.
struct WithPacking : SchedulerFixture {
  explicit WithPacking(const std::string& args = "{}") {
    auto read = parseConfiguration(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
        "[{plugins: {multiPoint: {enabled: [{name: DeviceShare}]}, score: {disabled: [{name: "
        "\"*\"}], enabled: [{name: FragmentationAware}]}}, pluginConfig: [{name: "
        "FragmentationAware, args: " +
        args + "}]}]}");
    EXPECT_TRUE(read) << read.error().message;
    configuration_ = *std::move(read);
    create();
    scheduler->start();
  }
  using SchedulerFixture::create;

  void gpuNode(const std::string& name, int gpus, const std::string& cpu,
               const std::string& model = "A") {
    NodeBuilder builder = aNode(name);
    builder.allocatable("cpu", cpu).allocatable("memory", "1Ti").label("model", model);
    for (const char* resource :
         {"koordinator.sh/gpu", "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"})
      builder.allocatable(resource, std::to_string(gpus * 100));
    builder.allocatable("koordinator.sh/gpu-memory", fmt::format("{}Gi", 16 * gpus));
    node(builder);
    DeviceMachine machine;
    for (int minor = 0; minor < gpus; ++minor) machine.gpu(minor, 0, "a");
    for (auto& device : machine.device.spec.devices) device.topology.reset();
    machine.device.metadata.name = name;
    scheduler->stores().of<api::Device>().set(std::make_shared<const api::Device>(machine.device));
  }
  static PodBuilder gpuPod(const std::string& name, int percent, const std::string& cpu) {
    PodBuilder pod = aPod(name);
    pod.request("cpu", cpu).request("memory", "1Gi");
    for (const char* share : {"koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio"})
      pod.request(share, std::to_string(percent));
    return pod;
  }
  // Places pods that teach the plugin what the cluster's pods ask for, and removes them.
  void teach(int count, int percent, const std::string& cpu) {
    for (int n = 0; n < count; ++n) {
      const std::string name = fmt::format("taught-{}-{}-{}", percent, cpu, n);
      create(gpuPod(name, percent, cpu));
      run();
      remove(name);
      run();
    }
  }
  std::string place(const PodBuilder& pod) {
    create(pod);
    run();
    return nodeOf(pod.build()->metadata.name);
  }
};

TEST(FragmentationAware, a_part_of_a_gpu_goes_where_it_completes_another) {
  WithPacking f;
  f.gpuNode("n", 1, "64");
  f.gpuNode("other", 1, "64");
  f.teach(40, 50, "1");
  const std::string first = f.place(WithPacking::gpuPod("first", 50, "1"));
  EXPECT_EQ(f.place(WithPacking::gpuPod("second", 50, "1")), first);
}

TEST(FragmentationAware, a_pod_without_gpus_leaves_the_cpus_that_gpus_need) {
  WithPacking f;
  f.gpuNode("scarce", 8, "32");
  f.gpuNode("ample", 8, "96");
  f.teach(40, 100, "4");
  EXPECT_EQ(f.place(aPod("plain").request("cpu", "8").request("memory", "1Gi")), "ample");
}

TEST(FragmentationAware, a_pod_that_may_run_anywhere_leaves_a_model_that_others_need) {
  WithPacking f;
  f.gpuNode("wanted", 4, "64", "B");
  f.gpuNode("any", 4, "64", "A");
  for (int n = 0; n < 40; ++n) {
    const std::string name = fmt::format("taught-{}", n);
    f.create(WithPacking::gpuPod(name, 100, "1").nodeSelector("model", "B"));
    f.create(WithPacking::gpuPod(name + "-any", 100, "1"));
    f.run();
    f.remove(name);
    f.remove(name + "-any");
    f.run();
  }
  EXPECT_EQ(f.place(WithPacking::gpuPod("p", 100, "1")), "any");
}

TEST(FragmentationAware, shared_gpus_of_a_node_are_packed_whatever_deviceshare_prefers) {
  WithPacking f;
  f.gpuNode("n", 2, "64");
  f.teach(20, 50, "1");
  f.place(WithPacking::gpuPod("first", 30, "1"));
  f.place(WithPacking::gpuPod("second", 30, "1"));
  EXPECT_EQ(f.place(WithPacking::gpuPod("whole", 100, "1")), "n")
      << "the two parts are on one GPU, so the other is free";
}

TEST(FragmentationAware, pods_of_daemon_sets_teach_nothing) {
  WithPacking f;
  f.gpuNode("n", 1, "64");
  f.gpuNode("other", 1, "64");
  f.teach(20, 50, "1");
  for (int n = 0; n < 200; ++n) {
    PodBuilder pod = aPod(fmt::format("daemon-{}", n));
    pod.request("cpu", "0").request("koordinator.sh/gpu-core", "100");
    pod.request("koordinator.sh/gpu-memory-ratio", "100");
    pod.object().metadata.ownerReferences.push_back({.kind = "DaemonSet", .name = "d"});
    pod.gate("wait");
    f.create(pod);
  }
  f.run();
  const std::string first = f.place(WithPacking::gpuPod("first", 50, "1"));
  EXPECT_EQ(f.place(WithPacking::gpuPod("second", 50, "1")), first);
}

TEST(FragmentationAware, arguments_out_of_range_name_their_field) {
  std::vector<std::string> problems;
  const auto document = parseJson(R"({"futures": 0, "pressurePercent": -1})");
  Fields fields(&*document, "args", problems);
  FragmentationAwareArgs::read(fields);
  EXPECT_THAT(problems, ::testing::ElementsAre(::testing::HasSubstr("args.futures"),
                                               ::testing::HasSubstr("args.pressurePercent")));
}

}  // namespace
}  // namespace koord::scheduler
