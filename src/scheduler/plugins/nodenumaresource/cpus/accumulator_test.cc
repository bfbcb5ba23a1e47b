// The worked examples of the CPU accumulator, and a plain evaluation of its rules with maps and
// sorted lists on random topologies.

#include "scheduler/plugins/nodenumaresource/cpus/accumulator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "scheduler/plugins/nodenumaresource/cpus/plain_accumulator.h"

namespace koord::scheduler {
namespace {

using CpuBindPolicy::FullPCPUs;
using CpuBindPolicy::SpreadByPCPUs;
using CpuExclusivePolicy::NUMANodeLevel;
using CpuExclusivePolicy::PCPULevel;
constexpr auto kMostAllocated = NumaStrategy::MostAllocated;
constexpr auto kLeast = NumaStrategy::LeastAllocated;

// Siblings have adjacent numbers.
CpuTopology adjacent(int sockets, int numasPerSocket, int coresPerNuma, int threads) {
  std::vector<CpuRecord> records;
  for (int socket = 0; socket < sockets; ++socket)
    for (int numa = 0; numa < numasPerSocket; ++numa)
      for (int core = 0; core < coresPerNuma; ++core)
        for (int thread = 0; thread < threads; ++thread)
          records.push_back({static_cast<int>(records.size()), numa * coresPerNuma + core, socket,
                             socket * numasPerSocket + numa});
  return CpuTopology(records);
}

// 2 sockets of 2 NUMA nodes of 26 cores, whose second threads have numbers from 104 on.
CpuTopology twoSockets() {
  std::vector<CpuRecord> records;
  for (int cpu = 0; cpu < 208; ++cpu)
    records.push_back({cpu, cpu % 104 % 52, cpu % 104 / 52, cpu % 104 / 26});
  return CpuTopology(records);
}

CpuSet cpus(std::string_view text) {
  return *CpuSet::parse(text);
}

struct Example {
  const char* name;
  const CpuTopology& topology;
  const char* held;
  CpuExclusivePolicy heldAs;
  int count;
  CpuBindPolicy bind;
  CpuExclusivePolicy exclusive;
  NumaStrategy strategy;
  const char* taken;
  const char* preferred = "";
};

TEST(CpuAccumulator, takes_what_the_worked_examples_say) {
  const CpuTopology t1 = twoSockets();
  const CpuTopology s2242 = adjacent(2, 2, 4, 2);
  const CpuTopology s2222 = adjacent(2, 2, 2, 2);
  const CpuTopology s2142 = adjacent(2, 1, 4, 2);
  const CpuTopology s1142 = adjacent(1, 1, 4, 2);
  const CpuTopology s1241 = adjacent(1, 2, 4, 1);
  const CpuTopology s21162 = adjacent(2, 1, 16, 2);
  constexpr auto kFull = FullPCPUs;
  constexpr auto kSpread = SpreadByPCPUs;
  constexpr auto kNo = CpuExclusivePolicy::None;
  constexpr auto kMost = kMostAllocated;
  const Example examples[] = {
      {"A1", t1, "", kNo, 4, kFull, kNo, kMost, "0-1,104-105"},
      {"A2", t1, "", kNo, 4, kSpread, kNo, kMost, "0-3"},
      {"A3", t1, "0-1,104-105", kNo, 4, kFull, kNo, kMost, "2-3,106-107"},
      {"A4", t1, "0-1,104-105", kNo, 4, kFull, kNo, kLeast, "52-53,156-157"},
      {"A5", t1, "0-1,104-105", kNo, 52, kFull, kNo, kMost, "26-51,130-155"},
      {"A6", t1, "0-1,104-105", kNo, 104, kFull, kNo, kMost, "52-103,156-207"},
      {"A7", t1, "0-1,104-105", kNo, 110, kFull, kNo, kMost, "2-4,52-103,106-108,156-207"},
      {"A7", t1, "0-1,104-105", kNo, 110, kFull, kNo, kLeast, "2-4,52-103,106-108,156-207"},
      {"A8", t1, "0", kNo, 51, kFull, kNo, kMost, "26-51,130-154"},
      {"A9", t1, "", kNo, 30, kSpread, kNo, kMost, "0-25,104-107"},
      {"A10", t1, "0-3", PCPULevel, 24, kSpread, PCPULevel, kMost, "26-49"},
      {"A11", t1, "0-3", NUMANodeLevel, 4, kFull, NUMANodeLevel, kMost, "26-27,130-131"},
      {"A12", s2242, "0-5,16-23", kNo, 6, kFull, kNo, kMost, "24-29"},
      {"A12", s2242, "0-5,16-23", kNo, 6, kFull, kNo, kLeast, "8-13"},
      {"A13", s2242, "0-5,16-23", kNo, 12, kFull, kNo, kMost, "6-15,24-25"},
      {"A13", s2242, "0-5,16-23", kNo, 12, kFull, kNo, kLeast, "6-15,24-25"},
      {"A14", s2242, "0-3,8-11", kNo, 4, kFull, kNo, kMost, "4-7"},
      {"A14", s2242, "0-3,8-11", kNo, 4, kFull, kNo, kLeast, "16-19"},
      {"A15", s2222, "0,2,4,8,12", kNo, 4, kFull, kNo, kMost, "10-11,14-15"},
      {"A15", s2222, "0,2,4,8,12", kNo, 4, kFull, kNo, kLeast, "10-11,14-15"},
      {"A16", s2222, "0,2,4,8,10,12", kNo, 6, kFull, kNo, kMost, "5-7,13-15"},
      {"A16", s2222, "0,2,4,8,10,12", kNo, 6, kFull, kNo, kLeast, "1,3,6-7,14-15"},
      {"A17", s2222, "0,2,4,8-10,12", kNo, 6, kFull, kNo, kMost, "6-7,11,13-15"},
      {"A18", s2142, "0,2", kNo, 4, kSpread, kNo, kMost, "1,3-4,6"},
      {"A18", s2142, "0,2", kNo, 4, kSpread, kNo, kLeast, "8,10,12,14"},
      {"A19", s2142, "0,2", kNo, 6, kSpread, kNo, kMost, "1,3-7"},
      {"A19", s2142, "0,2", kNo, 6, kSpread, kNo, kLeast, "8-12,14"},
      {"A20", s2142, "", kNo, 10, kSpread, PCPULevel, kMost, "0-4,6,8,10,12,14"},
      {"A21", s2142, "0,2", PCPULevel, 4, kSpread, PCPULevel, kMost, "8,10,12,14"},
      {"A22", s1142, "0", kNo, 3, kFull, kNo, kMost, "2-4"},
      {"A22", s1142, "0", kNo, 4, kFull, kNo, kMost, "2-5"},
      {"A23", s1142, "0,2,4,6", kNo, 2, kFull, kNo, kMost, "1,3"},
      {"A24", s1241, "0", kNo, 2, kSpread, kNo, kMost, "1-2"},
      {"A24", s1241, "0", kNo, 2, kSpread, kNo, kLeast, "4-5"},
      {"A25", s21162, "", kNo, 2, kSpread, kNo, kMost, "11,13", "11,13,15,17"},
  };
  for (const auto rules : {CpuAccumulator::Rules::Ours, CpuAccumulator::Rules::AsUpstream}) {
    CpuAccumulator accumulator(rules);
    for (const Example& e : examples) {
      CpuUse use;
      use.add(cpus(e.held), e.heldAs);
      const auto taken =
          accumulator.takePreferred(e.topology, use, 1, availableCpus(e.topology, use, 1, {}),
                                    cpus(e.preferred), {e.count, e.bind, e.exclusive, e.strategy});
      ASSERT_TRUE(taken) << e.name;
      EXPECT_EQ(taken->toString(), e.taken) << e.name;
    }
  }
}

TEST(CpuAccumulator, lets_pods_share_cpus_where_they_may) {
  CpuAccumulator accumulator;
  const CpuTopology small = adjacent(1, 1, 4, 2);
  CpuUse use;
  const auto next = [&](const CpuTopology& topology, int count, CpuBindPolicy bind) {
    const auto taken = accumulator.take(topology, use, 2, availableCpus(topology, use, 2, {}),
                                        {count, bind, CpuExclusivePolicy::None, kMostAllocated});
    if (!taken) return std::string("none");
    use.add(*taken);
    return taken->toString();
  };
  EXPECT_EQ(next(small, 4, FullPCPUs), "0-3");
  EXPECT_EQ(next(small, 5, FullPCPUs), "0,4-7");
  EXPECT_EQ(next(small, 4, FullPCPUs), "2-5");

  const CpuTopology larger = adjacent(1, 1, 16, 2);
  use = {};
  EXPECT_EQ(next(larger, 16, SpreadByPCPUs), "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30");
  EXPECT_EQ(next(larger, 16, FullPCPUs), "0-15");
  EXPECT_EQ(next(larger, 16, SpreadByPCPUs), "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31");
  EXPECT_EQ(next(larger, 16, FullPCPUs), "16-31");
  EXPECT_EQ(next(larger, 1, FullPCPUs), "none");
}

TEST(CpuAccumulator, does_not_round_up_odd_counts_that_span_sockets) {
  const CpuTopology topology = adjacent(4, 1, 13, 2);
  for (const auto& [rules, size] : {std::pair{CpuAccumulator::Rules::Ours, 39},
                                    std::pair{CpuAccumulator::Rules::AsUpstream, 40}}) {
    CpuAccumulator accumulator(rules);
    const auto taken = accumulator.take(topology, {}, 1, topology.all(), {39, FullPCPUs});
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->size(), size);
  }
}

TEST(CpuAccumulator, heeds_those_that_want_a_numa_node_alone_among_whole_sockets_too) {
  const CpuTopology topology = adjacent(2, 2, 4, 2);
  CpuUse use;
  use.add(cpus("0-1"), NUMANodeLevel);
  use.add(cpus("16-17,24-25"));
  const CpuSet available = availableCpus(topology, use, 1, {});
  const CpuRequest request{10, FullPCPUs, NUMANodeLevel, kLeast};
  CpuAccumulator ours;
  CpuAccumulator upstream(CpuAccumulator::Rules::AsUpstream);
  EXPECT_EQ(ours.take(topology, use, 1, available, request)->toString(), "18-23,26-29");
  EXPECT_EQ(upstream.take(topology, use, 1, available, request)->toString(), "2-11");
}

// --- Against plain rules.

CpuTopology randomTopology(std::mt19937& random, bool odd) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const int sockets = pick(1, 3), numas = pick(1, 3), cores = pick(1, 5), threads = pick(1, 2);
  const int stride = odd ? pick(1, 3) : 1;
  std::vector<CpuRecord> records;
  int next = odd ? pick(0, 70) : 0;
  for (int socket = 0; socket < sockets; ++socket)
    for (int numa = 0; numa < numas; ++numa)
      for (int core = 0; core < cores; ++core)
        for (int thread = 0; thread < threads; ++thread) {
          if (odd && pick(0, 6) == 0) continue;  // offline
          records.push_back(
              {next, (numa * cores + core) * stride, socket * stride, socket * numas + numa});
          next += odd ? pick(1, 2) : 1;
        }
  if (odd) std::ranges::shuffle(records, random);
  return CpuTopology(records);
}

TEST(CpuAccumulator, agrees_with_a_plain_evaluation_of_the_rules) {
  CpuAccumulator ours;
  CpuAccumulator upstream(CpuAccumulator::Rules::AsUpstream);
  std::mt19937 random(7);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  int found = 0;
  for (int round = 0; round < 6000; ++round) {
    const CpuTopology topology = randomTopology(random, round % 3 == 2);
    if (!topology.valid()) continue;
    const int maxHolders = pick(1, 3);
    CpuUse use;
    for (int pod = pick(0, 5); pod > 0; --pod) {
      CpuSet held;
      topology.all().forEach([&](int cpu) {
        if (pick(0, 5) == 0 && use.holders(cpu) < maxHolders) held.add(cpu);
      });
      use.add(held, static_cast<CpuExclusivePolicy>(pick(0, 2)));
    }
    const CpuSet available = availableCpus(topology, use, maxHolders, {});
    const CpuRequest request{
        pick(0, topology.cpuCount() + 1), static_cast<CpuBindPolicy>(pick(0, 4)),
        static_cast<CpuExclusivePolicy>(pick(0, 2)), static_cast<NumaStrategy>(pick(0, 2))};
    for (const auto rules : {CpuAccumulator::Rules::Ours, CpuAccumulator::Rules::AsUpstream}) {
      auto& accumulator = rules == CpuAccumulator::Rules::Ours ? ours : upstream;
      const auto taken = accumulator.take(topology, use, maxHolders, available, request);
      const auto plain =
          testing::PlainAccumulator(topology, use, maxHolders, available, request, rules).take();
      ASSERT_EQ(taken.has_value(), plain.has_value()) << round;
      if (!taken) continue;
      ASSERT_EQ(taken->toString(), plain->toString()) << round;
      EXPECT_TRUE(taken->isSubsetOf(available));
      if (rules == CpuAccumulator::Rules::Ours) {
        EXPECT_EQ(taken->size(), request.count);
      }
      ++found;
    }
  }
  EXPECT_GT(found, 5000);
}

}  // namespace
}  // namespace koord::scheduler
