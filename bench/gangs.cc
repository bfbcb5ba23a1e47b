// Gangs, by the whole scheduler with its queue, on an API that binds at once.
//
//   Gang/...      a gang of `members`, of which the last one comes: the time until all are assumed,
//                 and until all are bound.
//   Gangs/...     `gangs` gangs of `members` each, all there at once: pods bound a second.
//   NetworkGang/. the same of a gang that is gathered in one of ten spines, each of them with fifty
//                 blocks; `filled` of 32 places of each node are taken.
//   UnlikeGang/.. a gang that fills the `free` nodes. Placing one member after the other does not
//                 place it: small members take every node from the large ones. With `unlike` 0 all
//                 members are large (the baseline).
//   UnlikeUnfit/. the CPU time of an attempt of such a gang with one member too many.
//   GangsUnfit/.. `gangs` gangs that fit nowhere: the CPU time of a minute in which nothing
//                 changes, and of placing `pods` plain pods beside them.

#include "gangs.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/network_topology.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/builders.h"

namespace koord::bench {

namespace {

using namespace koord::scheduler;  // NOLINT: a file of its own
using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::NodeBuilder;
using scheduler::testing::PodBuilder;

constexpr const char* kLabel = "pod-group.scheduling.sigs.k8s.io";

class Binder final : public Plugin, public BindPlugin {
 public:
  explicit Binder(std::function<void(const PodPtr&, const std::string&)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool writesAnnotations() const override { return true; }
  Task<Status> bind(CycleState&, PodPtr pod, std::string nodeName) override {
    bound_(pod, nodeName);
    co_return Status{};
  }

 private:
  std::function<void(const PodPtr&, const std::string&)> bound_;
};

struct Bed : Observer {
  VirtualLoop loop;
  Registry registry = makeRegistry();
  std::unique_ptr<Scheduler> scheduler;
  std::size_t bound = 0;
  std::function<void()> onGroup;  // a group has been tried
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>>
      confirmations;

  explicit Bed(int nodes, bool network = false) {
    registry["DefaultBinder"] = [this](Fields&, Handle&) -> std::unique_ptr<Plugin> {
      return std::make_unique<Binder>([this](const PodPtr& pod, const std::string& node) {
        auto after = std::make_shared<api::Pod>(*pod->pod);
        after->spec.nodeName = node;
        after->metadata.resourceVersion = "2";
        confirmations.emplace_back(pod->pod, std::move(after));
        ++bound;
      });
    };
    SchedulerOptions options;
    options.configuration = defaultConfiguration();
    options.configuration.profiles.front().plugins["multiPoint"].enabled.push_back(
        {"Coscheduling", 0});
    if (network) {
      options.configuration.profiles.front().pluginConfig.push_back(
          {"Coscheduling", json::object{{"awareNetworkTopology", true}}, "args"});
    }
    scheduler = *Scheduler::create(std::move(options), registry, loop, nullptr, this);
    for (int n = 0; n < nodes; ++n) scheduler->nodeAdded(node(n).build());
    scheduler->start();
  }
  static NodeBuilder node(int n) {
    NodeBuilder node = aNode(fmt::format("node-{}", n));
    node.allocatable("cpu", "32").allocatable("memory", "128Gi").allocatable("pods", "110");
    node.label("kubernetes.io/hostname", fmt::format("node-{}", n));
    node.label("spine", fmt::format("s{}", n % 10)).label("block", fmt::format("b{}", n % 500));
    return node;
  }
  void groupCycle(std::string_view, std::size_t, Duration) override {
    if (onGroup) onGroup();
  }
  void topology() {
    auto object = api::decodeText<api::ClusterNetworkTopology>(
        R"({"metadata": {"name": "default"}, "spec": {"networkTopologySpec": [
            {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
            {"topologyLayer": "BlockLayer", "labelKey": ["block"], "parentTopologyLayer": "SpineLayer"},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"}]}})");
    scheduler->stores().of<api::ClusterNetworkTopology>().set(
        std::make_shared<api::ClusterNetworkTopology>(*std::move(object)));
  }
  void gang(const std::string& name, int minimum, api::StringMap annotations = {}) {
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.name = name;
    group->metadata.namespace_ = "default";
    group->metadata.uid = name;
    group->metadata.annotations = std::move(annotations);
    group->spec.minMember = minimum;
    scheduler->stores().of<api::PodGroup>().set(std::move(group));
  }
  static std::shared_ptr<const api::Pod> member(const std::string& gang, int n,
                                                const char* cpu = "100m") {
    return aPod(fmt::format("{}-{}", gang, n))
        .label(kLabel, gang)
        .request("cpu", cpu)
        .request("memory", "500Mi")
        .build();
  }
  void settle(std::size_t goal) {
    while (bound < goal) {
      loop.runReady();
      for (const auto& [before, after] : std::exchange(confirmations, {}))
        scheduler->podUpdated(before, after);
      loop.advance(std::chrono::milliseconds(1));
    }
  }
};

// From the last member's coming on.
Numbers complete(Bed& bed, int members, const char* cpu) {
  for (int n = 1; n < members; ++n) bed.scheduler->podAdded(Bed::member("g", n, cpu));
  bed.loop.runReady();
  const auto last = Bed::member("g", 0, cpu);
  double assumed = 0, assumedCpu = 0;
  const double cpuBefore = cpuSeconds();
  const Stopwatch all;
  bed.onGroup = [&] {
    assumed = all.seconds();
    assumedCpu = cpuSeconds() - cpuBefore;
  };
  bed.scheduler->podAdded(last);
  bed.settle(static_cast<std::size_t>(members));
  return {{"all_assumed_ms", 1000 * assumed},
          {"all_assumed_cpu_ms", 1000 * assumedCpu},
          {"all_bound_ms", 1000 * all.seconds()}};
}

Numbers oneGang(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")));
  const int members = static_cast<int>(params.at("members"));
  bed.gang("g", members);
  return complete(bed, members, "100m");
}

// Two small members or a large member fill a node. Half of the nodes get large ones. On the other
// nodes no member fits.
struct UnlikeGang : Bed {
  explicit UnlikeGang(const Numbers& params) : Bed(static_cast<int>(params.at("nodes"))) {
    const int free = static_cast<int>(params.at("free"));
    for (int n = free; n < static_cast<int>(params.at("nodes")); ++n)
      scheduler->podAdded(aPod(fmt::format("pod-{}", n))
                              .request("cpu", "24")
                              .nodeName(fmt::format("node-{}", n))
                              .build());
    const bool unlike = params.at("unlike") != 0;
    for (int n = 0; unlike && n < free; ++n) pods.push_back(member("g", n, "16"));
    for (int n = 0; n < (unlike ? free / 2 : free); ++n)
      pods.push_back(member("g", free + n, "32"));
  }

  std::vector<std::shared_ptr<const api::Pod>> pods;
};

Numbers unlikeGang(const Numbers& params) {
  UnlikeGang bed(params);
  bed.gang("g", static_cast<int>(bed.pods.size()));
  const double cpu = cpuSeconds();
  const Stopwatch all;
  for (const auto& pod : bed.pods) bed.scheduler->podAdded(pod);
  bed.settle(bed.pods.size());
  return {{"members", static_cast<double>(bed.pods.size())},
          {"all_bound_ms", 1000 * all.seconds()},
          {"all_bound_cpu_ms", 1000 * (cpuSeconds() - cpu)}};
}

Numbers unlikeUnfit(const Numbers& params) {
  UnlikeGang bed(params);
  bed.pods.push_back(Bed::member("g", -1, "15"));
  bed.gang("g", static_cast<int>(bed.pods.size()));
  std::size_t tries = 0;
  bed.onGroup = [&] { ++tries; };
  for (const auto& pod : bed.pods) bed.scheduler->podAdded(pod);
  const double cpu = cpuSeconds();
  bed.loop.runReady();
  return {{"members", static_cast<double>(bed.pods.size())},
          {"tries", static_cast<double>(tries)},
          {"cpu_ms_per_try", 1000 * (cpuSeconds() - cpu) / static_cast<double>(tries)}};
}

Numbers networkGang(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")), true);
  const int members = static_cast<int>(params.at("members"));
  const std::string filled = std::to_string(static_cast<int>(params.at("filled")));
  if (filled != "0") {
    for (int n = 0; n < static_cast<int>(params.at("nodes")); ++n)
      bed.scheduler->podAdded(aPod(fmt::format("pod-{}", n))
                                  .request("cpu", filled)
                                  .nodeName(fmt::format("node-{}", n))
                                  .build());
  }
  bed.topology();
  bed.gang("g", members,
           {{"gang.scheduling.koordinator.sh/network-topology-spec",
             R"({"gatherStrategy":[{"layer":"SpineLayer","strategy":"MustGather"}]})"}});
  return complete(bed, members, "1");
}

Numbers manyGangs(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")));
  const int gangs = static_cast<int>(params.at("gangs"));
  const int members = static_cast<int>(params.at("members"));
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (int g = 0; g < gangs; ++g) {
    bed.gang(fmt::format("g{}", g), members);
    for (int n = 0; n < members; ++n) pods.push_back(Bed::member(fmt::format("g{}", g), n));
  }
  const double cpu = cpuSeconds();
  const Stopwatch all;
  for (const auto& pod : pods) bed.scheduler->podAdded(pod);
  bed.settle(pods.size());
  const double seconds = all.seconds();
  return {{"pods_per_second", static_cast<double>(pods.size()) / seconds},
          {"cpu_ms_per_pod", 1000 * (cpuSeconds() - cpu) / static_cast<double>(pods.size())}};
}

Numbers unfitGangs(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")));
  const int gangs = static_cast<int>(params.at("gangs"));
  const int members = static_cast<int>(params.at("members"));
  const int pods = static_cast<int>(params.at("pods"));
  for (int g = 0; g < gangs; ++g) {
    bed.gang(fmt::format("g{}", g), members);
    // Every other one for want of room on a node, every other one for want of room at all.
    for (int n = 0; n < members; ++n)
      bed.scheduler->podAdded(Bed::member(fmt::format("g{}", g), n, g % 2 == 0 ? "64" : "30000"));
  }
  bed.loop.advance(std::chrono::seconds(60));
  std::size_t tries = 0;
  bed.onGroup = [&] { ++tries; };
  const double idle = cpuSeconds();
  bed.loop.advance(std::chrono::seconds(60));
  const double idleCpu = cpuSeconds() - idle;
  const std::size_t idleTries = tries;
  const double busy = cpuSeconds();
  const Stopwatch all;
  for (int n = 0; n < pods; ++n)
    bed.scheduler->podAdded(
        aPod(fmt::format("pod-{}", n)).request("cpu", "100m").request("memory", "500Mi").build());
  bed.settle(static_cast<std::size_t>(pods));
  Numbers metrics{{"idle_cpu_ms_per_minute", 1000 * idleCpu},
                  {"tries_while_idle", static_cast<double>(idleTries)}};
  if (pods > 0) {
    metrics["pods_per_second"] = pods / all.seconds();
    metrics["cpu_ms_per_pod"] = 1000 * (cpuSeconds() - busy) / pods;
  }
  return metrics;
}

}  // namespace

scheduler::SchedulerConfiguration withGangs() {
  return *parseConfiguration(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: Coscheduling}, {name: DefaultPreemption}]}
)");
}

void addPreemptingGang(scheduler::Scheduler& scheduler) {
  auto group = std::make_shared<api::PodGroup>();
  group->metadata.name = "g";
  group->metadata.namespace_ = "default";
  group->metadata.uid = "g";
  group->spec.minMember = kPreemptingMembers;
  scheduler.stores().of<api::PodGroup>().set(std::move(group));
}

PodBuilder lowPodUnderGang(int n) {
  return aPod(fmt::format("pod-{}", n)).request("cpu", "7200m").request("memory", "500Mi");
}

PodBuilder preemptingMember(int n) {
  return aPod(fmt::format("pod-{}", n))
      .label(kLabel, "g")
      .request("cpu", "24")
      .request("memory", "500Mi")
      .priority(10);
}

void addGangs(std::vector<Benchmark>& all) {
  all.push_back({"Gang/5000Nodes_1000Members", {{"nodes", 5000}, {"members", 1000}}, oneGang});
  all.push_back({"Gangs/5000Nodes_1000GangsOf8",
                 {{"nodes", 5000}, {"gangs", 1000}, {"members", 8}},
                 manyGangs});
  for (const int unlike : {0, 1}) {
    const Numbers params{{"nodes", 5000}, {"free", 64}, {"unlike", unlike}};
    const char* const kind = unlike != 0 ? "Unlike" : "Alike";
    all.push_back({fmt::format("UnlikeGang/5000Nodes_64Free_{}", kind), params, unlikeGang});
    all.push_back({fmt::format("UnlikeUnfit/5000Nodes_64Free_{}", kind), params, unlikeUnfit});
  }
  for (const int filled : {0, 28})
    for (const int members : {256, 1000})
      all.push_back({fmt::format("NetworkGang/5000Nodes_{}Members_{}Of32Taken", members, filled),
                     {{"nodes", 5000}, {"members", members}, {"filled", filled}},
                     networkGang});
  for (const int gangs : {0, 100})
    all.push_back({fmt::format("GangsUnfit/5000Nodes_{}GangsOf8", gangs),
                   {{"nodes", 5000}, {"gangs", gangs}, {"members", 8}, {"pods", 10'000}},
                   unfitGangs});
}

}  // namespace koord::bench
