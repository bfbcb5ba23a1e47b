// What load-aware scheduling costs: the engine places pods on nodes that all report what they use
// each minute, with the plugin and without it.

#include <fmt/format.h>

#include "bench.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::quantity;

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    filter: {enabled: [{name: LoadAwareScheduling}]}
    score: {enabled: [{name: LoadAwareScheduling, weight: 1}]}
    reserve: {enabled: [{name: LoadAwareScheduling}]}
)";

std::string nodeName(int n) {
  return fmt::format("node-{}", n);
}

// A report of the node and of what is on it.
void report(scheduler::testing::World& world, int n, std::uint64_t round) {
  auto metric = std::make_shared<api::NodeMetric>();
  metric->metadata.name = nodeName(n);
  metric->status.updateTime = world.loop().wallNow();
  auto& info = metric->status.nodeMetric.emplace();
  const auto milli =
      static_cast<std::int64_t>(2000 + (round * 37 + static_cast<unsigned>(n)) % 500);
  info.nodeUsage.resources = {{"cpu", Quantity::ofMilli(milli)}, {"memory", quantity("8Gi")}};
  const auto node = world.cluster().findNode(metric->metadata.name);
  for (const PodPtr& pod : world.cluster().node(*node).pods) {
    auto& added = metric->status.podsMetric.emplace_back();
    added.name = pod->pod->metadata.name;
    added.namespace_ = pod->pod->metadata.namespace_;
    added.podUsage.resources = {{"cpu", quantity("90m")}, {"memory", quantity("200Mi")}};
    added.priority = "koord-prod";
  }
  world.stores().of<api::NodeMetric>().set(std::move(metric));
}

PodPtr pod(scheduler::testing::World& world, int n, int classes) {
  const int c = n % classes;
  return world.pod(aPod(fmt::format("pod-{}", n))
                       .request("cpu", fmt::format("{}m", 100 + 5 * c))
                       .request("memory", fmt::format("{}Mi", 256 + c)));
}

// Pods are placed, told to the plugin and seen as bound, as in the whole scheduler.
double secondsToPlace(const Numbers& params, bool loadAware) {
  scheduler::testing::World world;
  const auto problems = world.configure(makeRegistry(), loadAware ? kProfile : "");
  if (!problems.empty()) throw std::runtime_error(problems.front());
  const int nodes = static_cast<int>(params.at("nodes"));
  const int classes = static_cast<int>(params.at("classes"));
  for (int n = 0; n < nodes; ++n)
    world.node(aNode(nodeName(n)).allocatable("cpu", "32").allocatable("memory", "128Gi"));
  for (int n = 0; loadAware && n < nodes; ++n) report(world, n, 0);
  std::vector<PodPtr> pods;
  for (int n = 0; n < params.at("pods"); ++n) pods.push_back(pod(world, n, classes));
  // As many reports as come in the time that the pods take.
  const auto each = static_cast<std::size_t>(params.at("pods_per_report"));
  const bench::Stopwatch all;
  for (std::size_t n = 0; n < pods.size(); ++n) {
    CycleState state;
    const SearchResult found = world.search().find(state, pods[n]);
    if (!found.status.ok()) continue;
    if (!world.cluster().assume(pods[n], found.node)) continue;
    for (const auto& plugin : world.profile().reserve)
      (void)plugin.point->reserve(state, pods[n], found.node);
    world.cluster().observePod(pods[n], world.cluster().node(found.node).name);
    if (loadAware && n % each == 0) report(world, static_cast<int>(n / each) % nodes, n);
  }
  return all.seconds();
}

Numbers loadAware(const Numbers& params) {
  const double pods = params.at("pods");
  double without = 1e9, with = 1e9;
  for (int round = 0; round < 3; ++round) {
    without = std::min(without, secondsToPlace(params, false));
    with = std::min(with, secondsToPlace(params, true));
  }
  return {{"pods_per_second_without", pods / without},
          {"pods_per_second_with", pods / with},
          {"cost_percent", 100 * (with - without) / without},
          {"peak_rss_mib", bench::peakRssMib()}};
}

}  // namespace

int main(int argc, char** argv) {
  // 5,000 reports a minute are 83 a second: one for 240 pods at 20,000 pods a second.
  return bench::runAll(
      argc, argv,
      {{"LoadAware/OneClass",
        {{"nodes", 5000}, {"pods", 50'000}, {"classes", 1}, {"pods_per_report", 240}},
        loadAware},
       {"LoadAware/Mixed",
        {{"nodes", 5000}, {"pods", 50'000}, {"classes", 20}, {"pods_per_report", 240}},
        loadAware}});
}
