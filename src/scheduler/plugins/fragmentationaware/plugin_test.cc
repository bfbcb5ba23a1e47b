#include "scheduler/plugins/fragmentationaware/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/random.h"
#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/device_world.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::DeviceMachine;
using testing::DeviceWorld;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::SchedulerFixture;
using testing::World;

// A profile with DeviceShare and FragmentationAware, which alone scores.
std::string packingWith(const std::string& args) {
  return "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
         "[{plugins: {multiPoint: {enabled: [{name: DeviceShare}]}, score: {disabled: [{name: "
         "\"*\"}], enabled: [{name: FragmentationAware}]}}, pluginConfig: [{name: "
         "FragmentationAware, args: " +
         args + "}]}]}";
}

// A scheduler with that profile.
struct WithPacking : SchedulerFixture {
  explicit WithPacking(const std::string& args = "{}") {
    auto read = parseConfiguration(packingWith(args));
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
  for (const char* node : {"a", "b", "c", "d"}) f.gpuNode(node, 1, "64");
  f.teach(20, 50, "1");
  f.teach(20, 100, "1");
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

TEST(FragmentationAware, pods_of_daemon_sets_and_pods_without_requests_teach_nothing) {
  World world;
  auto& plugin = static_cast<FragmentationAware&>(
      world.only(std::make_unique<FragmentationAware>(world, FragmentationAwareArgs())));
  PodBuilder daemon = aPod("daemon").request("cpu", "1");
  daemon.object().metadata.ownerReferences.push_back({.kind = "DaemonSet", .name = "d"});
  plugin.observe(*world.pod(daemon));
  plugin.observe(*world.pod(aPod("empty")));
  EXPECT_EQ(plugin.demand().size(), 0U);
  plugin.observe(*world.pod(aPod("first").request("cpu", "1")));
  plugin.observe(*world.pod(aPod("second").request("cpu", "1")));
  EXPECT_EQ(plugin.demand().size(), 1U) << "equal pods are of one class";
  plugin.observe(*world.pod(aPod("third").request("cpu", "1").nodeSelector("zone", "a")));
  EXPECT_EQ(plugin.demand().size(), 2U) << "they may run on other nodes";
}

TEST(FragmentationAware, without_gpus_cpu_and_memory_are_kept_in_the_ratio_that_pods_ask_for) {
  World world;
  auto& plugin = static_cast<FragmentationAware&>(
      world.only(std::make_unique<FragmentationAware>(world, FragmentationAwareArgs())));
  for (int n = 0; n < 50; ++n)
    plugin.observe(*world.pod(aPod("p").request("cpu", "2").request("memory", "4Gi")));
  // After a pod with much CPU, one has 8 CPUs and 16 GiB left, the other 2 and 24.
  world.node(aNode("fits").allocatable("cpu", "14").allocatable("memory", "17Gi"));
  world.node(aNode("uneven").allocatable("cpu", "8").allocatable("memory", "25Gi"));
  const auto scores =
      world.scores(world.pod(aPod("q").request("cpu", "6").request("memory", "1Gi")));
  EXPECT_EQ(scores.at("fits"), 100);
  EXPECT_LT(scores.at("uneven"), 90);
}

// Random pods and changes of nodes: the search keeps the scores of nodes that have not changed, and
// the plugin their waste.
class KeptScores {
 public:
  KeptScores() {
    for (std::size_t n = 0; n < kNodes; ++n) change(n);
  }
  void step() {
    const double dice = random_.unit();
    if (dice < 0.25 && !f_.running.empty()) {
      const auto ended = random_.below(f_.running.size());
      return f_.end(std::next(f_.running.begin(), static_cast<std::ptrdiff_t>(ended))->first);
    }
    if (dice < 0.3) return change(random_.below(kNodes));
    place(anyPod());
  }
  int compared() const { return compared_; }

 private:
  static constexpr std::size_t kNodes = 12;

  const char* anyModel() { return random_.chance(0.5) ? "A" : "B"; }
  void change(std::size_t n) {
    const std::string node = fmt::format("n{}", n);
    f_.node(node, {{"model", anyModel()}});
    DeviceMachine machine = DeviceMachine::eightGpus();
    for (auto& gpu : machine.device.spec.devices) gpu.health = random_.chance(0.9);
    if (n < kNodes - 2) f_.set(node, machine);
  }
  PodBuilder anyPod() {
    static constexpr int kPercents[] = {30, 50, 50, 100, 400};
    const std::string name = fmt::format("p{}", ++pods_);
    const std::string cpu = std::to_string(1 + random_.below(8));
    // What pods ask for changes with time.
    if (random_.chance(pods_ < 300 ? 0.2 : 0.6)) return aPod(name).request("cpu", cpu);
    PodBuilder pod = WithPacking::gpuPod(name, kPercents[random_.below(5)], cpu);
    if (random_.chance(0.3)) pod.nodeSelector("model", anyModel());
    return pod;
  }
  void place(const PodBuilder& builder) {
    const PodPtr pod = f_.world.pod(builder);
    f_.world.profile().offers<FragmentationAware>().front()->observe(*pod);
    std::vector<std::string> feasible;
    for (const auto& [node, why] : f_.world.filter(pod))
      if (why.empty()) feasible.push_back(node);
    if (feasible.size() < 2) return;
    const std::string chosen = f_.world.place(pod);
    if (random_.chance(0.5)) forget();
    const auto anew = f_.world.scores(pod, feasible);
    std::int64_t best = 0;
    for (const auto& [node, total] : anew) best = std::max(best, total);
    ASSERT_EQ(anew.at(chosen), best) << pods_ << " " << chosen;
    ++compared_;
    f_.schedule(builder);
  }

  // New labels of any node make the plugin forget all nodes. No pod fits this one.
  void forget() {
    f_.world.node(aNode("elsewhere").allocatable("cpu", "0").label("of", std::to_string(pods_)));
  }

  Random random_{11};
  DeviceWorld f_{packingWith("{}")};
  int pods_ = 0;
  int compared_ = 0;
};

TEST(FragmentationAware, kept_scores_are_those_of_all_nodes_asked_anew) {
  KeptScores walk;
  for (int step = 0; step < 800 && !HasFatalFailure(); ++step) walk.step();
  EXPECT_GT(walk.compared(), 300);
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
