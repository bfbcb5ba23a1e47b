#include "scheduler/plugins/nodenumaresource/numa_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/plugins/nodenumaresource/numa_world.h"

namespace koord::scheduler {
namespace {

using testing::aPod;
using testing::aService;
using ::testing::ElementsAre;
using testing::given;
using testing::Machine;
using testing::NumaWorld;
using testing::PodBuilder;

// Adds holders of some CPUs and of parts of zones, which need not agree.
void occupy(NumaWorld& f, const Machine& machine, Random& random) {
  const auto pods = random.below(4);
  for (std::uint64_t i = 0; i < pods; ++i) {
    CpuSet cpus;
    for (int cpu = 0; cpu < machine.cpus(); ++cpu)
      if (random.below(5) == 0) cpus.add(cpu);
    const auto numa = random.below(static_cast<std::uint64_t>(machine.numas()));
    f.world.bound(given(
        aPod(fmt::format("x{}", i)), "a",
        fmt::format(
            R"({{"cpuset":"{}","numaNodeResources":[{{"node":{},"resources":{{"cpu":"{}m","memory":"{}Mi"}}}}]}})",
            cpus.toString(), numa, 500 * random.below(8), 512 * random.below(20))));
  }
}

PodBuilder randomPod(Random& random, bool bound) {
  static constexpr std::array kSpecs{"", R"({"requiredCPUBindPolicy":"FullPCPUs"})",
                                     R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})"};
  const std::string cpu = std::to_string(1 + random.below(10));
  PodBuilder pod = bound ? aService("p", cpu, kSpecs[random.below(3)]) : aPod("p");
  if (!bound) pod.request("cpu", cpu + "00m");
  pod.request("memory", fmt::format("{}Mi", 1 + random.below(20'000)));
  return pod;
}

TEST(NumaCapacity, says_before_what_comes_of_it) {
  Random random(3);
  int fitting = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    NumaWorld f;
    const Machine machine{1, 1 + static_cast<int>(random.below(4)),
                          1 + static_cast<int>(random.below(4)), 2};
    const NodeId node = f.machine("a", machine);
    occupy(f, machine, random);
    const PodPtr pod = f.world.pod(randomPod(random, random.below(2) == 0));
    const NumaDemand demand =
        readNumaDemand(f.cluster().resources(), *pod, CpuBindPolicy::FullPCPUs);
    // An odd number of CPUs with whole cores is rejected before the free resources are checked.
    if (demand.required == CpuBindPolicy::FullPCPUs && demand.cpus % 2 != 0) continue;
    const ZoneScorer scorer(f.cluster().resources(), NodeNUMAResourceArgs().numaScoringStrategy);
    const NumaCapacity plain(f.table(), node, demand, scorer);
    NumaCapacity summed(f.table(), node, demand, scorer);
    summed.addUpSets();
    CpuAccumulator accumulator;
    std::vector<NumaMask> sets = f.table().at(node).zoneSets;
    sets.push_back(kAnyNuma);
    for (const NumaMask set : sets) {
      const bool fits = plain.fits(set);
      const NumaCapacityTaken taken = plain.take(accumulator, set, NumaStrategy::LeastAllocated);
      ASSERT_EQ(fits, taken.status.ok()) << round << " " << set << " " << taken.status.message();
      ASSERT_EQ(fits, summed.fits(set)) << round << " " << set;
      if (set != kAnyNuma) {
        ASSERT_EQ(plain.score(set), summed.score(set)) << round << " " << set;
      }
      (fits ? fitting : refused)++;
      if (!fits) continue;
      ASSERT_EQ(taken.grant.cpus.size(), demand.binds ? demand.cpus : 0);
      std::int64_t cpu = 0;
      for (const NumaAmounts& part : taken.grant.numa) {
        cpu += part.amounts.base[kCpu];
        ASSERT_TRUE(set >> part.numa & 1);
      }
      ASSERT_EQ(cpu, set == kAnyNuma ? 0 : demand.milliCpu);
    }
  }
  EXPECT_GT(fitting, 200);
  EXPECT_GT(refused, 200);
}

TEST(NumaCapacity, names_what_is_lacking) {
  NumaWorld f;
  const NodeId node = f.machine("a");
  const PodPtr pod = f.world.pod(aPod("p").request("cpu", "9").request("memory", "20Gi"));
  const NumaDemand demand = readNumaDemand(f.cluster().resources(), *pod, CpuBindPolicy::None);
  const ZoneScorer scorer(f.cluster().resources(), NodeNUMAResourceArgs().numaScoringStrategy);
  const NumaCapacity room(f.table(), node, demand, scorer);
  EXPECT_THAT(room.check(1).reasons(),
              ElementsAre("Insufficient NUMA cpu", "Insufficient NUMA memory"));
  EXPECT_TRUE(room.check(3).ok());
}

TEST(NumaCapacity, gives_no_more_than_it_may) {
  NumaWorld f;
  const NodeId node = f.machine("a");
  const PodPtr pod = f.world.pod(aPod("p").request("cpu", "4").request("memory", "1Gi"));
  const NumaDemand demand = readNumaDemand(f.cluster().resources(), *pod, CpuBindPolicy::None);
  const ZoneScorer scorer(f.cluster().resources(), NodeNUMAResourceArgs().numaScoringStrategy);
  NumaCapacityTerms terms;
  terms.limited = {kCpu};
  terms.onlyAmounts.push_back({0, {}});
  terms.onlyAmounts.back().amounts.base[kCpu] = 3000;
  const NumaCapacity room(f.table(), node, demand, scorer, terms);
  EXPECT_THAT(room.check(1).reasons(), ElementsAre("Insufficient NUMA cpu"));
  terms.onlyAmounts.back().amounts.base[kCpu] = 4000;
  EXPECT_TRUE(NumaCapacity(f.table(), node, demand, scorer, terms).check(1).ok());
}

}  // namespace
}  // namespace koord::scheduler
