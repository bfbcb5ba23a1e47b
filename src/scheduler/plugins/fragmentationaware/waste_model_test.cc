#include "scheduler/plugins/fragmentationaware/waste_model.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace koord::scheduler {
namespace {

using Class = WasteModel::Class;
using Demand = WasteModel::Demand;

PodAsk gpuAsk(std::int32_t cpu, std::int32_t count, std::int32_t share) {
  return {.cpu = cpu, .memory = 1024, .gpus = {count, share, 0}};
}

NodeSpace spaceWith(WasteModel& model, std::int32_t cpu, std::vector<std::uint16_t> shares) {
  NodeSpace space{.cpu = cpu, .memory = 1 << 20};
  space.gpus = static_cast<std::uint32_t>(shares.size());
  std::ranges::copy(shares, space.free.begin());
  space.kind = model.kindOf(space.gpus > 0, WasteModel::ClassSet().set(), 16 << 20);
  return space;
}

// In thousandths of a GPU.
double wasteOf(WasteModel& model, const NodeSpace& space) {
  return static_cast<double>(model.waste(space)) /
         static_cast<double>(WasteModel::kUnit * model.futures());
}

WasteModel modelOf(std::vector<Class> classes, std::int64_t pressurePercent = 0) {
  Demand demand;
  demand.gpu = std::move(classes);
  demand.gpuSupply = 100;
  return WasteModel(std::move(demand), 16, pressurePercent);
}

TEST(WasteModel, space_that_future_pods_fill_exactly_is_not_wasted) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 500), 1, 100}});
  EXPECT_EQ(wasteOf(model, spaceWith(model, 8000, {1000, 500})), 0);
}

TEST(WasteModel, what_is_smaller_than_any_pod_is_stranded) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 600), 1, 100}});
  EXPECT_EQ(wasteOf(model, spaceWith(model, 8000, {1000, 300})), 700);
}

TEST(WasteModel, free_gpus_without_cpus_are_stranded) {
  WasteModel model = modelOf({{gpuAsk(4000, 1, 1000), 1, 100}});
  EXPECT_EQ(wasteOf(model, spaceWith(model, 8000, {1000, 1000, 1000})), 1000);
  EXPECT_EQ(wasteOf(model, spaceWith(model, 3999, {1000, 1000, 1000})), 3000);
}

TEST(WasteModel, a_node_that_no_class_may_use_is_wasted_as_a_whole) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 1000), 1, 100}});
  NodeSpace space = spaceWith(model, 8000, {1000});
  space.kind = model.kindOf(true, {}, 16 << 20);
  EXPECT_EQ(wasteOf(model, space), 1000);
}

TEST(WasteModel, small_pods_fill_gaps_unless_they_are_too_rare_to_come) {
  const auto wasteWith = [](std::int64_t small) {
    WasteModel model =
        modelOf({{gpuAsk(1000, 1, 800), 1000, 100}, {gpuAsk(1000, 1, 200), small, 100}});
    return wasteOf(model, spaceWith(model, 64000, {1000, 1000, 1000, 1000}));
  };
  EXPECT_EQ(wasteWith(1000), 0);
  EXPECT_GT(wasteWith(1), 600);
  EXPECT_EQ(wasteWith(0), 800);
}

TEST(WasteModel, pressure_keeps_what_few_nodes_have) {
  // Both classes would fill the node. The second one can run on a tenth of the cluster only.
  const std::vector<Class> classes{{gpuAsk(1000, 1, 1000), 10, 100},
                                   {gpuAsk(1000, 8, 1000), 10, 10}};
  WasteModel model = modelOf(classes, 100);
  const std::vector<std::uint16_t> eight(8, 1000);
  NodeSpace space = spaceWith(model, 64000, eight);
  EXPECT_EQ(wasteOf(model, space), 0);
  ASSERT_TRUE(model.take(space, classes[0].ask));
  EXPECT_EQ(wasteOf(model, space), 7000.0 * 0.5 * 100 / 10)
      << "seven GPUs that half of the pods, which have a tenth of the supply, cannot use";
}

TEST(WasteModel, a_part_of_a_gpu_comes_from_the_fullest_gpu_that_has_enough) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 300), 1, 100}});
  NodeSpace space = spaceWith(model, 8000, {1000, 700, 400, 200});
  ASSERT_TRUE(model.take(space, gpuAsk(1000, 1, 300)));
  NodeSpace expected = spaceWith(model, 7000, {1000, 700, 200, 100});
  expected.memory -= 1024;
  EXPECT_EQ(space, expected);
}

TEST(WasteModel, whole_gpus_are_taken_together_or_not_at_all) {
  WasteModel model = modelOf({{gpuAsk(1000, 2, 1000), 1, 100}});
  NodeSpace space = spaceWith(model, 8000, {1000, 1000, 900});
  const NodeSpace before = space;
  EXPECT_FALSE(model.take(space, gpuAsk(1000, 3, 1000)));
  EXPECT_EQ(space, before);
  ASSERT_TRUE(model.take(space, gpuAsk(1000, 2, 1000)));
  EXPECT_EQ(space.free[0], 900);
  EXPECT_EQ(space.free[1], 0);
  EXPECT_EQ(space.free[2], 0);
}

TEST(WasteModel, bytes_count_as_the_share_of_the_nodes_gpus) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 500), 1, 100}});
  PodAsk ask{.cpu = 1000, .memory = 1024, .gpus = {1, 0, 4 << 20}};
  NodeSpace space = spaceWith(model, 8000, {1000});  // of 16 MiB
  ASSERT_TRUE(model.take(space, ask));
  EXPECT_EQ(space.free[0], 750);
}

TEST(WasteModel, no_pod_reduces_the_waste_by_more_than_the_largest_gain) {
  WasteModel model = modelOf({{gpuAsk(1000, 1, 600), 1, 100}}, 100);
  for (const GpuRequest& gpus : {GpuRequest{1, 400, 0}, {1, 0, 6 << 20}}) {
    const PodAsk ask{.cpu = 1000, .memory = 1024, .gpus = gpus};
    NodeSpace space = spaceWith(model, 8000, {400});
    const std::int64_t before = model.waste(space);
    ASSERT_TRUE(model.take(space, ask));
    EXPECT_LE(before - model.waste(space), model.largestGain(ask)) << gpus.memory;
  }
}

TEST(WasteModel, a_node_with_24_tebibytes_is_larger_than_one_with_1) {
  Demand demand;
  demand.plain = {{{.cpu = 1000, .memory = 1000, .gpus = {}}, 1, 10}};
  demand.plainSupply = 10;
  demand.meanCpu = demand.meanMemory = 1 << 20;
  WasteModel model(std::move(demand), 4, 0);
  NodeSpace space{.cpu = 0, .memory = 24 << 20};
  space.kind = model.kindOf(false, WasteModel::ClassSet().set(), 0);
  EXPECT_EQ(wasteOf(model, space), 12000) << "all of it, because no CPU is free";
}

TEST(WasteModel, without_gpus_cpu_that_no_memory_is_left_for_is_stranded) {
  Demand demand;
  demand.plain = {{{.cpu = 1000, .memory = 1000, .gpus = {}}, 1, 10}};
  demand.plainSupply = 10;
  demand.meanCpu = demand.meanMemory = 10000;
  WasteModel model(std::move(demand), 4, 0);
  NodeSpace space{.cpu = 10000, .memory = 10000};
  space.kind = model.kindOf(false, WasteModel::ClassSet().set(), 0);
  EXPECT_EQ(wasteOf(model, space), 0);
  space.memory = 4000;
  EXPECT_EQ(wasteOf(model, space), 300) << "6 of 10 CPUs, half of the node's value";
}

TEST(WasteModel, without_demand_nothing_is_known_and_all_nodes_are_equal) {
  WasteModel model = modelOf({});
  EXPECT_EQ(wasteOf(model, spaceWith(model, 8000, {1000})), 0);
}

}  // namespace
}  // namespace koord::scheduler
