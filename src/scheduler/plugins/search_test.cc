// Compares the search with a plain evaluation of every plugin's rules on every node, written from
// the rules and from API objects alone: random clusters, pods and changes must give the same
// feasible nodes, messages and choices.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/fragmentationaware/plugin.h"
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

// One random cluster, in the engine and as plain objects, and its random events.
class Walk {
 public:
  // With `packs`, FragmentationAware scores too, which the plain evaluation does not know.
  explicit Walk(std::uint64_t seed, bool packs)
      : seed_(seed), generate_(seed), random_(generate_.random()), shapes_(1 + random_.below(6)) {
    model_.scoredByOthers = packs;
  }

  void begin() {
    ASSERT_TRUE(world_.configure(makeRegistry(), configuration(), seed_).empty());
    for (const auto& [name, team] : {std::pair{"default", "x"}, {"other", "y"}}) {
      api::Namespace object;
      object.metadata.name = name;
      object.metadata.labels["team"] = team;
      model_.namespaces[name] = object.metadata.labels;
      world_.stores().of<api::Namespace>().set(std::make_shared<const api::Namespace>(object));
    }
    // Small clusters find most defects, large ones need several words of a node set.
    nodes_ = static_cast<int>(1 + random_.below(random_.chance(0.1) ? 90 : 20));
    for (int n = 0; n < nodes_; ++n) addNode(n);
    nominates_ = random_.chance(0.5);
  }

  void step(int step) {
    step_ = step;
    const double dice = random_.unit();
    if (dice < 0.06) return addNode(static_cast<int>(random_.below(nodes_ + 10)));
    if (dice < 0.09 && model_.nodes.size() > 1) return removeNode();
    if (dice < 0.2 && !model_.pods.empty()) return removePod();
    if (dice < 0.25) return playWhatIf();
    if (dice < 0.33 && nominates_) return nominate();
    if (dice < 0.36 && !model_.nominated.empty()) return endNominations();
    place();
    if (!::testing::Test::HasFatalFailure() && step % 10 == 0)
      world_.cluster().live().forEach(
          [&](NodeId node) { ASSERT_EQ(world_.cluster().verifyNode(node), ""); });
  }

 private:
  std::string configuration() const {
    if (!model_.scoredByOthers) return "";
    return "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
           "profiles: [{plugins: {multiPoint: {enabled: [{name: FragmentationAware}]}}}]}";
  }

  std::string where() const {
    return "seed " + std::to_string(seed_) + " step " + std::to_string(step_);
  }

  void addNode(int n) {
    const NodeBuilder node = generate_.node(n);
    world_.node(node);
    model_.nodes["n" + std::to_string(n)] = node.build();
  }

  void removeNode() {
    auto gone =
        std::next(model_.nodes.begin(), static_cast<long>(random_.below(model_.nodes.size())));
    world_.cluster().removeNode(gone->first);
    std::erase_if(model_.pods, [&](const auto& entry) {
      if (entry.second->spec.nodeName != gone->first) return false;
      world_.cluster().removePod(entry.first);
      return true;
    });
    model_.nodes.erase(gone);
  }

  void removePod() {
    auto gone =
        std::next(model_.pods.begin(), static_cast<long>(random_.below(model_.pods.size())));
    world_.cluster().removePod(gone->first);
    model_.pods.erase(gone);
  }

  // A simulation that is reverted must leave no trace.
  void playWhatIf() {
    Cluster::Transaction whatIf(world_.cluster());
    for (const auto& [uid, pod] : std::map(model_.pods))
      if (random_.chance(0.3)) world_.cluster().removePod(uid);
    world_.cluster().live().forEach([&](NodeId node) {
      if (random_.chance(0.3))
        (void)world_.cluster().assume(
            world_.pod(generate_.pod(90'000 + static_cast<int>(node), shapes_)), node);
    });
  }

  void nominate() {
    const std::string node = "n" + std::to_string(random_.below(nodes_));
    PodBuilder builder = generate_.pod(50'000 + step_, shapes_);
    builder.priority(static_cast<std::int32_t>(random_.below(3)));
    world_.nominator().add(world_.pod(builder), {true, node});
    model_.nominated[node].push_back(builder.build());
  }

  void endNominations() {
    for (const auto& pod : model_.nominated.begin()->second)
      world_.nominator().remove(pod->metadata.uid);
    model_.nominated.erase(model_.nominated.begin());
  }

  // A pod is added: both must agree on the feasible nodes, and it goes to the chosen one.
  void place() {
    PodBuilder builder = generate_.pod(step_, shapes_);
    if (nominates_) builder.priority(static_cast<std::int32_t>(random_.below(3)));
    const PodPtr pod = world_.pod(builder);
    // A pod does not compete with itself on its nominated node.
    if (nominates_ && random_.chance(0.3))
      world_.nominator().add(pod, {true, "n" + std::to_string(random_.below(nodes_))});
    for (FragmentationAware* plugin : world_.profile().offers<FragmentationAware>())
      plugin->observe(*pod);
    const Reference reference(model_, *pod->pod);
    const Outcome& expected = reference.outcome();

    CycleState state;
    const SearchResult found = world_.search().find(state, pod);
    world_.nominator().remove(pod->uid());
    ASSERT_EQ(found.feasible, expected.feasible.size()) << where();
    if (expected.feasible.empty()) {
      ASSERT_EQ(found.diagnosis.message(), plainMessage(model_, expected)) << where();
      return;
    }
    const std::string chosen = world_.cluster().node(found.node).name;
    compareScores(state, pod, expected, chosen);
    if (::testing::Test::HasFatalFailure()) return;
    builder.nodeName(chosen);
    ASSERT_TRUE(world_.cluster().assume(pod, found.node));
    const auto boundObject = builder.build();
    model_.pods[pod->uid()] = boundObject;
    if (random_.chance(0.7))
      world_.cluster().observePod(makePodInfo(world_.cluster(), boundObject), chosen);
  }

  void compareScores(CycleState& state, const PodPtr& pod, const Outcome& expected,
                     const std::string& chosen) {
    if (expected.feasible.size() == 1) {
      ASSERT_EQ(chosen, *expected.feasible.begin());
    }
    std::vector<NodeId> all;
    for (const auto& name : expected.feasible) all.push_back(*world_.cluster().findNode(name));
    std::ranges::sort(all);
    const auto table = world_.search().scoreNodes(state, pod, all);
    ASSERT_TRUE(table);
    std::map<std::string, std::int64_t> anew;
    for (std::size_t n = 0; n < all.size(); ++n)
      anew[world_.cluster().node(all[n]).name] = table->totals[n];
    if (!model_.scoredByOthers) {
      ASSERT_EQ(anew, expected.totals) << where();
    }
    ASSERT_EQ(anew.at(chosen), std::ranges::max(anew | std::views::values))
        << where() << " node " << chosen;
  }

  const std::uint64_t seed_;
  Generator generate_;
  Random& random_;
  World world_;
  Model model_;
  const std::uint64_t shapes_;
  int nodes_ = 0;
  bool nominates_ = false;
  int step_ = 0;
};

void runSeed(std::uint64_t seed, bool packs = false) {
  Walk walk(seed, packs);
  walk.begin();
  for (int step = 0; step < 60 && !::testing::Test::HasFatalFailure(); ++step) walk.step(step);
}

// The plain evaluation takes most of the time, above all without optimization.
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

TEST(NodeSearch, with_FragmentationAware_chooses_the_best_of_all_nodes_scored_anew) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 5; ++seed) {
    runSeed(seed, true);
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

// Scores nodes as the test says.
struct Marks final : Plugin, Signed, ScorePlugin {
  std::map<NodeId, std::int64_t> marks;
  std::string_view name() const override { return "Marks"; }
  void sign(const PodInfo&, Signature&) const override {}
  Status score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override {
    for (std::size_t n = 0; n < nodes.size(); ++n) scores[n] = marks[nodes[n]];
    return {};
  }
  Normalization normalization() const override { return Normalization::Highest; }
};

// Nodes whose marks change one at a time, so that cached scores of the others are used.
struct MarkedWorld {
  World world;
  Marks& plugin = dynamic_cast<Marks&>(world.only(std::make_unique<Marks>()));
  int changes = 0;

  void mark(const std::string& node, std::int64_t score) {
    plugin.marks[*world.cluster().findNode(node)] = score;
    world.bound(aPod("change-" + std::to_string(++changes)).nodeName(node));  // to visit the node
  }
  std::string place() { return world.place(world.pod(aPod("p"))); }
};

TEST(NodeSearch, when_the_highest_score_is_gone_the_others_are_scaled_anew) {
  MarkedWorld marked;
  for (const char* node : {"a", "b", "c"}) marked.world.node(aNode(node));
  marked.mark("a", 100);
  marked.mark("b", 40);
  EXPECT_EQ(marked.place(), "a");
  marked.mark("a", 0);
  EXPECT_EQ(marked.place(), "b");
  marked.mark("c", 10);
  EXPECT_EQ(marked.place(), "b") << "which is the highest by now";
  marked.mark("b", 5);
  EXPECT_EQ(marked.place(), "c");
}

TEST(NodeSearch, kept_scores_are_those_of_all_nodes_asked_anew) {
  Random random(7);
  MarkedWorld marked;
  for (int n = 0; n < 9; ++n) marked.world.node(aNode("n" + std::to_string(n)));
  for (int step = 0; step < 500; ++step) {
    const auto score = static_cast<std::int64_t>(random.below(5) * 25);
    marked.mark("n" + std::to_string(random.below(9)), score);
    const std::string chosen = marked.place();
    const auto anew = marked.world.scores(marked.world.pod(aPod("p")));
    std::int64_t best = 0;
    for (const auto& [node, total] : anew) best = std::max(best, total);
    ASSERT_EQ(anew.at(chosen), best) << "step " << step << " " << chosen;
  }
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
