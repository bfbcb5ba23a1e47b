#include "descheduler/plugins/gpudefragmentation/relocation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

PodDemand gpus(std::int64_t count, std::int64_t percent, std::int64_t milliCpu = 1000) {
  return {milliCpu, kGib, {count, percent, 0}};
}

// Nodes of 16 CPUs, and tenants numbered from 0.
struct GpuNodes {
  std::vector<NodeGaps> all;
  std::size_t tenants = 0;

  void node(std::size_t count) {
    NodeGaps& gaps = all.emplace_back();
    gaps = {.milliCpu = 16'000,
            .memory = 64 * kGib,
            .slots = 100,
            .bytesOfGpu = 16 * kGib,
            .free = std::vector<std::int64_t>(count, 100),
            .tenants = {},
            .leaving = {}};
  }
  // On the last node.
  void tenant(const PodDemand& demand, const std::vector<std::int64_t>& minors,
              std::int32_t priority = 0) {
    NodeGaps::Tenant one{tenants++, priority, demand, {}};
    for (const std::int64_t minor : minors) one.gpus.push_back({minor, demand.gpu.percent});
    all.back().release(one, -1);
    all.back().tenants.push_back(std::move(one));
  }
  std::vector<Relocation> find(const PodDemand& demand, std::size_t maxMoves = 4,
                               std::int32_t priority = 0) const {
    return Relocations(all, {{demand, priority, 1}}).find(maxMoves, [](auto, auto) {
      return true;
    });
  }
};

TEST(Relocations, a_part_of_a_gpu_moves_so_that_a_whole_one_is_free) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant(gpus(1, 40), {0});
  nodes.node(1);
  nodes.tenant(gpus(1, 60), {0});
  const auto found = nodes.find(gpus(1, 100));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_THAT(found[0].pods, ElementsAre(0U)) << "the smaller part is the cheaper move";
  EXPECT_EQ(found[0].moved, 40);
  EXPECT_EQ(found[0].gained, 100);
  const Relocations relocations(nodes.all, {{gpus(1, 100), 0, 1}});
  EXPECT_EQ(relocations.placesOf(found[0], [](auto, auto) { return true; }),
            std::vector<std::size_t>{1});
  EXPECT_EQ(relocations.placesOf(found[0], [](auto, auto) { return false; }), std::nullopt);
}

TEST(Relocations, nothing_moves_for_a_pod_that_fits_a_node_as_it_is) {
  GpuNodes nodes;
  nodes.node(2);
  nodes.tenant(gpus(1, 40), {0});
  EXPECT_THAT(nodes.find(gpus(1, 100)), IsEmpty());
  EXPECT_EQ(nodes.find(gpus(2, 100)).size(), 1U);
}

// The scheduler knows a reason why the pod waits although it fits.
TEST(Relocations, a_node_that_a_waiting_pod_fits_hides_no_other_node) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.node(1);
  nodes.tenant(gpus(1, 40), {0});
  const auto found = nodes.find(gpus(1, 100));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, 1U);
  EXPECT_THAT(found[0].pods, ElementsAre(0U));
  const Relocations typical(nodes.all, {{gpus(1, 100), 0, 1, true}});
  EXPECT_THAT(typical.find(4, [](auto, auto) { return true; }), IsEmpty());
}

TEST(Relocations, nothing_moves_for_a_pod_that_fits_when_deleted_pods_have_left) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant(gpus(1, 100), {0});
  nodes.all[0].leaving = std::move(nodes.all[0].tenants);
  nodes.all[0].tenants.clear();
  nodes.node(1);
  nodes.tenant(gpus(1, 40), {0});
  EXPECT_THAT(nodes.find(gpus(1, 100)), IsEmpty());
  EXPECT_EQ(nodes.find(gpus(1, 100, 15'500)).size(), 0U) << "it fits later, too";
  nodes.all[0].leaving.clear();
  EXPECT_EQ(nodes.find(gpus(1, 100)).size(), 1U);
}

TEST(Relocations, pods_that_are_kept_move_no_more) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant(gpus(1, 10), {0});
  Relocations relocations(nodes.all, {{gpus(1, 100), 0, 1}});
  ASSERT_TRUE(relocations.cheapestOn(0, 0, 4));
  relocations.keep(0, 0);
  EXPECT_FALSE(relocations.cheapestOn(0, 0, 4));
}

TEST(Relocations, no_pod_moves_that_could_stay) {
  GpuNodes nodes;
  nodes.node(4);
  nodes.tenant(gpus(2, 100), {0, 1});
  nodes.tenant(gpus(1, 50), {2});
  nodes.tenant(gpus(1, 50), {2});
  nodes.tenant(gpus(1, 50), {3});
  // One pod with two GPUs, or the three small ones, of which two would be enough beside a free one.
  EXPECT_THAT(nodes.find(gpus(2, 100)).at(0).pods, ElementsAre(0U));
  const auto three = nodes.find(gpus(1, 100));
  ASSERT_EQ(three.size(), 1U);
  EXPECT_THAT(three[0].pods, ElementsAre(3U));
}

TEST(Relocations, pods_without_gpus_move_if_cpus_are_short) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant({12'000, kGib, {}}, {});
  nodes.tenant({2'000, kGib, {}}, {});
  EXPECT_THAT(nodes.find(gpus(1, 100, 8'000)).at(0).pods, ElementsAre(0U));
}

TEST(Relocations, more_moves_than_allowed_are_no_relocation) {
  GpuNodes nodes;
  nodes.node(2);
  nodes.tenant(gpus(1, 10), {0});
  nodes.tenant(gpus(1, 10), {1});
  EXPECT_EQ(nodes.find(gpus(2, 100), 2).size(), 1U);
  EXPECT_THAT(nodes.find(gpus(2, 100), 1), IsEmpty());
}

TEST(Relocations, a_pod_does_not_move_for_one_of_lower_priority) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant(gpus(1, 10), {0}, 5);
  EXPECT_THAT(nodes.find(gpus(1, 100), 4, 4), IsEmpty());
  EXPECT_EQ(nodes.find(gpus(1, 100), 4, 5).size(), 1U);
}

TEST(Relocations, the_cheapest_for_each_gpu_comes_first_after_the_priority) {
  GpuNodes nodes;
  nodes.node(4);
  nodes.tenant(gpus(1, 10), {0});
  nodes.node(1);
  nodes.tenant(gpus(1, 10), {0});
  const Relocations relocations(nodes.all, {{gpus(1, 100, 20'000), 9, 1},  // no node has the CPUs
                                            {gpus(4, 100), 0, 1},
                                            {gpus(1, 100, 15'500), 0, 1}});
  const auto found = relocations.find(4, [](auto, auto) { return true; });
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].waiting, 1U) << "one move for four GPUs";
  const Relocations urgent(nodes.all, {{gpus(4, 100), 0, 1}, {gpus(1, 100, 15'500), 1, 1}});
  EXPECT_EQ(urgent.find(4, [](auto, auto) { return true; }).at(0).waiting, 1U);
}

TEST(Relocations, what_is_applied_counts_for_the_next) {
  GpuNodes nodes;
  nodes.node(1);
  nodes.tenant(gpus(1, 40), {0});
  nodes.node(1);
  nodes.tenant(gpus(1, 40), {0});
  Relocations relocations(nodes.all, {{gpus(1, 100), 0, 2}});
  const auto anywhere = [](auto, auto) { return true; };
  const auto found = relocations.find(4, anywhere);
  ASSERT_EQ(found.size(), 2U);
  const auto places = relocations.placesOf(found[0], anywhere);
  ASSERT_TRUE(places);
  relocations.apply(found[0], *places);
  EXPECT_EQ(relocations.placesOf(found[1], anywhere), std::nullopt)
      << "the other node is given to the waiting pod";
}

TEST(Relocations, bytes_count_by_the_memory_of_the_nodes_gpus) {
  EXPECT_EQ((GpuRequest{1, 0, 4 * kGib}).percentOn(16 * kGib), 25);
  EXPECT_EQ((GpuRequest{1, 0, 4 * kGib + 1}).percentOn(16 * kGib), 26);
  EXPECT_EQ((GpuRequest{1, 30, 4 * kGib}).percentOn(16 * kGib), 30);
  EXPECT_EQ((GpuRequest{1, 0, 4 * kGib}).percentOn(0), 100);
  EXPECT_EQ((GpuRequest{1, 0, 32 * kGib}).percentOn(16 * kGib), 100);
}

TEST(GpuRequest, reads_every_way_to_request_gpus) {
  const auto requestOf = [](std::initializer_list<std::pair<const char*, std::int64_t>> amounts) {
    Pod pod;
    for (const auto& [name, amount] : amounts) pod.scalars[name] = amount;
    return gpuRequestOf(pod);
  };
  EXPECT_EQ(requestOf({}), GpuRequest());
  EXPECT_EQ(requestOf({{"nvidia.com/gpu", 2}}), (GpuRequest{2, 100, 0}));
  EXPECT_EQ(requestOf({{"koordinator.sh/gpu", 50}}), (GpuRequest{1, 50, 0}));
  EXPECT_EQ(requestOf({{"koordinator.sh/gpu-core", 300}, {"koordinator.sh/gpu-memory-ratio", 300}}),
            (GpuRequest{3, 100, 0}));
  EXPECT_EQ(requestOf({{"koordinator.sh/gpu.shared", 2},
                       {"koordinator.sh/gpu-core", 60},
                       {"koordinator.sh/gpu-memory", 8 * kGib}}),
            (GpuRequest{2, 30, 4 * kGib}));
}

TEST(GpuRequest, an_allocation_that_cannot_be_read_is_none) {
  const auto read = [](const char* text, std::int64_t requested = 1) {
    api::StringMap annotations;
    annotations["scheduling.koordinator.sh/device-allocated"] = text;
    return allocatedGpus(annotations, {requested, 100, 0});
  };
  const auto gpu = read(
      R"({"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "30",
          "koordinator.sh/gpu-memory-ratio": "40"}}]})");
  ASSERT_EQ(gpu.size(), 1U);
  EXPECT_EQ(gpu[0].minor, 1);
  EXPECT_EQ(gpu[0].percent, 40);
  for (const auto& [amount, percent] : {std::pair("-5", 0), {"9223372036854775807", 100}}) {
    const auto hostile =
        read(fmt::format(
                 R"({{"gpu": [{{"minor": 1, "resources": {{"koordinator.sh/gpu-core": {}}}}}]}})",
                 amount)
                 .c_str());
    ASSERT_EQ(hostile.size(), 1U);
    EXPECT_EQ(hostile[0].percent, percent);
  }
  const char* const two =
      R"({"gpu": [{"minor": 1, "resources": {}}, {"minor": 2, "resources": {}}]})";
  EXPECT_EQ(read(two, 3).size(), 2U);
  EXPECT_EQ(read(two, 1).size(), 1U) << "no more than the pod requests";
  EXPECT_THAT(read(two, 0), IsEmpty());
  for (const char* bad : {"", "[]", "{", R"({"gpu": 1})", R"({"gpu": [1, {"minor": "x"}]})"})
    EXPECT_THAT(read(bad), IsEmpty()) << bad;
}

}  // namespace
}  // namespace koord::descheduler
