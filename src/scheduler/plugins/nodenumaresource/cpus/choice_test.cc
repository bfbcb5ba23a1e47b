#include "scheduler/plugins/nodenumaresource/cpus/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// One socket with NUMA nodes 0 and 1 of four cores with two threads: 0-7 and 8-15.
CpuTopology twoNumas() {
  std::vector<CpuRecord> records;
  for (int cpu = 0; cpu < 16; ++cpu) records.push_back({cpu, cpu / 2, 0, cpu / 8});
  return CpuTopology(records);
}

CpuSet cpuList(std::string_view text) {
  return *CpuSet::parse(text);
}

struct Choosing : ::testing::Test {
  CpuChoice choose(const CpuDemand& demand, const std::vector<CpuSet>& given = {}) {
    const CpuUse seen = use.without(given);
    return chooseCpus(accumulator, {topology, seen, 1, availableCpus(topology, seen, 1, reserved)},
                      demand);
  }
  CpuTopology topology = twoNumas();
  CpuUse use;
  CpuSet reserved;
  CpuAccumulator accumulator;
};

TEST_F(Choosing, keeps_whole_cores_when_they_are_required) {
  use.add(cpuList("0,2,4,6"));
  CpuDemand demand{.request = {8, CpuBindPolicy::FullPCPUs}, .required = true};
  EXPECT_EQ(choose(demand).cpus.toString(), "8-15");
  demand.request.count = 10;
  EXPECT_EQ(choose(demand).failure, kNotEnoughCpus);
  demand.required = false;
  EXPECT_EQ(choose(demand).cpus.toString(), "1,3,8-15");
  demand = {.request = {3, CpuBindPolicy::FullPCPUs}, .required = true};
  EXPECT_EQ(choose(demand).failure,
            "insufficient CPUs to satisfy required cpu bind policy FullPCPUs");
}

TEST_F(Choosing, takes_one_cpu_of_a_core_when_spreading_is_required) {
  CpuDemand demand{.request = {8, CpuBindPolicy::SpreadByPCPUs}, .required = true};
  EXPECT_EQ(choose(demand).cpus.toString(), "0,2,4,6,8,10,12,14");
  demand.request.count = 9;
  EXPECT_EQ(choose(demand).failure, kNotEnoughCpus);
}

TEST_F(Choosing, takes_from_each_numa_node_what_it_was_given_there) {
  CpuDemand demand{.request = {6, CpuBindPolicy::FullPCPUs}, .byNuma = {{0, 2}, {1, 4}}};
  EXPECT_EQ(choose(demand).cpus.toString(), "0-1,8-11");
  use.add(cpuList("8-13"));
  EXPECT_EQ(choose(demand).failure, kNotEnoughCpus);  // 2 and 2
  demand.byNuma = {{7, 6}};                           // does not exist
  EXPECT_EQ(choose(demand).failure, kNotEnoughCpus);
}

TEST_F(Choosing, prefers_what_is_its_own_and_may_take_it_over) {
  reserved = cpuList("0-1");
  use.add(cpuList("4-9"));
  CpuDemand demand{.request = {4, CpuBindPolicy::FullPCPUs}, .preferred = cpuList("6-7,12-13")};
  EXPECT_EQ(choose(demand).cpus.toString(), "10-13");
  EXPECT_EQ(choose(demand, {cpuList("6-7")}).cpus.toString(), "6-7,12-13");
}

TEST_F(Choosing, shares_evenly_among_numa_nodes) {
  CpuDemand demand{.request = {8, CpuBindPolicy::FullPCPUs, {}, NumaStrategy::DistributeEvenly}};
  EXPECT_EQ(choose(demand).cpus.toString(), "0-3,8-11");
  use.add(cpuList("0-5"));
  EXPECT_EQ(choose(demand).cpus.toString(), "6-13");
  demand.request = {5, CpuBindPolicy::SpreadByPCPUs, {}, NumaStrategy::DistributeEvenly};
  EXPECT_EQ(choose(demand).cpus.toString(), "6-8,10,12");
  demand.request.count = 11;
  EXPECT_EQ(choose(demand).failure, kNotEnoughCpus);
}

TEST_F(Choosing, gives_an_odd_cpu_beside_even_shares_of_cores) {
  use.add(cpuList("1"));
  const CpuDemand demand{
      .request = {5, CpuBindPolicy::FullPCPUs, {}, NumaStrategy::DistributeEvenly}};
  EXPECT_EQ(choose(demand).cpus.toString(), "2-3,8-10");
}

TEST(EvenShares, are_whole_cores_and_add_up) {
  const CpuTopology topology = twoNumas();
  const auto full = CpuBindPolicy::FullPCPUs;
  EXPECT_THAT(evenShares(topology, topology.all(), full, 6), ElementsAre(Pair(0, 2), Pair(1, 4)));
  EXPECT_THAT(evenShares(topology, cpuList("0-2,8-15"), full, 10),
              ElementsAre(Pair(0, 2), Pair(1, 8)));
  EXPECT_THAT(evenShares(topology, cpuList("0-2,8-15"), CpuBindPolicy::SpreadByPCPUs, 10),
              ElementsAre(Pair(0, 3), Pair(1, 7)));
  EXPECT_THAT(evenShares(CpuTopology(), {}, full, 4), IsEmpty());
}

TEST(CpuUse, remembers_every_holder_and_what_each_of_them_wants) {
  CpuUse use;
  use.add(cpuList("0-3"), CpuExclusivePolicy::PCPULevel);
  use.add(cpuList("2-5"));
  EXPECT_EQ(use.held().toString(), "0-5");
  EXPECT_EQ(use.holders(2), 2);
  use.remove(cpuList("2-5"));
  EXPECT_TRUE(use.exclusive(2, CpuExclusivePolicy::PCPULevel));
  EXPECT_EQ(use.held().toString(), "0-3");
  use.remove(cpuList("0-3"), CpuExclusivePolicy::PCPULevel);
  EXPECT_EQ(use, CpuUse());
  use.remove(cpuList("0-3"));  // without holders
  EXPECT_EQ(use, CpuUse());
}

TEST(CpuUse, gives_back_a_cpu_once_for_every_set_that_has_it) {
  const CpuTopology topology = twoNumas();
  CpuUse use;
  use.add(cpuList("0-1"));                                 // a reservation
  use.add(cpuList("0-1"), CpuExclusivePolicy::PCPULevel);  // its owner
  const std::vector<CpuSet> once{cpuList("0-1")};
  EXPECT_EQ(use.without(once).holders(0), 1);
  const std::vector<CpuSet> twice{cpuList("0-1,9"), cpuList("1")};
  const CpuUse seen = use.without(twice);
  EXPECT_EQ(availableCpus(topology, seen, 1, cpuList("8-15")).toString(), "1-7");
  EXPECT_FALSE(seen.exclusive(1, CpuExclusivePolicy::PCPULevel));
  EXPECT_EQ(availableCpus(topology, use, 2, cpuList("8-15")).toString(), "2-7");
}

}  // namespace
}  // namespace koord::scheduler
