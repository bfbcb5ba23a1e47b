// The search against a plain evaluation of every plugin's rules on every node, written from the rules and
// from API objects alone: random clusters, pods and changes must give the same feasible nodes, messages
// and choices.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "api/selector.h"
#include "model/pod_requests.h"
#include "scheduler/framework/node_search.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::World;

// What the cluster looks like, as API objects.
struct Model {
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
  std::map<std::string, std::shared_ptr<const api::Pod>> pods;  // bound, by uid
};

struct Outcome {
  std::set<std::string> feasible;
  std::map<std::string, std::vector<std::string>> reasons;  // by node
  std::map<std::string, std::int64_t> totals;               // of feasible nodes
};

bool plainTolerates(const api::Pod& pod, const api::Taint& taint) {
  for (const auto& t : pod.spec.tolerations) {
    if (!t.effect.empty() && t.effect != taint.effect) continue;
    if (!t.key.empty() && t.key != taint.key) continue;
    if (t.operator_ == "Exists" || t.value == taint.value) return true;
  }
  return false;
}

std::int64_t amountIn(const api::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  if (it == list.end()) return 0;
  return name == "cpu" ? it->second.milliValue() : it->second.value();
}

class Reference {
 public:
  Reference(const Model& model, const api::Pod& pod) : model_(model), pod_(pod) {
    const auto& affinity = pod.spec.affinity;
    for (const auto& [name, node] : model_.nodes) {
      auto reasons = judge(*node);
      if (reasons.empty()) {
        outcome_.feasible.insert(name);
      } else {
        outcome_.reasons[name] = std::move(reasons);
      }
    }
    std::map<std::string, std::int64_t> taints, preferred;
    for (const auto& name : outcome_.feasible) {
      const api::Node& node = *model_.nodes.at(name);
      outcome_.totals[name] = leastAllocated(node) + balanced(node) + images(node);
      taints[name] = 0;
      for (const auto& taint : node.spec.taints)
        if (taint.effect == "PreferNoSchedule" && !plainTolerates(pod_, taint)) ++taints[name];
      preferred[name] = 0;
      if (affinity && affinity->nodeAffinity) {
        for (const auto& term : affinity->nodeAffinity->preferredDuringSchedulingIgnoredDuringExecution) {
          if (api::NodeTerm::compile(term.preference)->matches(node.metadata.labels, name))
            preferred[name] += term.weight;
        }
      }
    }
    const auto most = [](const auto& values) {
      std::int64_t max = 0;
      for (const auto& [name, value] : values) max = std::max(max, value);
      return max;
    };
    const std::int64_t mostTaints = most(taints), mostPreferred = most(preferred);
    for (const auto& name : outcome_.feasible) {
      outcome_.totals[name] += 3 * (mostTaints == 0 ? 100 : 100 - 100 * taints[name] / mostTaints);
      if (mostPreferred > 0) outcome_.totals[name] += 2 * (100 * preferred[name] / mostPreferred);
    }
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  template <class F>
  void forEachPodOn(const api::Node& node, F&& fn) const {
    for (const auto& [uid, pod] : model_.pods)
      if (pod->spec.nodeName == node.metadata.name) fn(*pod);
  }

  std::int64_t usedOf(const api::Node& node, const std::string& name) const {
    std::int64_t used = 0;
    forEachPodOn(node, [&](const api::Pod& pod) { used += amountIn(model::podRequests(pod), name); });
    return used;
  }

  std::vector<std::string> judge(const api::Node& node) const {
    if (node.spec.unschedulable &&
        !plainTolerates(pod_, {"node.kubernetes.io/unschedulable", "", "NoSchedule", {}})) {
      return {"node(s) were unschedulable"};
    }
    for (const auto& taint : node.spec.taints)
      if (taint.effect != "PreferNoSchedule" && !plainTolerates(pod_, taint))
        return {"node(s) had untolerated taint(s)"};
    if (!api::RequiredNodeAffinity(pod_.spec).matches(node.metadata.labels, node.metadata.name).value_or(false))
      return {"node(s) didn't match Pod's node affinity/selector"};
    bool portTaken = false;
    forEachPodOn(node, [&](const api::Pod& other) {
      for (const auto& a : other.spec.containers[0].ports)
        for (const auto& b : pod_.spec.containers[0].ports) portTaken |= a.hostPort == b.hostPort;
    });
    if (portTaken) return {"node(s) didn't have free ports for the requested pod ports"};
    std::vector<std::string> reasons;
    std::int64_t count = 0;
    forEachPodOn(node, [&](const api::Pod&) { ++count; });
    if (count + 1 > amountIn(node.status.allocatable, "pods")) reasons.emplace_back("Too many pods");
    const auto requests = model::podRequests(pod_);
    for (const char* name : {"cpu", "memory", "kubernetes.io/batch-cpu"}) {
      const std::int64_t wanted = amountIn(requests, name);
      if (wanted > 0 && wanted > amountIn(node.status.allocatable, name) - usedOf(node, name))
        reasons.push_back(std::string("Insufficient ") + name);
    }
    return reasons;
  }

  std::int64_t leastAllocated(const api::Node& node) const {
    std::int64_t sum = 0, weights = 0;
    for (const bool cpu : {true, false}) {
      const std::int64_t all = amountIn(node.status.allocatable, cpu ? "cpu" : "memory");
      if (all == 0) continue;
      const auto own = model::podTotals(pod_);
      std::int64_t used = cpu ? own.nonZeroMilliCpu : own.nonZeroMemory;
      forEachPodOn(node, [&](const api::Pod& other) {
        const auto totals = model::podTotals(other);
        used += cpu ? totals.nonZeroMilliCpu : totals.nonZeroMemory;
      });
      sum += used > all ? 0 : (all - used) * 100 / all;
      ++weights;
    }
    return weights == 0 ? 0 : sum / weights;
  }

  std::int64_t balanced(const api::Node& node) const {
    const auto requests = model::podRequests(pod_);
    if (amountIn(requests, "cpu") == 0 && amountIn(requests, "memory") == 0) return 0;
    std::vector<double> fractions;
    for (const char* name : {"cpu", "memory"}) {
      const std::int64_t all = amountIn(node.status.allocatable, name);
      if (all == 0) continue;
      const auto used = static_cast<double>(usedOf(node, name) + amountIn(requests, name));
      fractions.push_back(std::min(1.0, used / static_cast<double>(all)));
    }
    if (fractions.size() < 2) return 100;
    return static_cast<std::int64_t>((1 - std::abs(fractions[0] - fractions[1]) / 2) * 100);
  }

  std::int64_t images(const api::Node& node) const {
    const std::string& wanted = pod_.spec.containers[0].image;
    const auto sizeOn = [&](const api::Node& other) -> std::int64_t {
      for (const auto& image : other.status.images)
        if (image.names[0] == wanted) return image.sizeBytes;
      return 0;
    };
    if (wanted.empty() || sizeOn(node) == 0) return 0;
    std::int64_t holders = 0;
    for (const auto& [name, other] : model_.nodes) holders += sizeOn(*other) > 0;
    const double share = static_cast<double>(holders) / static_cast<double>(model_.nodes.size());
    const auto sum = static_cast<std::int64_t>(static_cast<double>(sizeOn(node)) * share);
    constexpr std::int64_t kMiB = 1 << 20;
    return 100 * (std::clamp(sum, 23 * kMiB, 1000 * kMiB) - 23 * kMiB) / (977 * kMiB);
  }

  const Model& model_;
  const api::Pod& pod_;
  Outcome outcome_;
};

std::string plainMessage(const Model& model, const Outcome& outcome) {
  std::map<std::string, int> counts;
  for (const auto& [node, reasons] : outcome.reasons)
    for (const auto& reason : reasons) ++counts[reason];
  std::vector<std::string> parts;
  for (const auto& [reason, count] : counts) parts.push_back(std::to_string(count) + " " + reason);
  std::ranges::sort(parts);
  return fmt::format("0/{} nodes are available: {}.", model.nodes.size(), fmt::join(parts, ", "));
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  NodeBuilder node(int n) {
    NodeBuilder node = aNode("n" + std::to_string(n));
    node.allocatable("cpu", pick({"1", "2", "4", "8"})).allocatable("memory", pick({"2Gi", "4Gi", "8Gi"}));
    node.allocatable("pods", pick({"2", "5", "110"}));
    if (random_.chance(0.5)) node.allocatable("kubernetes.io/batch-cpu", pick({"1000", "3000"}));
    if (random_.chance(0.7)) node.label("zone", pick({"a", "b", "c"}));
    if (random_.chance(0.5)) node.label("disk", pick({"ssd", "hdd"}));
    if (random_.chance(0.3)) node.label("rank", pick({"1", "5", "9"}));
    if (random_.chance(0.2)) node.taint("t", pick({"x", "y"}), pick({"NoSchedule", "PreferNoSchedule"}));
    if (random_.chance(0.1)) node.taint("u", "", "NoExecute");
    if (random_.chance(0.1)) node.unschedulable();
    if (random_.chance(0.3)) node.image("img:1", static_cast<std::int64_t>(100 + random_.below(900)) << 20);
    return node;
  }

  // One of a few shapes, so that classes come up again.
  PodBuilder pod(int n, std::uint64_t shapes) {
    Random shape(1000 + random_.below(shapes));
    const auto one = [&](std::initializer_list<const char*> texts) {
      return std::string(texts.begin()[shape.below(texts.size())]);
    };
    PodBuilder pod = aPod("p" + std::to_string(n));
    if (shape.chance(0.8)) pod.request("cpu", one({"100m", "500m", "1", "3"}));
    if (shape.chance(0.6)) pod.request("memory", one({"256Mi", "1Gi", "3Gi"}));
    if (shape.chance(0.2)) pod.request("kubernetes.io/batch-cpu", one({"500", "2000"}));
    if (shape.chance(0.2)) pod.image("img:1");
    if (shape.chance(0.15)) pod.hostPort(static_cast<std::int32_t>(8000 + shape.below(2)));
    if (shape.chance(0.3)) pod.toleration("t", "Equal", one({"x", "y"}));
    if (shape.chance(0.2)) pod.toleration("", "Exists");
    if (shape.chance(0.2)) pod.nodeSelector("zone", one({"a", "b"}));
    if (shape.chance(0.2)) {
      const std::string op = one({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
      api::NodeSelectorTerm term;
      if (op == "In" || op == "NotIn") {
        term.matchExpressions.push_back({"disk", op, {"ssd"}});
      } else if (op == "Gt" || op == "Lt") {
        term.matchExpressions.push_back({"rank", op, {"4"}});
      } else {
        term.matchExpressions.push_back({"disk", op, {}});
      }
      pod.requireNode(term);
      if (shape.chance(0.5)) pod.requireNode({{{"zone", "In", {"a", "c"}}}, {}});
    }
    if (shape.chance(0.3)) pod.preferNode(static_cast<int>(1 + shape.below(50)), "zone", one({"a", "b", "c"}));
    if (shape.chance(0.2)) pod.preferNode(20, "disk", "ssd");
    return pod;
  }

  std::string pick(std::initializer_list<const char*> texts) { return texts.begin()[random_.below(texts.size())]; }
  Random& random() { return random_; }

 private:
  Random random_;
};

void runSeed(std::uint64_t seed) {
  Generator generate(seed);
  Random& random = generate.random();
  World world;
  ASSERT_TRUE(world.configure(makeRegistry(), "", seed).empty());
  Model model;
  const std::uint64_t shapes = 1 + random.below(6);
  const auto addNode = [&](int n) {
    const NodeBuilder node = generate.node(n);
    world.node(node);
    model.nodes["n" + std::to_string(n)] = node.build();
  };
  const int nodes = static_cast<int>(1 + random.below(90));
  for (int n = 0; n < nodes; ++n) addNode(n);

  for (int step = 0; step < 120; ++step) {
    const double dice = random.unit();
    if (dice < 0.06) {
      addNode(static_cast<int>(random.below(nodes + 10)));
      continue;
    }
    if (dice < 0.09 && model.nodes.size() > 1) {
      auto gone = std::next(model.nodes.begin(), static_cast<long>(random.below(model.nodes.size())));
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
          (void)world.cluster().assume(world.pod(generate.pod(90'000 + static_cast<int>(node), shapes)), node);
      });
      continue;
    }
    PodBuilder builder = generate.pod(step, shapes);
    const PodPtr pod = world.pod(builder);
    const Reference reference(model, *pod->pod);
    const Outcome& expected = reference.outcome();

    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    ASSERT_EQ(found.feasible, expected.feasible.size()) << "seed " << seed << " step " << step;
    if (expected.feasible.empty()) {
      ASSERT_EQ(found.diagnosis.message(), plainMessage(model, expected)) << "seed " << seed << " step " << step;
      continue;
    }
    std::int64_t best = -1;
    for (const auto& [name, total] : expected.totals) best = std::max(best, total);
    const std::string chosen = world.cluster().node(found.node).name;
    if (expected.feasible.size() > 1) {
      ASSERT_EQ(expected.totals.at(chosen), best) << "seed " << seed << " step " << step << " node " << chosen;
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
      ASSERT_EQ(table->totals[n], expected.totals.at(name)) << "seed " << seed << " step " << step << " " << name;
    }
    builder.nodeName(chosen);
    ASSERT_TRUE(world.cluster().assume(pod, found.node));
    const auto boundObject = builder.build();
    model.pods[pod->uid()] = boundObject;
    if (random.chance(0.7)) world.cluster().observePod(makePodInfo(world.cluster(), boundObject), chosen);
    if (step % 10 == 0)
      world.cluster().live().forEach([&](NodeId node) { ASSERT_EQ(world.cluster().verifyNode(node), ""); });
  }
}

TEST(NodeSearch, agrees_with_a_plain_evaluation_of_every_plugin_on_every_node) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
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
    for (int p = 0; p < 64; ++p) chosen.push_back(world.place(world.pod(aPod("p").request("cpu", "1"))));
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
    return world.pod(aPod("p").request("cpu", cpu).requireNode({{}, {{"metadata.name", "In", {"n2"}}}}));
  };
  EXPECT_EQ(world.place(pinned("1")), "n2");
  EXPECT_EQ(world.place(pinned("2")),
            "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

}  // namespace
}  // namespace koord::scheduler
