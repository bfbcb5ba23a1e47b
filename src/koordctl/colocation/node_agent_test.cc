#include "koordctl/colocation/node_agent.h"

#include <gtest/gtest.h>

#include "koordctl/colocation/arm.h"

namespace koord::koordctl::colocation {
namespace {

// A node with one service of 8 CPUs, whose CPU limit is 8.
struct BurstNode {
  Parameters parameters;
  NodeSettings settings;
  Machine machine{parameters, nodeSizeOf(parameters, "node"), false};
  NodeAgent agent{parameters, settings, machine.size(), Random(1)};

  explicit BurstNode(double demand) : settings(comparedArms().back().node) {
    RunningService service{
        .cores = 8, .limit = 8, .demand = demand, .measured = Measured(machine.windowSteps())};
    agent.prepare(service);
    machine.addService(std::move(service));
    machine.settle(agent.ceiling());
  }
  std::int64_t quota() const { return machine.services().front().quota; }
};

TEST(ColocationNodeAgentTest, a_throttled_container_gets_a_larger_quota) {
  BurstNode node(8);
  EXPECT_TRUE(node.agent.burst(node.machine));
  EXPECT_EQ(node.quota(), 960'000) << "1.2 times";
}

TEST(ColocationNodeAgentTest, a_container_that_may_be_throttled_later_in_the_step_is_asked_again) {
  BurstNode node(6.3);
  EXPECT_TRUE(node.agent.burst(node.machine));
  EXPECT_EQ(node.quota(), 800'000) << "seldom throttled, and not in this second";
  for (int second = 0; second < 1000; ++second) node.agent.burst(node.machine);
  EXPECT_GT(node.quota(), 800'000);
}

TEST(ColocationNodeAgentTest, a_container_far_below_its_limit_is_left_alone) {
  BurstNode node(2);
  EXPECT_FALSE(node.agent.burst(node.machine));
  EXPECT_EQ(node.quota(), 800'000);
}

}  // namespace
}  // namespace koord::koordctl::colocation
