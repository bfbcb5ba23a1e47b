#include "descheduler/plugins/cluster_test.h"

// GPUDefragmentation: which moves it requests. MigrationController and the scheduler's simulation,
// which have the last word, are tested in migration/ and tests/scenarios/descheduler.

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kPlugin = "balance: {enabled: [{name: GPUDefragmentation}]}";

struct GpuCluster : Cluster {
  explicit GpuCluster(const std::string& args = "{}", const std::string& evictor = "Mover")
      : Cluster(kPlugin, "[{name: GPUDefragmentation, args: " + args + "}]", "", evictor) {}

  void gpuNode(const std::string& name, int gpus, const std::string& spec = "{}") {
    node(name, "", spec,
         fmt::format(R"("cpu": "16", "memory": "64Gi", "pods": "20", "koordinator.sh/gpu-core":
           "{0}00", "koordinator.sh/gpu-memory-ratio": "{0}00", "koordinator.sh/gpu-memory":
           "{1}Gi")",
                     gpus, 16 * gpus));
  }
  // A pod with this part of the GPU.
  void gpuPod(const std::string& name, const std::string& node, int minor, int percent,
              PodSpecText more = {}) {
    more.node = node;
    more.requests = requests(percent);
    if (!more.annotations.empty()) more.annotations += ", ";
    more.annotations += fmt::format(
        R"("scheduling.koordinator.sh/device-allocated": "{{\"gpu\": [{{\"minor\": {}, )"
        R"(\"resources\": {{\"koordinator.sh/gpu-core\": \"{}\"}}}}]}}")",
        minor, percent);
    pod(name, more);
  }
  void waitingPod(const std::string& name, int percent, const std::string& labels = "",
                  const std::string& spec = "") {
    pod(name, {.node = "",
               .labels = labels,
               .spec = spec,
               .requests = requests(percent),
               .status = R"("phase": "Pending", "conditions": [{"type": "PodScheduled", "status":
                   "False", "reason": "Unschedulable"}])",
               .owner = name});
    loop().advance(2min);
  }
  // Nodes a and b have one GPU each, of which pod "one" has 30 and pod "two" 40 percent.
  void fragmentedNodes() {
    for (const char* node : {"a", "b"}) gpuNode(node, 1);
    gpuPod("one", "a", 0, 30);
    gpuPod("two", "b", 0, 40);
  }
  // Requests and limits.
  static std::string requests(int percent) {
    const std::string gpu = fmt::format(
        R"("koordinator.sh/gpu-core": "{0}", "koordinator.sh/gpu-memory-ratio": "{0}")", percent);
    return R"("cpu": "1", )" + gpu + R"(}, "limits": {)" + gpu;
  }
  std::vector<std::string> helped() {
    mover.helped.clear();
    cycle();
    return mover.helped;
  }
};

TEST(GPUDefragmentationTest, the_smallest_part_moves_for_a_pod_that_waits_for_a_whole_gpu) {
  GpuCluster cluster;
  for (const char* node : {"a", "b", "c"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("large", "a", 0, 60);
  cluster.gpuPod("small", "b", 0, 30);
  cluster.gpuPod("middle", "c", 0, 40);
  EXPECT_THAT(cluster.helped(), IsEmpty()) << "no pod waits";
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), ElementsAre("small for whole"));
}

TEST(GPUDefragmentationTest, a_pod_that_waits_only_briefly_or_is_in_a_gang_is_not_helped) {
  GpuCluster cluster("{minPending: 10m}");
  for (const char* node : {"a", "b"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("one", "a", 0, 60);
  cluster.gpuPod("two", "b", 0, 30);
  cluster.waitingPod("member", 100, R"("pod-group.scheduling.sigs.k8s.io": "g")");
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), IsEmpty());
  cluster.loop().advance(10min);
  EXPECT_THAT(cluster.helped(), ElementsAre("two for whole"));
}

TEST(GPUDefragmentationTest, pods_that_filters_protect_and_pods_of_gangs_stay) {
  GpuCluster cluster;
  for (const char* node : {"a", "b", "c", "d"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("bare", "a", 0, 10, {.owner = ""});
  cluster.gpuPod("member", "b", 0, 20, {.labels = R"("pod-group.scheduling.sigs.k8s.io": "g")"});
  cluster.gpuPod("free", "c", 0, 30);
  cluster.gpuPod("large", "d", 0, 40);
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), ElementsAre("free for whole"));
}

TEST(GPUDefragmentationTest, nodes_that_do_not_admit_the_pods_do_not_count) {
  GpuCluster cluster;
  cluster.gpuNode("a", 1, kTainted);
  cluster.gpuNode("b", 1);
  cluster.gpuPod("small", "a", 0, 10);
  cluster.gpuPod("large", "b", 0, 30);
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), IsEmpty()) << "only the tainted node could take the other pod";
  cluster.gpuNode("c", 1);
  cluster.gpuPod("third", "c", 0, 60);
  EXPECT_THAT(cluster.helped(), ElementsAre("third for whole")) << "the refused one comes last";
}

TEST(GPUDefragmentationTest, a_round_moves_no_more_pods_than_allowed) {
  const auto helpedWith = [](const std::string& args) {
    GpuCluster cluster(args);
    for (const char* node : {"a", "b", "c", "d"}) {
      cluster.gpuNode(node, 1);
      cluster.gpuPod(std::string("on-") + node, node, 0, 20);
    }
    cluster.waitingPod("first", 100);
    cluster.waitingPod("second", 100);
    return cluster.helped().size();
  };
  EXPECT_EQ(helpedWith("{maxMoves: 1}"), 1U);
  EXPECT_EQ(helpedWith("{maxMoves: 2}"), 2U);
}

TEST(GPUDefragmentationTest, two_pods_of_one_node_move_together) {
  GpuCluster cluster;
  cluster.gpuNode("a", 2);
  cluster.gpuNode("b", 1);
  cluster.gpuPod("one", "a", 0, 20);
  cluster.gpuPod("two", "a", 1, 20);
  cluster.gpuPod("other", "b", 0, 50);
  cluster.waitingPod("pair", 200);
  cluster.cycle();
  EXPECT_THAT(cluster.mover.moved, ::testing::UnorderedElementsAre("one", "two"));
  EXPECT_EQ(cluster.mover.helped.size(), 1U) << "one request for both";
}

TEST(GPUDefragmentationTest, gpus_for_typical_pods_are_kept_free_if_no_pod_waits) {
  GpuCluster cluster("{typicalPods: 1}");
  for (const char* node : {"a", "b", "c"}) cluster.gpuNode(node, 2);
  for (const char* node : {"a", "b", "c"})
    cluster.gpuPod(std::string("whole-") + node, node, 0, 100, {.owner = "whole"});
  cluster.gpuPod("small", "a", 1, 20);
  cluster.gpuPod("large", "b", 1, 50);
  EXPECT_THAT(cluster.helped(), IsEmpty()) << "node c has a free GPU";
  cluster.gpuPod("third", "c", 1, 30);
  EXPECT_THAT(cluster.helped(), ElementsAre("small for whole-a"));
}

TEST(GPUDefragmentationTest, a_node_that_only_seems_to_fit_does_not_keep_a_pod_from_help) {
  GpuCluster cluster;
  cluster.fragmentedNodes();
  cluster.gpuNode("c", 1);
  cluster.waitingPod("whole", 100);  // node c is free
  EXPECT_THAT(cluster.helped(), ElementsAre("one for whole"));
}

TEST(GPUDefragmentationTest, a_pod_that_was_helped_is_not_helped_again_soon) {
  GpuCluster cluster;
  cluster.fragmentedNodes();
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), ElementsAre("one for whole"));
  EXPECT_THAT(cluster.helped(), IsEmpty());
  cluster.loop().advance(10min);
  EXPECT_THAT(cluster.helped(), ElementsAre("one for whole"));
}

TEST(GPUDefragmentationTest, a_pod_for_which_the_scheduler_preempts_others_is_not_helped) {
  GpuCluster cluster;
  cluster.fragmentedNodes();
  cluster.pod("whole", {.node = "",
                        .requests = GpuCluster::requests(100),
                        .status = R"("phase": "Pending", "nominatedNodeName": "a", "conditions":
                            [{"type": "PodScheduled", "status": "False", "reason":
                            "Unschedulable"}])",
                        .owner = "whole"});
  cluster.loop().advance(2min);
  EXPECT_THAT(cluster.helped(), IsEmpty());
}

TEST(GPUDefragmentationTest, a_round_waits_for_its_own_moves_only) {
  GpuCluster cluster;
  cluster.fragmentedNodes();
  cluster.waitingPod("whole", 100);
  cluster.mover.moving = "GPUDefragmentation";
  EXPECT_THAT(cluster.helped(), IsEmpty());
  cluster.mover.moving = "LowNodeLoad";
  EXPECT_THAT(cluster.helped(), ElementsAre("one for whole"));
}

TEST(GPUDefragmentationTest,
     nothing_moves_for_a_pod_that_gets_the_gpu_of_one_that_is_being_deleted) {
  GpuCluster cluster;
  cluster.fragmentedNodes();
  cluster.gpuNode("c", 1);
  cluster.waitingPod("whole", 100);
  cluster.gpuPod("leaves", "c", 0, 100, {.metadata = R"("finalizers": ["example.com/hold"],)"});
  cluster.api().remove(api::Pod::kType, "leaves", "default");
  EXPECT_THAT(cluster.helped(), IsEmpty());
  cluster.loop().advance(10min);
  EXPECT_THAT(cluster.helped(), ElementsAre("one for whole")) << "the other pod is stuck";
}

TEST(GPUDefragmentationTest, what_was_refused_is_tried_after_everything_else) {
  GpuCluster cluster;
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    cluster.gpuNode(names[i], 1);
    cluster.gpuPod("on-" + names[i], names[i], 0, 10 + static_cast<int>(i));
    cluster.mover.stay.insert("on-" + names[i]);
  }
  cluster.waitingPod("whole", 100);
  cluster.cycle();
  EXPECT_THAT(cluster.mover.refused, ElementsAre("on-a", "on-b", "on-c", "on-d"));
  cluster.mover.refused.clear();
  cluster.cycle();
  EXPECT_THAT(cluster.mover.refused, ::testing::IsSupersetOf({"on-e", "on-f"}));
}

TEST(GPUDefragmentationTest, an_annotation_without_a_request_takes_no_gpus) {
  GpuCluster cluster("{typicalPods: 1}");
  for (const char* node : {"a", "b"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("real", "a", 0, 100);
  cluster.pod("fake", {.node = "b",
                       .annotations = R"("scheduling.koordinator.sh/device-allocated": "{\"gpu\": )"
                                      R"([{\"minor\": 0, \"resources\": )"
                                      R"({\"koordinator.sh/gpu-core\": \"100\"}}]}")",
                       .owner = "fake"});
  EXPECT_THAT(cluster.helped(), IsEmpty()) << "the GPU of node b is free for a typical pod";
}

TEST(GPUDefragmentationTest, a_node_that_claims_a_million_millions_of_gpus_keeps_no_pod_from_help) {
  GpuCluster cluster;
  cluster.node("a", "", "{}", R"("koordinator.sh/gpu-core": "100000000000000")");
  for (const char* node : {"b", "c"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("small", "b", 0, 30);
  cluster.gpuPod("large", "c", 0, 60);
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.helped(), ElementsAre("small for whole"));
}

TEST(GPUDefragmentationTest, typical_pods_are_counted_by_their_requests_whoever_owns_them) {
  GpuCluster cluster("{typicalPods: 1}");
  for (const char* node : {"a", "b", "c"}) cluster.gpuNode(node, 2);
  for (const char* node : {"a", "b", "c"})
    cluster.gpuPod(std::string("whole-") + node, node, 0, 100, {.owner = node});
  cluster.gpuPod("small-1", "a", 1, 20, {.owner = "small"});
  cluster.gpuPod("small-2", "b", 1, 20, {.owner = "small"});
  cluster.gpuPod("third", "c", 1, 30);
  EXPECT_THAT(cluster.helped(), ElementsAre("small-1 for whole-a"));
}

TEST(GPUDefragmentationTest, an_evictor_that_cannot_simulate_moves_nothing) {
  GpuCluster cluster("{}", "DefaultEvictor");
  for (const char* node : {"a", "b"}) cluster.gpuNode(node, 1);
  cluster.gpuPod("one", "a", 0, 60);
  cluster.gpuPod("two", "b", 0, 30);
  cluster.waitingPod("whole", 100);
  EXPECT_THAT(cluster.cycle(), IsEmpty());
}

TEST(GPUDefragmentationTest, arguments_out_of_range_name_their_field) {
  const Cluster cluster(kPlugin,
                        "[{name: GPUDefragmentation, args: {maxMoves: 0, maxMovesPerPod: 2000, "
                        "minPending: -1s, typicalPods: 33}}]");
  ASSERT_EQ(cluster.errors.size(), 4U);
  for (const char* field : {"maxMoves", "maxMovesPerPod", "minPending", "typicalPods"})
    EXPECT_THAT(cluster.errors, ::testing::Contains(::testing::HasSubstr(field)));
}

}  // namespace
}  // namespace koord::descheduler
