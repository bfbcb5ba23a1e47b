// The check of free resources for a gang: sums that are updated as pods and nodes are added and
// removed.

#include "scheduler/plugins/coscheduling/capacity.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::World;

CapacityNeed cpus(std::int64_t millis, std::int64_t pods = 0) {
  CapacityNeed need;
  need.amount.set(kCpu, millis);
  need.pods = pods;
  return need;
}

// By the definition: visits every node and every pod.
std::int64_t plainCapacity(const Cluster& cluster, std::optional<std::int32_t> preempts) {
  std::int64_t sum = 0;
  cluster.live().forEach([&](NodeId node) {
    sum += std::max<std::int64_t>(Cluster::columnAt(cluster.allocatable(kCpu), node) -
                                      Cluster::columnAt(cluster.requested(kCpu), node),
                                  0);
  });
  for (const auto& record : cluster.pods())
    if (preempts && record.info->priority < *preempts) sum += record.info->request.amount(kCpu);
  return sum;
}

TEST(CapacitySums, agree_with_a_look_at_all_pods_and_nodes_whatever_comes_and_goes) {
  World world;
  Random random(7);
  Cluster& cluster = world.cluster();
  CapacitySums sums(cluster);
  for (int i = 0; i < 20; ++i) world.node(aNode("n" + std::to_string(i)));
  std::vector<std::string> uids;
  for (int step = 0; step < 2000; ++step) {
    const std::string node = "n" + std::to_string(random.below(20));
    switch (random.below(6)) {
      case 0:
        world.node(aNode(node).allocatable("cpu", std::to_string(1 + random.below(30))));
        break;
      case 1:
        if (uids.empty()) break;
        cluster.removePod(uids.back());
        uids.pop_back();
        break;
      case 2: {
        Cluster::Transaction whatIf(cluster);
        for (const std::string& uid : uids)
          if (random.below(2) == 0) cluster.removePod(uid);
        break;
      }
      case 3:
        if (random.below(50) == 0) sums.rest();
        break;
      default: {
        const auto pod = world.bound(aPod("p" + std::to_string(step))
                                         .request("cpu", std::to_string(1 + random.below(3)))
                                         .priority(static_cast<std::int32_t>(random.below(5)))
                                         .nodeName(node));
        uids.push_back(pod->uid());
      }
    }
    std::optional<std::int32_t> preempts;
    if (random.below(3) > 0) preempts = static_cast<std::int32_t>(random.below(6));
    const std::int64_t room = plainCapacity(cluster, preempts);
    std::int64_t all = 0;
    cluster.live().forEach(
        [&](NodeId n) { all += Cluster::columnAt(cluster.allocatable(kCpu), n); });
    const auto around = room + static_cast<std::int64_t>(random.below(3)) - 1;
    const bool isThere = around <= room && around <= all;
    EXPECT_EQ(!sums.shortageOf(cpus(around), {false, preempts}).has_value(), isThere || around <= 0)
        << step;
  }
}

// 200 gangs wait for resources, 100,000 pods on 1,000 nodes; pods are removed one by one.
TEST(CapacitySums, cost_an_event_one_pass_over_the_nodes_however_many_gangs_and_pods_there_are) {
  World world;
  Cluster& cluster = world.cluster();
  constexpr int kNodes = 1000;
  constexpr int kPods = 100'000;
  constexpr int kGangs = 200;
  for (int i = 0; i < kNodes; ++i)
    world.node(aNode("n" + std::to_string(i)).allocatable("cpu", "100").allocatable("pods", "200"));
  std::vector<std::string> uids;
  for (int i = 0; i < kPods; ++i) {
    const auto pod = world.bound(aPod("p" + std::to_string(i))
                                     .request("cpu", "1")
                                     .priority(i % 3)
                                     .nodeName("n" + std::to_string(i % kNodes)));
    uids.push_back(pod->uid());
  }
  CapacitySums sums(cluster);
  const auto askForAll = [&] {
    for (int gang = 0; gang < kGangs; ++gang) {
      // More than pods of priority 0 and 1 request, less than all nodes have.
      const std::int64_t needed = (70'000 + gang) * std::int64_t{1000};
      EXPECT_TRUE(sums.shortageOf(cpus(needed, 2), {false, 2}));
    }
  };
  askForAll();
  const std::uint64_t first = sums.visits();
  EXPECT_LE(first, std::uint64_t{kPods + 4 * kNodes});
  constexpr int kEvents = 10;
  for (int i = 0; i < kEvents; ++i) {
    cluster.removePod(uids.back());
    uids.pop_back();
    askForAll();
  }
  EXPECT_LE((sums.visits() - first) / kEvents, std::uint64_t{2 * kNodes});
}

}  // namespace
}  // namespace koord::scheduler
