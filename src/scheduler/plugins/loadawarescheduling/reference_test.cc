// Compares the plugin's incremental state with a plain evaluation.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "scheduler/plugins/loadawarescheduling/load_world.h"

namespace koord::scheduler {
namespace {

using testing::LoadWorld;
using testing::Reported;
using namespace std::chrono_literals;

struct Model {
  struct Pod {
    std::string node;
    std::int64_t cpu = 0;  // milli
    WallTime placed{};
  };
  struct Metric {
    std::int64_t cpu = 0;
    WallTime updated{};
    std::map<std::string, std::int64_t> pods;
  };
  std::map<std::string, Pod> pods;
  std::map<std::string, Metric> metrics;

  static std::int64_t estimate(std::int64_t cpu) {
    return cpu == 0 ? 250 : std::llround(static_cast<double>(cpu) * 0.85);
  }
  std::int64_t load(const std::string& node) const {
    const Metric& metric = metrics.at(node);
    std::int64_t sum = metric.cpu;
    for (const auto& [name, pod] : pods) {
      if (pod.node != node) continue;
      const auto usage = metric.pods.find(name);
      const bool young = metric.updated - 60s < pod.placed;
      if (usage != metric.pods.end() && !young) continue;
      const std::int64_t used = usage == metric.pods.end() ? 0 : usage->second;
      sum += std::max<std::int64_t>(0, estimate(pod.cpu) - used);
    }
    return sum;
  }
  std::string judge(const std::string& node, std::int64_t cpu, WallTime now) const {
    if (!metrics.contains(node)) return "";
    if (now - metrics.at(node).updated >= 180s) return "Unschedulable: node(s) nodeMetric expired";
    const auto share = static_cast<double>(load(node) + estimate(cpu)) / 10000 * 100;
    return std::llround(share) > 65 ? "Unschedulable: node(s) cpu usage exceed threshold" : "";
  }
  std::int64_t score(const std::string& node, std::int64_t cpu, WallTime now) const {
    if (!metrics.contains(node) || now - metrics.at(node).updated >= 180s) return 0;
    const std::int64_t used = load(node) + estimate(cpu);
    return used > 10000 ? 0 : (10000 - used) * 100 / 10000;
  }
};

struct LoadPlay {
  static LoadAwareSchedulingArgs args() {
    LoadAwareSchedulingArgs args;
    args.usageThresholds = {{"cpu", 65}};
    args.resourceWeights = {{"cpu", 1}};
    return args;
  }
  explicit LoadPlay(std::uint64_t seed) : random(seed) {
    for (const auto& node : nodes) f.node(node);
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  const std::string& anyNode() { return nodes[static_cast<std::size_t>(pick(0, 3))]; }
  WallTime now() { return f.world.loop().wallNow(); }

  void come() {
    const std::string name = "p" + std::to_string(next++);
    const Model::Pod pod{anyNode(), 100 * pick(0, 20), now()};
    const std::string cpu = std::to_string(pod.cpu) + "m";
    if (pick(0, 1) == 0) {
      f.bound(name, pod.node, cpu, pod.placed);
    } else {  // as the scheduler does
      const PodPtr info = f.world.pod(LoadWorld::pod(name, cpu));
      ASSERT_TRUE(f.world.cluster().assume(info, *f.world.cluster().findNode(pod.node)));
      CycleState state;
      f.plugin->reserve(state, info, 0);
      if (pick(0, 2) == 0) f.bound(name, pod.node, cpu, pod.placed);
    }
    model.pods[name] = pod;
  }
  void go() {
    if (model.pods.empty()) return;
    const auto it = std::next(model.pods.begin(), pick(0, static_cast<int>(model.pods.size()) - 1));
    f.world.cluster().removePod("uid-default-" + it->first);
    model.pods.erase(it);
  }
  void report() {
    const std::string node = anyNode();
    Model::Metric metric{100 * pick(0, 60), now(), {}};
    std::vector<Reported> reported;
    for (const auto& [name, pod] : model.pods) {
      if (pick(0, 3) == 0) continue;  // also of pods that are on other nodes
      metric.pods[name] = 100 * pick(0, 15);
      reported.push_back({name, std::to_string(metric.pods[name]) + "m"});
    }
    f.report(node, std::to_string(metric.cpu) + "m", "0", reported);
    model.metrics[node] = metric;
  }
  // Moves the wall clock alone: timers do not notice.
  void jump() { f.world.loop().jumpWallClock(std::chrono::seconds(pick(-200, 200))); }
  void lose() {
    const std::string node = anyNode();
    f.world.stores().of<LoadReport>().erase({"", node});
    model.metrics.erase(node);
  }
  void compare(int step) {
    const std::int64_t cpu = 100 * pick(0, 15);
    const std::string amount = std::to_string(cpu) + "m";
    for (const auto& node : nodes) {
      ASSERT_EQ(f.ask(node, amount), model.judge(node, cpu, now())) << step << " " << node;
      ASSERT_EQ(f.score(node, amount), model.score(node, cpu, now())) << step << " " << node;
      ASSERT_EQ(f.world.cluster().verifyNode(*f.world.cluster().findNode(node)), "");
    }
  }

  std::mt19937_64 random;
  const std::vector<std::string> nodes{"a", "b", "c", "d"};
  LoadWorld f{args()};
  Model model;
  int next = 0;
};

TEST(LoadAwareReference, agrees_after_any_sequence_of_events) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LoadPlay play(seed);
    for (int step = 0; step < 250; ++step) {
      switch (play.pick(0, 9)) {
        case 0:
        case 1:
        case 2:
        case 3:
          play.come();
          break;
        case 4:
        case 5:
          play.go();
          break;
        case 6:
        case 7:
          play.report();
          break;
        case 8:
          if (play.pick(0, 2) == 0) play.jump();
          play.f.pass(std::chrono::seconds(play.pick(1, 90)));
          break;
        default:
          if (play.pick(0, 3) == 0) play.lose();
      }
      play.compare(step);
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    }
  }
}

// The answers from rows (LoadRows) and the answers for a node with its own thresholds are computed
// in two ways and must be equal.
struct Twins {
  static LoadAwareSchedulingArgs args(std::uint64_t seed) {
    LoadAwareSchedulingArgs args;
    args.usageThresholds = {{"cpu", 65}, {"memory", 90}};
    if (seed % 2 == 0) args.prodUsageThresholds = {{"cpu", 55}};
    args.resourceWeights = {{"cpu", 2}, {"memory", 1}};
    args.scoreAccordingProdUsage = seed % 3 == 0;
    args.dominantResourceWeight = seed % 5 == 0 ? 1 : 0;
    return args;
  }
  explicit Twins(std::uint64_t seed) : random(seed), prodLimits(seed % 2 == 0), f(args(seed)) {
    for (const auto& node : nodes) resize(node, "10", "20Gi");
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  static std::string nameOf(const std::string& node, int pod) {
    return node + "-" + std::to_string(pod);
  }

  void resize(const std::string& name, const std::string& cpu, const std::string& memory) {
    testing::NodeBuilder node = testing::aNode(name);
    node.allocatable("cpu", cpu).allocatable("memory", memory);
    if (name == "own") {
      node.object().metadata.annotations = {
          {std::string(kAnnotationUsageThresholds),
           prodLimits
               ? R"({"usageThresholds": {"cpu": 65, "memory": 90}, "prodUsageThresholds": {"cpu": 55}})"
               : R"({"usageThresholds": {"cpu": 65, "memory": 90}})"}};
    }
    f.world.node(node);
  }
  // Including missing, invalid and giant amounts.
  void resize() {
    const std::string cpu = std::to_string(pick(0, 4) == 0 ? 0 : pick(1, 20000)) + "m";
    const int kind = pick(0, 9);
    const std::string memory = kind == 0   ? "0"
                               : kind == 1 ? std::to_string(pick(20, 60)) + "Ti"
                               : kind == 2 ? "9E"
                                           : std::to_string(pick(1, 40'000'000)) + "Ki";
    for (const auto& node : nodes) resize(node, cpu, memory);
  }
  void come() {
    const std::string cpu = std::to_string(50 * pick(0, 20)) + "m";
    pods.push_back(next++);
    for (const auto& node : nodes) f.bound(nameOf(node, pods.back()), node, cpu);
  }
  void go() {
    if (pods.empty()) return;
    const auto it = pods.begin() + pick(0, static_cast<int>(pods.size()) - 1);
    for (const auto& node : nodes) f.world.cluster().removePod("uid-default-" + nameOf(node, *it));
    pods.erase(it);
  }
  void report() {
    const std::string cpu = std::to_string(50 * pick(0, 140)) + "m";
    const std::string memory =
        pick(0, 50) == 0 ? "100Ti" : std::to_string(100 * pick(0, 200)) + "Mi";
    const int some = pick(1, 3);
    const std::string used = std::to_string(50 * pick(0, 10)) + "m";
    for (const auto& node : nodes) {
      std::vector<Reported> reported;
      for (const int pod : pods)
        if (pod % some == 0) reported.push_back({nameOf(node, pod), used, pod % 2 == 0});
      f.report(node, cpu, memory, reported);
    }
  }

  std::mt19937_64 random;
  const bool prodLimits;
  const std::vector<std::string> nodes{"plain", "own"};
  LoadWorld f;
  std::vector<int> pods;
  int next = 0;
};

TEST(LoadAwareReference, a_node_that_says_itself_what_the_arguments_say_is_judged_alike) {
  int hot = 0, cool = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Twins twins(seed);
    for (int step = 0; step < 200; ++step) {
      const int what = twins.pick(0, 7);
      if (what < 2) {
        twins.come();
      } else if (what == 2) {
        twins.go();
      } else if (what < 5) {
        twins.report();
      } else if (what == 5) {
        twins.resize();
      } else {
        if (twins.pick(0, 9) == 0)
          twins.f.world.loop().jumpWallClock(std::chrono::seconds(twins.pick(-200, 200)));
        twins.f.pass(std::chrono::seconds(twins.pick(1, 60)));
      }
      const int most = twins.pick(0, 9) == 0 ? 160 : 20;
      const std::string cpu = std::to_string(50 * twins.pick(0, most)) + "m";
      const std::string answer = twins.f.ask("plain", cpu);
      ASSERT_EQ(answer, twins.f.ask("own", cpu)) << seed << " " << step;
      ASSERT_EQ(twins.f.score("plain", cpu), twins.f.score("own", cpu)) << seed << " " << step;
      ++(answer.empty() ? cool : hot);
    }
  }
  EXPECT_GT(hot, 500);
  EXPECT_GT(cool, 500);
}

}  // namespace
}  // namespace koord::scheduler
