// What load-aware scheduling costs: the whole scheduler (queue, plugins, binding) places pods on
// nodes that all report what they use each minute, with the plugin and without it, against an API
// that binds at once.

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "bench.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"

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

// Binds by telling the scheduler what its informer would.
class InstantBinder final : public Plugin, public BindPlugin {
 public:
  explicit InstantBinder(std::function<void(const PodPtr&, const std::string&)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  Task<Status> bind(CycleState&, PodPtr pod, std::string nodeName) override {
    bound_(pod, nodeName);
    co_return Status{};
  }

 private:
  std::function<void(const PodPtr&, const std::string&)> bound_;
};

// A report of the node and of what is on it.
void report(Scheduler& scheduler, WallTime now, int n, std::uint64_t round) {
  api::NodeMetric metric;
  metric.metadata.name = nodeName(n);
  metric.status.updateTime = now;
  auto& info = metric.status.nodeMetric.emplace();
  const auto milli =
      static_cast<std::int64_t>(2000 + (round * 37 + static_cast<unsigned>(n)) % 500);
  info.nodeUsage.resources = {{"cpu", Quantity::ofMilli(milli)}, {"memory", quantity("8Gi")}};
  const Cluster& cluster = scheduler.cluster();
  for (const PodPtr& pod : cluster.node(*cluster.findNode(metric.metadata.name)).pods) {
    auto& added = metric.status.podsMetric.emplace_back();
    added.name = pod->pod->metadata.name;
    added.namespace_ = pod->pod->metadata.namespace_;
    added.podUsage.resources = {{"cpu", quantity("90m")}, {"memory", quantity("200Mi")}};
    added.priority = "koord-prod";
  }
  scheduler.stores().of<LoadReport>().set(
      std::make_shared<const LoadReport>(digest(std::move(metric))));
}

std::shared_ptr<const api::Pod> pod(int n, int classes) {
  const int c = n % classes;
  return aPod(fmt::format("pod-{}", n))
      .request("cpu", fmt::format("{}m", 100 + 5 * c))
      .request("memory", fmt::format("{}Mi", 256 + c))
      .build();
}

struct Cost {
  double seconds = 1e9;  // of CPU time
  double instructions = 0;
};

Cost costToPlace(const Numbers& params, bool loadAware) {
  VirtualLoop loop;
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>> bound;
  Registry registry = makeRegistry();
  registry["DefaultBinder"] = [&](Fields&, Handle&) -> std::unique_ptr<Plugin> {
    return std::make_unique<InstantBinder>([&](const PodPtr& pod, const std::string& node) {
      auto after = std::make_shared<api::Pod>(*pod->pod);
      after->spec.nodeName = node;
      after->metadata.resourceVersion = "2";
      bound.emplace_back(pod->pod, std::move(after));
    });
  };
  SchedulerOptions options;
  options.configuration = loadAware ? parseConfiguration(kProfile).value() : defaultConfiguration();
  const auto scheduler = Scheduler::create(std::move(options), registry, loop, nullptr).value();
  const int nodes = static_cast<int>(params.at("nodes"));
  for (int n = 0; n < nodes; ++n)
    scheduler->nodeAdded(
        aNode(nodeName(n)).allocatable("cpu", "32").allocatable("memory", "128Gi").build());
  for (int n = 0; loadAware && n < nodes; ++n) report(*scheduler, loop.wallNow(), n, 0);
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (int n = 0; n < params.at("pods"); ++n)
    pods.push_back(pod(n, static_cast<int>(params.at("classes"))));
  scheduler->start();
  loop.runReady();

  // As many reports as come in the time that the pods take.
  const auto each = static_cast<std::size_t>(params.at("pods_per_report"));
  std::size_t placed = 0, reports = 0;
  const double instructions = bench::instructions();
  const double cpu = bench::cpuSeconds();
  for (const auto& pod : pods) scheduler->podAdded(pod);
  while (placed < pods.size()) {
    loop.runReady();
    placed += bound.size();
    for (const auto& [before, after] : std::exchange(bound, {}))
      scheduler->podUpdated(before, after);
    for (; loadAware && reports < placed / each; ++reports)
      report(*scheduler, loop.wallNow(), static_cast<int>(reports) % nodes, reports);
    loop.advance(std::chrono::milliseconds(1));
  }
  return {bench::cpuSeconds() - cpu, bench::instructions() - instructions};
}

// The least of some rounds: other programs on the machine are hardly measured.
Numbers loadAware(const Numbers& params) {
  const double pods = params.at("pods");
  Cost without, with;
  for (int round = 0; round < 5; ++round) {
    const auto take = [](Cost& least, const Cost& cost) {
      if (cost.seconds < least.seconds) least = cost;
    };
    take(without, costToPlace(params, false));
    take(with, costToPlace(params, true));
  }
  Numbers metrics{{"pods_per_second_without", pods / without.seconds},
                  {"pods_per_second_with", pods / with.seconds},
                  {"cost_percent", 100 * (with.seconds / without.seconds - 1)},
                  {"peak_rss_mib", bench::peakRssMib()}};
  if (without.instructions > 0)
    metrics["cost_percent_of_instructions"] = 100 * (with.instructions / without.instructions - 1);
  return metrics;
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
