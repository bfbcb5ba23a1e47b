#include "hostile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/virtual_loop.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace koord::bench {

namespace {

using namespace scheduler;  // NOLINT: a file of its own
using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::NodeBuilder;
using scheduler::testing::PodBuilder;
using scheduler::testing::World;

constexpr const char* kHost = "kubernetes.io/hostname";

NodeBuilder node(int n) {
  const std::string name = fmt::format("node-{}", n);
  NodeBuilder node = aNode(name);
  node.allocatable("cpu", "32").allocatable("memory", "128Gi");
  node.label(kHost, name).label("zone", fmt::format("zone-{}", n % 3));
  return node;
}

// Each pod is prepared and tried: from the object to the node or the message.
Numbers attempts(World& world, int pods, const std::function<PodBuilder(int)>& shape) {
  std::vector<double> prepared, tried;
  for (int n = 0; n < pods; ++n) {
    const auto object = shape(n).build();
    const Stopwatch preparing;
    const PodPtr pod = makePodInfo(world.cluster(), object);
    prepared.push_back(1e6 * preparing.seconds());
    const Stopwatch trying;
    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    if (!found.status.ok() && found.diagnosis.message().empty()) std::abort();
    if (found.status.ok()) (void)world.cluster().assume(pod, found.node);
    tried.push_back(1e6 * trying.seconds());
  }
  return {{"attempt_max_us", percentile(tried, 1)},
          {"attempt_p50_us", percentile(tried, 0.5)},
          {"prepare_max_us", percentile(prepared, 1)},
          {"peak_rss_mib", peakRssMib()}};
}

Benchmark of(const std::string& name, std::function<NodeBuilder(int)> nodeShape,
             std::function<PodBuilder(int)> podShape) {
  return {
      "Hostile/" + name,
      {{"nodes", 5000}, {"pods", 20}},
      [nodeShape = std::move(nodeShape), podShape = std::move(podShape)](const Numbers& params) {
        World world;
        world.configure(makeRegistry());
        for (int n = 0; n < params.at("nodes"); ++n) world.node(nodeShape(n));
        return attempts(world, static_cast<int>(params.at("pods")), podShape);
      }};
}

PodBuilder pod(int n) {
  return aPod(fmt::format("pod-{}", n)).request("cpu", "10m");
}

// Every node has taints of its own, and the pod tolerates the last of its list.
NodeBuilder tainted(int n) {
  NodeBuilder shape = node(n);
  for (int t = 0; t < 3; ++t) shape.taint(fmt::format("taint-{}", 3 * n + t), "x");
  return shape;
}
PodBuilder tolerant(int n) {
  PodBuilder shape = pod(n);
  for (int t = 0; t < 10'000; ++t) shape.toleration(fmt::format("taint-{}", 10'000 + n - t));
  return shape;
}

PodBuilder social(int n) {
  PodBuilder shape = pod(n).label("app", std::to_string(n));
  for (int t = 0; t < 5000; ++t)
    shape.apart(kHost, "app", fmt::format("{}-{}", n % 2, t), t % 2 == 0 ? 0 : 1 + t % 100);
  return shape;
}

PodBuilder picky(int n) {
  PodBuilder shape = pod(n);
  const char* const operators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  for (int t = 0; t < 5000; ++t) {
    const std::string_view op = operators[t % 6];
    std::vector<std::string> values;
    if (op == "In" || op == "NotIn") values = {fmt::format("node-{}", t), "x"};
    if (op == "Gt" || op == "Lt") values = {t % 2 == 0 ? "9223372036854775807" : "garbage"};
    shape.requireNode({{{fmt::format("{}-{}", kHost, n), std::string(op), values}}, {}});
  }
  return shape;
}

PodBuilder large(int n) {
  PodBuilder shape = pod(n);
  for (int c = 0; c < 1000; ++c)
    shape.container("img").request("cpu", "1m").hostPort(1000 + 1000 * (n % 2) + c);
  shape.object().metadata.annotations["note"] = std::string(64 << 10, 'x');
  return shape;
}

// A node that changes a hundred times a second while thousands of pods wait: what each change
// costs.
Numbers flapping(const Numbers& params) {
  VirtualLoop loop;
  SchedulerOptions options;
  options.configuration = defaultConfiguration();
  const auto scheduler = *Scheduler::create(std::move(options), makeRegistry(), loop, nullptr);
  for (int n = 0; n < params.at("nodes"); ++n) scheduler->nodeAdded(node(n).build());
  scheduler->start();
  for (int n = 0; n < params.at("pods"); ++n)
    scheduler->podAdded(aPod(fmt::format("pod-{}", n)).request("cpu", "64").build());
  loop.advance(std::chrono::seconds(60));
  const auto up = node(0).build();
  const auto down = node(0).unschedulable().taint("node.kubernetes.io/not-ready").build();
  std::vector<double> changes;
  const double cpu = cpuSeconds();
  for (int n = 0; n < 1000; ++n) {
    const Stopwatch one;
    scheduler->nodeUpdated(n % 2 == 0 ? up : down, n % 2 == 0 ? down : up);
    loop.advance(std::chrono::milliseconds(10));
    changes.push_back(1e6 * one.seconds());
  }
  return {{"change_max_us", percentile(changes, 1)},
          {"change_p50_us", percentile(changes, 0.5)},
          {"cores", (cpuSeconds() - cpu) / 10},
          {"peak_rss_mib", peakRssMib()}};
}

// A million label values over time; the memory of the last half tells whether any is kept.
Numbers manyLabels(const Numbers& params) {
  World world;
  world.configure(makeRegistry());
  double half = 0;
  std::vector<double> tried;
  const int values = static_cast<int>(params.at("values"));
  for (int n = 0; n < values; ++n) {
    if (n == values / 2) half = rssMib();
    world.node(node(n % 100).label("session", fmt::format("value-{}", n)));
    if (n % 100 != 0) continue;
    const PodPtr info = world.pod(pod(n)
                                      .label("session", fmt::format("value-{}", n))
                                      .apart(kHost, "session", fmt::format("value-{}", n))
                                      .nodeSelector("session", fmt::format("value-{}", n)));
    const Stopwatch one;
    CycleState state;
    if (!world.search().find(state, info).status.ok()) std::abort();
    tried.push_back(1e6 * one.seconds());
  }
  return {{"attempt_max_us", percentile(tried, 1)},
          {"attempt_p50_us", percentile(tried, 0.5)},
          {"grown_mib", rssMib() - half},
          {"peak_rss_mib", peakRssMib()}};
}

}  // namespace

void addHostile(std::vector<Benchmark>& all) {
  all.push_back(of("Tolerations10000", tainted, tolerant));
  all.push_back(of("AffinityTerms5000", node, social));
  all.push_back(of("SelectorTerms5000", node, picky));
  all.push_back(of("Containers1000", node, large));
  all.push_back({"Hostile/FlappingNode", {{"nodes", 5000}, {"pods", 10'000}}, flapping});
  all.push_back({"Hostile/LabelValues1000000", {{"values", 1'000'000}}, manyLabels});
}

}  // namespace koord::bench
