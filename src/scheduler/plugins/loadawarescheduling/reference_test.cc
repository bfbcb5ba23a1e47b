// What the plugin keeps up to date step by step, against a plain evaluation of all of it.

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

struct Play {
  static LoadAwareSchedulingArgs args() {
    LoadAwareSchedulingArgs args;
    args.usageThresholds = {{"cpu", 65}};
    args.resourceWeights = {{"cpu", 1}};
    return args;
  }
  explicit Play(std::uint64_t seed) : random(seed) {
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
      if (pick(0, 3) == 0) continue;  // also of pods that are elsewhere
      metric.pods[name] = 100 * pick(0, 15);
      reported.push_back({name, std::to_string(metric.pods[name]) + "m"});
    }
    f.report(node, std::to_string(metric.cpu) + "m", "0", reported);
    model.metrics[node] = metric;
  }
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
    Play play(seed);
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

}  // namespace
}  // namespace koord::scheduler
