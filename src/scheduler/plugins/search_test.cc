// The search against a plain evaluation of every plugin's rules on every node, written from the
// rules and from API objects alone: random clusters, pods and changes must give the same feasible
// nodes, messages and choices.

#include <gtest/gtest.h>

#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/reference_evaluator.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/generator.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::Generator;
using testing::Model;
using testing::NodeBuilder;
using testing::Outcome;
using testing::plainMessage;
using testing::PodBuilder;
using testing::Reference;
using testing::World;

void runSeed(std::uint64_t seed) {
  Generator generate(seed);
  Random& random = generate.random();
  World world;
  ASSERT_TRUE(world.configure(makeRegistry(), "", seed).empty());
  Model model;
  for (const auto& [name, team] : {std::pair{"default", "x"}, {"other", "y"}}) {
    api::Namespace object;
    object.metadata.name = name;
    object.metadata.labels["team"] = team;
    model.namespaces[name] = object.metadata.labels;
    world.stores().of<api::Namespace>().set(std::make_shared<const api::Namespace>(object));
  }
  const std::uint64_t shapes = 1 + random.below(6);
  const auto addNode = [&](int n) {
    const NodeBuilder node = generate.node(n);
    world.node(node);
    model.nodes["n" + std::to_string(n)] = node.build();
  };
  // Small clusters find most, large ones need several words of a node set.
  const int nodes = static_cast<int>(1 + random.below(random.chance(0.1) ? 90 : 20));
  for (int n = 0; n < nodes; ++n) addNode(n);
  const bool nominates = random.chance(0.5);

  for (int step = 0; step < 60; ++step) {
    const double dice = random.unit();
    if (dice < 0.06) {
      addNode(static_cast<int>(random.below(nodes + 10)));
      continue;
    }
    if (dice < 0.09 && model.nodes.size() > 1) {
      auto gone =
          std::next(model.nodes.begin(), static_cast<long>(random.below(model.nodes.size())));
      world.cluster().removeNode(gone->first);
      std::erase_if(model.pods, [&](const auto& entry) {
        if (entry.second->spec.nodeName != gone->first) return false;
        world.cluster().removePod(entry.first);
        return true;
      });
      model.nodes.erase(gone);
      continue;
    }
    if (dice < 0.2 && !model.pods.empty()) {
      auto gone = std::next(model.pods.begin(), static_cast<long>(random.below(model.pods.size())));
      world.cluster().removePod(gone->first);
      model.pods.erase(gone);
      continue;
    }
    if (dice < 0.25) {  // a what-if that must leave no trace
      Cluster::Transaction whatIf(world.cluster());
      for (const auto& [uid, pod] : std::map(model.pods))
        if (random.chance(0.3)) world.cluster().removePod(uid);
      world.cluster().live().forEach([&](NodeId node) {
        if (random.chance(0.3))
          (void)world.cluster().assume(
              world.pod(generate.pod(90'000 + static_cast<int>(node), shapes)), node);
      });
      continue;
    }
    if (dice < 0.33 && nominates) {
      const std::string node = "n" + std::to_string(random.below(nodes));
      PodBuilder builder = generate.pod(50'000 + step, shapes);
      builder.priority(static_cast<std::int32_t>(random.below(3)));
      world.nominator().add(world.pod(builder), {true, node});
      model.nominated[node].push_back(builder.build());
      continue;
    }
    if (dice < 0.36 && !model.nominated.empty()) {
      for (const auto& pod : model.nominated.begin()->second)
        world.nominator().remove(pod->metadata.uid);
      model.nominated.erase(model.nominated.begin());
      continue;
    }
    PodBuilder builder = generate.pod(step, shapes);
    if (nominates) builder.priority(static_cast<std::int32_t>(random.below(3)));
    const PodPtr pod = world.pod(builder);
    // A pod is not in its own way where it is nominated itself.
    if (nominates && random.chance(0.3))
      world.nominator().add(pod, {true, "n" + std::to_string(random.below(nodes))});
    const Reference reference(model, *pod->pod);
    const Outcome& expected = reference.outcome();

    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    world.nominator().remove(pod->uid());
    ASSERT_EQ(found.feasible, expected.feasible.size()) << "seed " << seed << " step " << step;
    if (expected.feasible.empty()) {
      ASSERT_EQ(found.diagnosis.message(), plainMessage(model, expected))
          << "seed " << seed << " step " << step;
      continue;
    }
    std::int64_t best = -1;
    for (const auto& [name, total] : expected.totals) best = std::max(best, total);
    const std::string chosen = world.cluster().node(found.node).name;
    if (expected.feasible.size() > 1) {
      ASSERT_EQ(expected.totals.at(chosen), best)
          << "seed " << seed << " step " << step << " node " << chosen;
    } else {
      ASSERT_EQ(chosen, *expected.feasible.begin());
    }
    std::vector<NodeId> all;
    for (const auto& name : expected.feasible) all.push_back(*world.cluster().findNode(name));
    std::ranges::sort(all);
    const auto table = world.search().scoreNodes(state, pod, all);
    ASSERT_TRUE(table);
    for (std::size_t n = 0; n < all.size(); ++n) {
      const std::string& name = world.cluster().node(all[n]).name;
      ASSERT_EQ(table->totals[n], expected.totals.at(name))
          << "seed " << seed << " step " << step << " " << name;
    }
    builder.nodeName(chosen);
    ASSERT_TRUE(world.cluster().assume(pod, found.node));
    const auto boundObject = builder.build();
    model.pods[pod->uid()] = boundObject;
    if (random.chance(0.7))
      world.cluster().observePod(makePodInfo(world.cluster(), boundObject), chosen);
    if (step % 10 == 0)
      world.cluster().live().forEach(
          [&](NodeId node) { ASSERT_EQ(world.cluster().verifyNode(node), ""); });
  }
}

// The plain evaluation is what takes the time, without optimisation most of all.
#ifdef NDEBUG
constexpr std::uint64_t kSeeds = 1500;
#else
constexpr std::uint64_t kSeeds = 30;
#endif

TEST(NodeSearch, agrees_with_a_plain_evaluation_of_every_plugin_on_every_node) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    runSeed(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(NodeSearch, ties_are_spread_over_all_equal_nodes_and_repeat_with_the_seed) {
  const auto choices = [](std::uint64_t seed) {
    World world;
    world.configure(makeRegistry(), "", seed);
    for (int n = 0; n < 8; ++n) world.node(aNode("n" + std::to_string(n)));
    std::vector<std::string> chosen;
    for (int p = 0; p < 64; ++p)
      chosen.push_back(world.place(world.pod(aPod("p").request("cpu", "1"))));
    return chosen;
  };
  const auto first = choices(7);
  EXPECT_EQ(first, choices(7));
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 8u);
}

TEST(NodeSearch, a_nominated_pod_of_no_lower_priority_keeps_its_room) {
  World world;
  world.configure(makeRegistry());
  world.node(aNode("n1").allocatable("cpu", "8"));
  world.bound(aPod("running").request("cpu", "4").nodeName("n1"));
  world.nominator().add(world.pod(aPod("q").priority(10).request("cpu", "3")), {true, "n1"});
  const auto place = [&](int priority) {
    return world.place(world.pod(aPod("p").priority(priority).request("cpu", "2")));
  };
  EXPECT_EQ(place(5), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(place(10), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(place(20), "n1");
}

TEST(NodeSearch, a_pod_goes_to_its_nominated_node_when_that_still_fits) {
  World world;
  world.configure(makeRegistry());
  for (int n = 0; n < 20; ++n) world.node(aNode("n" + std::to_string(n)));
  world.node(aNode("tight").allocatable("cpu", "1"));
  EXPECT_EQ(world.place(world.pod(aPod("p").request("cpu", "1").nominated("tight"))), "tight");
  EXPECT_NE(world.place(world.pod(aPod("p").request("cpu", "2").nominated("tight"))), "tight");
}

TEST(NodeSearch, percentageOfNodesToScore_limits_how_many_feasible_nodes_are_scored) {
  EXPECT_EQ(nodesToFind(50, 10), 50u);
  EXPECT_EQ(nodesToFind(500, 1), 100u);
  EXPECT_EQ(nodesToFind(1000, 40), 400u);
  EXPECT_EQ(nodesToFind(1000, 0), 1000u);
  EXPECT_EQ(nodesToFind(1000, 100), 1000u);
}

TEST(NodeSearch, without_nodes_it_says_so) {
  World world;
  world.configure(makeRegistry());
  EXPECT_EQ(world.place(world.pod(aPod("p"))), "no nodes available to schedule pods");
}

TEST(NodeSearch, nodes_outside_of_a_pinned_set_are_reported_as_not_satisfying_the_plugin) {
  World world;
  world.configure(makeRegistry());
  for (const char* name : {"n1", "n2", "n3"}) world.node(aNode(name).allocatable("cpu", "1"));
  const auto pinned = [&](const char* cpu) {
    return world.pod(
        aPod("p").request("cpu", cpu).requireNode({{}, {{"metadata.name", "In", {"n2"}}}}));
  };
  EXPECT_EQ(world.place(pinned("1")), "n2");
  EXPECT_EQ(world.place(pinned("2")),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) "
            "[NodeAffinity].");
}

}  // namespace
}  // namespace koord::scheduler
