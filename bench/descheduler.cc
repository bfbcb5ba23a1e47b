// What a cycle of koord-descheduler costs: all plugins over 5,000 nodes and 150,000 pods of
// deployments, with their NodeMetrics, from an API that only lists. One node in a hundred is hot,
// one pod in a thousand breaks some rule; a dry run, so that what is measured is the looking.

#include <fmt/format.h>

#include "base/time.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/plugins/registry.h"

namespace {

using namespace koord;               // NOLINT: a program of its own
using namespace koord::descheduler;  // NOLINT
using bench::Numbers;

constexpr const char* kConfiguration = R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
dryRun: true
profiles:
- name: all
  plugins:
    evict: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}
    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}
    deschedule:
      enabled: [{name: PodLifeTime}, {name: RemoveFailedPods}, {name: RemovePodsHavingTooManyRestarts},
        {name: RemovePodsViolatingInterPodAntiAffinity}, {name: RemovePodsViolatingNodeAffinity},
        {name: RemovePodsViolatingNodeTaints}]
    balance:
      enabled: [{name: LowNodeLoad}, {name: RemoveDuplicates}, {name: LowNodeUtilization},
        {name: HighNodeUtilization}, {name: RemovePodsViolatingTopologySpreadConstraint},
        {name: CustomPriority}, {name: FragmentationAware}, {name: ScaleDownBinPack}]
  pluginConfig:
  - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 864000, labelSelector: {matchLabels: {short: 'yes'}}}}
  - {name: RemovePodsHavingTooManyRestarts, args: {podRestartThreshold: 100}}
  - name: RemovePodsViolatingNodeAffinity
    args: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}
  - name: LowNodeLoad
    args:
      lowThresholds: {cpu: 45, memory: 55}
      highThresholds: {cpu: 75, memory: 80}
      anomalyCondition: {timeout: 1m, consecutiveAbnormalities: 1, consecutiveNormalities: 1}
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 5, memory: 5, pods: 5}, targetThresholds: {cpu: 95, memory: 95, pods: 95}}
  - {name: HighNodeUtilization, args: {thresholds: {cpu: 2, memory: 2}}}
  - name: CustomPriority
    args:
      evictionOrder:
      - {name: dear, nodeSelector: {matchLabels: {tier: dear}}}
      - {name: cheap, nodeSelector: {matchLabels: {tier: cheap}}}
  - name: ScaleDownBinPack
    args: {podSelectors: [{name: shrinking, selector: {matchLabels: {shrinking: 'yes'}}}]}
)";

class NoWatch final : public kube::Watch {};

// Lists what there is, page by page; nothing ever changes.
class ListedCluster final : public kube::Api {
 public:
  ListedCluster(int nodes, int pods, WallTime now) : nodes_(nodes), pods_(pods), now_(now) {}

  Task<Result<std::string>> call(kube::Request request) override {
    if (request.verb != kube::Verb::List) co_return fail(ErrorCode::Forbidden, "listing only");
    int count = request.resource == "nodes" || request.resource == "nodemetrics" ? nodes_ : 0;
    if (request.resource == "pods") count = pods_;
    const std::string* next = api::findIn(request.query, "continue");
    const int from = next && !next->empty() ? std::stoi(*next) : 0;
    const int to = std::min(count, from + 500);
    std::string items;
    for (int i = from; i < to; ++i) {
      if (i > from) items += ',';
      items += item(request.resource, i);
    }
    co_return fmt::format(
        R"({{"kind": "List", "apiVersion": "v1", "metadata": {{"resourceVersion": "1", "continue": "{}"}}, "items": [{}]}})",
        to < count ? std::to_string(to) : "", items);
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override {
    return std::make_unique<NoWatch>();
  }

 private:
  std::string item(const std::string& resource, int i) const {
    if (resource == "pods") return pod(i);
    return resource == "nodes" ? node(i) : metric(i);
  }

  std::string node(int i) const {
    return fmt::format(
        R"({{"metadata": {{"name": "node-{0:05}", "uid": "n{0}", "resourceVersion": "1", "labels": {{"kubernetes.io/hostname":
          "node-{0:05}", "zone": "z{1}", "tier": "{2}"}}}}, "spec": {{{3}}}, "status": {{"allocatable": {{"cpu": "32", "memory":
          "128Gi", "pods": "110"}}, "conditions": [{{"type": "Ready", "status": "True"}}]}}}})",
        i, i % 3, i % 100 == 7 ? "dear" : "",
        i % 1000 == 5 ? R"("taints": [{"key": "k", "effect": "NoSchedule"}])" : "");
  }

  std::string pod(int i) const {
    const int app = i / 20;
    std::string extra;
    if (app % 10 == 0)
      extra = fmt::format(
          R"("topologySpreadConstraints": [{{"maxSkew": 5, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {{"matchLabels": {{"app": "app-{}"}}}}}}],)",
          app);
    if (app % 10 == 1)
      extra = fmt::format(
          R"("affinity": {{"podAntiAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution": [{{"topologyKey":
            "kubernetes.io/hostname", "labelSelector": {{"matchLabels": {{"app": "app-{}"}}}}}}]}}}},)",
          app);
    if (app % 10 == 2)
      extra =
          R"("affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
            [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}},)";
    return fmt::format(
        R"({{"metadata": {{"name": "app-{0}-5d4f8b9c7d-{1:05}", "namespace": "team-{2}", "uid": "8b0c1f0e-0000-4000-8000-{1:012}",
          "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {{"app": "app-{0}",
          "pod-template-hash": "5d4f8b9c7d"}}, "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name":
          "app-{0}-5d4f8b9c7d", "uid": "2f0c1f0e-0000-4000-8000-{0:012}", "controller": true}}]}}, "spec": {{{3} "nodeName":
          "node-{4:05}", "schedulerName": "koord-scheduler", "priority": 9500, "containers": [{{"name": "main", "image":
          "registry/app-{0}:1", "command": ["/serve", "--port=8080"], "resources": {{"requests": {{"cpu": "500m", "memory":
          "1Gi"}}, "limits": {{"cpu": "1", "memory": "1Gi"}}}}}}]}}, "status": {{"phase": "Running", "conditions":
          [{{"type": "Ready", "status": "True"}}], "containerStatuses": [{{"name": "main", "ready": true, "restartCount":
          {5}, "image": "registry/app-{0}:1", "imageID": "sha256:0123", "state": {{"running": {{}}}}}}]}}}})",
        app, i, app % 50, extra, (i * 7) % nodes_, i % 1000 == 3 ? 200 : 0);
  }

  std::string metric(int i) const {
    std::string pods;
    const int each = i % 100 == 0 ? 900 : 400;
    // Pod p runs on node (p * 7) % nodes.
    for (int p = 0; p < pods_ / nodes_; ++p) {
      const int index = inverse(i) + p * nodes_;
      pods += fmt::format(
          R"({}{{"namespace": "team-{}", "name": "app-{}-5d4f8b9c7d-{:05}", "podUsage": {{"resources": {{"cpu": "{}m", "memory":
            "1Gi"}}}}}})",
          p == 0 ? "" : ",", index / 20 % 50, index / 20, index, each);
    }
    return fmt::format(
        R"({{"metadata": {{"name": "node-{:05}", "uid": "m", "resourceVersion": "1"}}, "status": {{"updateTime": "{}",
          "nodeMetric": {{"systemUsage": {{"resources": {{"cpu": "1", "memory": "2Gi"}}}}}}, "podsMetric": [{}]}}}})",
        i, formatTime(now_), pods);
  }
  int inverse(int node) const {
    for (int i = 0; i < nodes_; ++i)
      if ((i * 7) % nodes_ == node) return i;
    return 0;
  }

  int nodes_;
  int pods_;
  WallTime now_;
};

Task<void> runCycle(Descheduler& descheduler, std::optional<Result<>>* done) {
  auto task = descheduler.cycle();
  auto result = co_await task;
  *done = std::move(result);
}

Numbers measure(const Numbers& params) {
  VirtualLoop loop;
  const auto nodes = static_cast<int>(params.at("nodes"));
  const auto pods = static_cast<int>(params.at("pods"));
  ListedCluster api(nodes, pods, loop.wallNow());
  const Registry registry = makeRegistry();
  Metrics metrics;
  std::vector<std::string> errors;
  auto prepared = prepare(readConfiguration(kConfiguration, errors), registry, errors);
  for (const auto& error : errors) fmt::print(stderr, "{}\n", error);
  if (!errors.empty()) return {};
  const double rssBefore = bench::rssMib();
  Descheduler descheduler(api, loop, Random(1), Descheduler::Options{std::move(prepared)}, registry,
                          metrics);
  descheduler.start();  // runs the first cycle
  loop.advanceUntil([&] { return descheduler.started(); }, std::chrono::minutes(5));
  const double rssListed = bench::rssMib();
  const auto planned = static_cast<double>(descheduler.journal().all().size());
  double best = 1e9;
  double sum = 0;
  constexpr int kRounds = 5;
  for (int i = 0; i < kRounds; ++i) {
    std::optional<Result<>> done;
    TaskGroup tasks;
    const double before = bench::cpuSeconds();
    tasks.spawn(runCycle(descheduler, &done));
    loop.advanceUntil([&] { return done.has_value(); }, std::chrono::seconds(10));
    const double took = (bench::cpuSeconds() - before) * 1000;
    best = std::min(best, took);
    sum += took;
  }
  return {{"cycle_cpu_ms", sum / kRounds},
          {"cycle_cpu_ms_best", best},
          {"planned", planned},
          {"rss_mib", bench::rssMib()},
          {"peak_rss_mib", bench::peakRssMib()},
          {"rss_after_list_mib", rssListed},
          {"rss_before_mib", rssBefore}};
}

}  // namespace

int main(int argc, char** argv) {
  return bench::runAll(argc, argv,
                       {{"descheduler_cycle", {{"nodes", 5000}, {"pods", 150000}}, measure}});
}
