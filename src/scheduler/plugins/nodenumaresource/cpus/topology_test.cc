#include "scheduler/plugins/nodenumaresource/cpus/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/plugins/nodenumaresource/cpus/choice.h"

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CpuTopology, is_read_from_the_annotation_of_koordlet) {
  const auto topology = CpuTopology::parse(R"({"detail": [
      {"id": 0, "core": 0, "socket": 0, "node": 0}, {"id": 1, "core": 0, "socket": 0, "node": 0},
      {"id": 2, "core": 0, "socket": 1, "node": 1}, {"id": 3, "core": 0, "socket": 1, "node": 1}]})");
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->cpusPerCore(), 2);
  EXPECT_EQ(topology->cpusPerNuma(), 2);
  EXPECT_EQ(topology->cpusPerSocket(), 2);
  EXPECT_EQ(topology->coreId(1), 1 << 16);
  EXPECT_EQ(topology->cpusOfNuma(1).toString(), "2-3");
  EXPECT_EQ(topology->cpusOfNuma(5).toString(), "");
}

TEST(CpuTopology, without_cpus_is_not_valid) {
  for (const char* text : {"{}", "null", R"({"detail": null})", R"({"detail": []})"}) {
    const auto topology = CpuTopology::parse(text);
    ASSERT_TRUE(topology) << text;
    EXPECT_FALSE(topology->valid());
    EXPECT_EQ(topology->cpusPerCore() + topology->cpusPerNuma() + topology->cpusPerSocket(), 0);
  }
}

TEST(CpuTopology, names_the_field_that_is_malformed) {
  for (const auto& [text, error] :
       {std::pair{"{", ""}, std::pair{"[]", "expected an object"},
        std::pair{R"({"detail": {}})", "detail: expected a list"},
        std::pair{R"({"detail": [1]})", "detail[0]: expected an object"},
        std::pair{R"({"detail": [{"id": 0}, {"id": "1"}]})", "detail[1].id: expected a number"},
        std::pair{R"({"detail": [{"id": 1e99}]})", "detail[0].id: expected a number"}}) {
    const auto topology = CpuTopology::parse(text);
    ASSERT_FALSE(topology) << text;
    EXPECT_THAT(topology.error().message, HasSubstr(error));
  }
}

TEST(CpuTopology, leaves_out_what_cannot_be_and_says_where) {
  const std::vector<CpuRecord> records{{-1, 0, 0, 0},      {70000, 0, 0, 0}, {3, -2, 0, 0},
                                       {4, 0, 1 << 20, 0}, {5, 0, 0, -1},    {6, 1, 0, 0},
                                       {6, 2, 0, 1}};
  const CpuTopology topology{records};
  EXPECT_THAT(
      topology.problems(),
      ElementsAre("detail[0].id: -1 is not a CPU number", "detail[1].id: 70000 is not a CPU number",
                  "detail[2].core: -2 is not between 0 and 32767",
                  "detail[3].socket: 1048576 is not between 0 and 32767",
                  "detail[4].node: -1 is not between 0 and 32767", "detail[6].id: duplicate 6"));
  EXPECT_EQ(topology.all().toString(), "6");
  EXPECT_EQ(topology.cpusOfNuma(1).toString(), "6");
}

TEST(CpuTopology, tells_cores_of_numa_nodes_apart_that_have_one_number) {
  const std::vector<CpuRecord> records{{0, 0, 0, 0}, {1, 0, 0, 1}, {2, 1, 0, 0}, {3, 1, 0, 1}};
  const CpuTopology topology{records};
  EXPECT_EQ(topology.coreCount(), 4);
  EXPECT_EQ(topology.cpusPerCore(), 1);
}

// A topology that is inconsistent in every way still gives each CPU once.
TEST(CpuTopology, with_gaps_and_shared_numa_nodes_is_good_enough_to_choose_from) {
  const std::vector<CpuRecord> records{
      {65535, 30000, 32767, 7}, {40, 2, 0, 9}, {41, 2, 0, 9}, {42, 2, 0, 9}, {0, 0, 5, 9},
      {1000, 2, 0, 7}};
  const CpuTopology topology{records};
  CpuAccumulator accumulator;
  for (const auto bind : {CpuBindPolicy::FullPCPUs, CpuBindPolicy::SpreadByPCPUs}) {
    for (const auto strategy : {NumaStrategy::MostAllocated, NumaStrategy::DistributeEvenly}) {
      CpuUse use;
      int left = topology.cpuCount();
      for (const int count : {1, 2, 2, 1}) {
        const CpuSet available = availableCpus(topology, use, 1, {});
        EXPECT_EQ(available.size(), left);
        const CpuChoice choice = chooseCpus(accumulator, {topology, use, 1, available},
                                            {.request = {count, bind, {}, strategy}});
        ASSERT_TRUE(choice.ok()) << choice.failure;
        EXPECT_EQ(choice.cpus.size(), count);
        EXPECT_TRUE(choice.cpus.isSubsetOf(available));
        use.add(choice.cpus);
        left -= count;
      }
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
