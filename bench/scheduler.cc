// The scheduling engine by itself, on the workloads of Kubernetes' scheduler_perf: no API server,
// no decoding. "Engine/..." is the search for a node plus counting the pod there;
// "SchedulingBasic/..." and the others run the whole scheduler with its queue, on an API that binds
// at once.

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "bench.h"
#include "gangs.h"
#include "hostile.h"
#include "kube/api.h"
#include "quotas.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/reservation_object.h"
#include "scheduler/testing/reservations.h"
#include "scheduler/testing/world.h"
#include "what_if.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aNode;
using scheduler::testing::aPod;
using scheduler::testing::NodeBuilder;
using scheduler::testing::PodBuilder;

NodeBuilder node(int n) {
  NodeBuilder node = aNode(fmt::format("node-{}", n));
  node.allocatable("cpu", "32").allocatable("memory", "128Gi").allocatable("pods", "110");
  node.label("kubernetes.io/hostname", fmt::format("node-{}", n));
  node.label("topology.kubernetes.io/zone", fmt::format("zone-{}", n % 3));
  node.label("disk", n % 2 == 0 ? "ssd" : "hdd");
  if (n % 50 == 0) node.taint("dedicated", "batch", "PreferNoSchedule");
  return node;
}

// Pods of one of `classes` shapes.
PodBuilder pod(int n, int classes) {
  const int c = n % classes;
  PodBuilder pod = aPod(fmt::format("pod-{}", n));
  if (classes == 1) {
    pod.request("cpu", "100m").request("memory", "500Mi");
    return pod;
  }
  pod.request("cpu", fmt::format("{}m", 100 + 10 * (c % 20)))
      .request("memory", fmt::format("{}Mi", 256 + c));
  if (c % 5 == 1) pod.nodeSelector("disk", "ssd");
  if (c % 7 == 1) pod.preferNode(10, "topology.kubernetes.io/zone", fmt::format("zone-{}", c % 3));
  if (c % 11 == 1) pod.toleration("dedicated");
  if (c % 13 == 1) pod.requireNode({{{"topology.kubernetes.io/zone", "NotIn", {"zone-1"}}}, {}});
  return pod;
}

Numbers results(std::size_t pods, double seconds, double cpu, std::vector<double>& attempts) {
  Numbers metrics{{"pods_per_second", static_cast<double>(pods) / seconds},
                  {"cpu_ms_per_pod", 1000 * cpu / static_cast<double>(pods)},
                  {"peak_rss_mib", bench::peakRssMib()}};
  if (!attempts.empty()) {
    metrics["attempt_p50_us"] = bench::percentile(attempts, 0.5);
    metrics["attempt_p99_us"] = bench::percentile(attempts, 0.99);
    metrics["attempt_max_us"] = bench::percentile(attempts, 1);
  }
  return metrics;
}

Numbers engine(const Numbers& params) {
  scheduler::testing::World world;
  world.configure(makeRegistry());
  for (int n = 0; n < params.at("nodes"); ++n) world.node(node(n));
  std::vector<PodPtr> pods;
  for (int n = 0; n < params.at("pods"); ++n)
    pods.push_back(world.pod(pod(n, static_cast<int>(params.at("classes")))));
  std::vector<double> attempts;
  attempts.reserve(pods.size());
  std::size_t placed = 0;
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  for (const PodPtr& pod : pods) {
    const bench::Stopwatch one;
    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    if (found.status.ok()) placed += world.cluster().assume(pod, found.node).has_value();
    attempts.push_back(1e6 * one.seconds());
  }
  return results(placed, all.seconds(), bench::cpuSeconds() - cpu, attempts);
}

// Binds by telling the scheduler what its informer would.
class InstantBinder final : public Plugin, public BindPlugin {
 public:
  explicit InstantBinder(std::function<void(const PodPtr&, const std::string&)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool binds(const PodInfo& unit) const override { return !unit.kind; }
  bool writesAnnotations() const override { return true; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string nodeName) override {
    if (!state.annotations().empty()) {
      auto annotated = std::make_shared<api::Pod>(*pod->pod);
      for (const auto& [key, value] : state.annotations())
        annotated->metadata.annotations[key] = value;
      auto info = std::make_shared<PodInfo>(*pod);
      info->pod = std::move(annotated);
      pod = std::move(info);
    }
    bound_(pod, nodeName);
    co_return Status{};
  }

 private:
  std::function<void(const PodPtr&, const std::string&)> bound_;
};

// Answers at once, and remembers which pods were deleted or nominated.
class InstantApi final : public kube::Api {
 public:
  Task<Result<std::string>> call(kube::Request request) override {
    if (request.verb == kube::Verb::Delete) deleted.push_back(request.name);
    if (request.subresource == "status") {
      const auto body = parseJson(request.body);
      const std::string_view node = textAt(*body, "status", "nominatedNodeName");
      if (!node.empty()) nominated.emplace_back(request.name, node);
    }
    co_return std::string("{}");
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override { return nullptr; }
  std::vector<std::string> deleted;
  std::vector<std::pair<std::string, std::string>> nominated;  // pod and node
};

// Pods that are there before, and pods whose placing is measured.
struct Workload {
  std::function<PodBuilder(int)> initial;
  std::function<PodBuilder(int)> measured;
  bool preempts = false;
  // Pods that are there before and fit nowhere.
  int stuck = 0;
  std::function<PodBuilder(int)> stuckPod = {};
  // Called again and again while pods are placed.
  std::function<void(Scheduler&, int round)> churn = {};
  // Instead of the default one.
  std::function<SchedulerConfiguration()> configuration = {};
  // Called once, before pods come.
  std::function<void(Scheduler&)> prepare = {};
};

Numbers whole(const Numbers& params, const Workload& workload) {
  VirtualLoop loop;
  InstantApi api;
  std::unique_ptr<Scheduler> scheduler;
  std::size_t bound = 0;
  // When there are victims:
  std::unordered_map<std::string, std::shared_ptr<const api::Pod>> pending, running;
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>>
      confirmations;
  Registry registry = makeRegistry();
  registry["DefaultBinder"] = [&](Fields&, Handle&) -> std::unique_ptr<Plugin> {
    return std::make_unique<InstantBinder>([&](const PodPtr& pod, const std::string& nodeName) {
      auto after = std::make_shared<api::Pod>(*pod->pod);
      after->spec.nodeName = nodeName;
      after->metadata.resourceVersion = "2";
      if (workload.preempts) running[pod->pod->metadata.name] = after;
      confirmations.emplace_back(pod->pod, std::move(after));
      ++bound;
    });
  };
  SchedulerOptions options;
  options.configuration =
      workload.configuration ? workload.configuration() : defaultConfiguration();
  scheduler =
      *Scheduler::create(std::move(options), registry, loop, workload.preempts ? &api : nullptr);
  for (int n = 0; n < params.at("nodes"); ++n) scheduler->nodeAdded(node(n).build());
  const auto place = [&](const std::vector<std::shared_ptr<const api::Pod>>& pods) {
    const std::size_t goal = bound + pods.size();
    for (const auto& pod : pods) {
      scheduler->podAdded(pod);
      if (workload.preempts) pending[pod->metadata.name] = pod;
    }
    for (int round = 0; bound < goal; ++round) {
      if (workload.churn) workload.churn(*scheduler, round);
      loop.runReady();
      for (const auto& [name, nodeName] : std::exchange(api.nominated, {})) {
        auto& slot = pending.at(name);
        auto after = std::make_shared<api::Pod>(*slot);
        after->status.nominatedNodeName = nodeName;
        after->metadata.resourceVersion += "n";
        scheduler->podUpdated(std::exchange(slot, after), after);
      }
      for (const auto& [before, after] : std::exchange(confirmations, {}))
        scheduler->podUpdated(before, after);
      for (const auto& victim : std::exchange(api.deleted, {})) {
        scheduler->podDeleted(running.at(victim));
        running.erase(victim);
      }
      loop.advance(std::chrono::milliseconds(1));
    }
  };
  std::vector<std::shared_ptr<const api::Pod>> pods;
  const int initial = params.contains("initial") ? static_cast<int>(params.at("initial")) : 0;
  for (int n = 0; n < initial; ++n) pods.push_back(workload.initial(n).build());
  if (workload.prepare) workload.prepare(*scheduler);
  scheduler->start();
  place(pods);
  pods.clear();
  for (int n = 0; n < workload.stuck; ++n) scheduler->podAdded(workload.stuckPod(n).build());
  loop.runReady();
  for (int n = 0; n < params.at("pods"); ++n)
    pods.push_back(workload.measured(initial + n).build());
  const double instructions = bench::instructions();
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  place(pods);
  std::vector<double> none;
  Numbers metrics = results(pods.size(), all.seconds(), bench::cpuSeconds() - cpu, none);
  metrics["instructions_per_pod"] =
      (bench::instructions() - instructions) / static_cast<double>(pods.size());
  return metrics;
}

bench::Benchmark ofClasses(const std::string& name, const Numbers& params, int classes) {
  const auto shape = [classes](int n) { return pod(n, classes); };
  return {name, params, [shape](const Numbers& given) { return whole(given, {shape, shape}); }};
}

// Everything that Koordinator's shipped configuration enables, for pods that use nothing of it.
SchedulerConfiguration shippedProfile() {
  return *parseConfiguration(shippedConfiguration({"default-scheduler"}));
}
PodBuilder coloured(int n, const std::string& color) {
  return pod(n, 1).label("color", color);
}
PodBuilder plain(int n) {
  return pod(n, 1);
}

bench::Benchmark social(const std::string& name, int nodes, int initial, int pods,
                        const Workload& workload) {
  Numbers params{{"nodes", nodes}, {"initial", initial}, {"pods", pods}};
  return {fmt::format("{}/{}Nodes_{}Pods", name, nodes, pods), std::move(params),
          [workload](const Numbers& given) { return whole(given, workload); }};
}

Numbers unschedulable(const Numbers& params) {
  scheduler::testing::World world;
  world.configure(makeRegistry());
  for (int n = 0; n < params.at("nodes"); ++n) world.node(node(n));
  std::vector<double> attempts;
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  const int count = static_cast<int>(params.at("pods"));
  std::size_t length = 0;
  for (int n = 0; n < count; ++n) {
    const PodPtr info = world.pod(aPod(fmt::format("pod-{}", n)).request("cpu", "64"));
    const bench::Stopwatch one;
    CycleState state;
    const SearchResult found = world.search().find(state, info);
    length += found.diagnosis.message().size();
    attempts.push_back(1e6 * one.seconds());
  }
  Numbers metrics =
      results(static_cast<std::size_t>(count), all.seconds(), bench::cpuSeconds() - cpu, attempts);
  metrics["message_bytes"] = static_cast<double>(length) / count;
  return metrics;
}

constexpr const char* kWithReservations =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    "- schedulerName: default-scheduler\n  plugins:\n"
    "    multiPoint: {enabled: [{name: Reservation}]}\n"
    "    score: {enabled: [{name: Reservation, weight: 5000}]}\n";

// Seconds until all of them have a node.
double createReservations(Scheduler& scheduler, VirtualLoop& loop, int count, int teams) {
  auto& store = scheduler.stores().of<api::Reservation>();
  std::vector<std::shared_ptr<const api::Reservation>> objects;
  for (int n = 0; n < count; ++n) {
    objects.push_back(scheduler::testing::aReservation(fmt::format("reservation-{}", n))
                          .request("cpu", "5")
                          .request("memory", "5Gi")
                          .owner("team", std::to_string(n % teams))
                          .build());
  }
  const bench::Stopwatch creating;
  for (const auto& object : objects) store.set(object);
  std::size_t placed = 0;
  while (placed < objects.size()) {
    loop.advance(std::chrono::milliseconds(1));
    placed = 0;
    for (const auto& [key, object] : store.all()) placed += object->status.phase == "Available";
  }
  return creating.seconds();
}

// Reservations of `teams` are created and placed, then their owners come, five for each, which fill
// them; the whole scheduler, on an API that binds at once. plain: pods of no team come instead.
Numbers reservations(const Numbers& params, bool plain) {
  VirtualLoop loop;
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>>
      confirmations;
  std::size_t bound = 0;
  Registry registry = makeRegistry();
  registry["DefaultBinder"] = [&](Fields&, Handle&) -> std::unique_ptr<Plugin> {
    return std::make_unique<InstantBinder>([&](const PodPtr& unit, const std::string& nodeName) {
      auto after = std::make_shared<api::Pod>(*unit->pod);
      after->spec.nodeName = nodeName;
      after->metadata.resourceVersion = "2";
      confirmations.emplace_back(unit->pod, std::move(after));
      ++bound;
    });
  };
  SchedulerOptions options;
  options.configuration = *parseConfiguration(kWithReservations);
  const auto scheduler = *Scheduler::create(std::move(options), registry, loop, nullptr);
  for (int n = 0; n < params.at("nodes"); ++n) scheduler->nodeAdded(node(n).build());
  scheduler->start();
  const int count = static_cast<int>(params.at("reservations"));
  const int teams = static_cast<int>(params.at("teams"));
  const double created = createReservations(*scheduler, loop, count, teams);
  std::vector<std::shared_ptr<const api::Pod>> pods;
  const int owners = static_cast<int>(params.at("pods"));
  for (int n = 0; n < owners; ++n) {
    PodBuilder owner =
        aPod(fmt::format("owner-{}", n)).request("cpu", "1").request("memory", "1Gi");
    if (!plain) owner.label("team", std::to_string(n / (owners / teams) % teams));
    pods.push_back(owner.build());
  }
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  for (const auto& owner : pods) scheduler->podAdded(owner);
  while (bound < pods.size()) {
    loop.runReady();
    for (const auto& [before, after] : std::exchange(confirmations, {}))
      scheduler->podUpdated(before, after);
    loop.advance(std::chrono::milliseconds(1));
  }
  std::vector<double> none;
  Numbers metrics = results(pods.size(), all.seconds(), bench::cpuSeconds() - cpu, none);
  metrics["reservations_per_second"] = static_cast<double>(count) / created;
  std::size_t inside = 0;
  for (const auto& record : scheduler->cluster().pods())
    inside += !record.grants.empty() && !record.info->kind;
  metrics["owners_inside"] = static_cast<double>(inside);
  return metrics;
}

Numbers sized(int nodes, int pods, int classes) {
  return {{"nodes", nodes}, {"pods", pods}, {"classes", classes}};
}

bench::Benchmark withShippedProfile(int nodes, int pods, int classes) {
  const auto shape = [classes](int n) { return pod(n, classes); };
  return {fmt::format("ShippedProfile/{}Classes/{}Nodes_{}Pods", classes, nodes, pods),
          sized(nodes, pods, classes), [shape](const Numbers& given) {
            return whole(given,
                         {.initial = shape, .measured = shape, .configuration = shippedProfile});
          }};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> all;
  for (const int nodes : {500, 5000, 100'000}) {
    const int pods = nodes == 500 ? 5000 : 10'000;
    const std::string size = fmt::format("{}Nodes_{}Pods", nodes, pods);
    all.push_back({"Engine/OneClass/" + size, sized(nodes, pods, 1), engine});
    all.push_back({"Engine/MixedClasses/" + size, sized(nodes, pods, 200), engine});
    all.push_back(
        {fmt::format("Engine/NewClasses/{}Nodes_200Pods", nodes), sized(nodes, 200, 200), engine});
    all.push_back(ofClasses("SchedulingBasic/" + size, sized(nodes, pods, 1), 1));
    all.push_back(ofClasses("SchedulingMixedClasses/" + size, sized(nodes, pods, 200), 200));
    all.push_back({"Engine/Unschedulable/" + size, sized(nodes, pods, 1), unschedulable});
    const std::string host = "kubernetes.io/hostname";
    const std::string zone = "topology.kubernetes.io/zone";
    const auto apart = [host](int n) { return coloured(n, "green").apart(host, "color", "green"); };
    const auto near = [zone](int n) { return coloured(n, "blue").near(zone, "color", "blue"); };
    const auto preferNear = [host](int n) {
      return coloured(n, "red").near(host, "color", "red", 1);
    };
    const auto preferApart = [host](int n) {
      return coloured(n, "yellow").apart(host, "color", "yellow", 1);
    };
    const auto spread = [zone](int n) {
      return coloured(n, "blue").spread(5, zone, "color", "blue");
    };
    const auto preferSpread = [zone](int n) {
      return coloured(n, "blue").spread(5, zone, "color", "blue", "ScheduleAnyway");
    };
    const int few = std::min(nodes / 5, 2000);
    const int many = std::min(nodes, 5000);
    all.push_back(social("SchedulingPodAntiAffinity", nodes, few, 2 * few, {apart, apart}));
    all.push_back(social("SchedulingPodAffinity", nodes, many, many, {near, near}));
    all.push_back(
        social("SchedulingPreferredPodAffinity", nodes, many, many, {preferNear, preferNear}));
    all.push_back(social("SchedulingPreferredPodAntiAffinity", nodes, many, many,
                         {preferApart, preferApart}));
    all.push_back(social("TopologySpreading", nodes, many, many, {plain, spread}));
    const auto inZones = [zone](int n) {
      return plain(n).requireNode({{{zone, "In", {"zone-0", "zone-1"}}}, {}});
    };
    all.push_back(social("SchedulingNodeAffinity", nodes, many, many, {inZones, inZones}));
    // Pods of all kinds are there; plain ones come.
    const auto anyKind = [=](int n) {
      switch (n % 5) {
        case 0:
          return near(n);
        case 1:
          return n < 5 * few ? apart(n) : plain(n);
        case 2:
          return preferNear(n);
        case 3:
          return preferApart(n);
        default:
          return plain(n);
      }
    };
    all.push_back(social("MixedSchedulingBasePod", nodes, many, many, {anyKind, plain}));
    const auto huge = [](int n) {
      return aPod(fmt::format("huge-{}", n)).request("cpu", "900").priority(10);
    };
    all.push_back(social("Unschedulable", nodes, 0, many,
                         {.measured = plain, .stuck = 200, .stuckPod = huge}));
    // A node and a pod that fits nowhere are added and removed while others are placed.
    const auto churn = [huge](Scheduler& scheduler, int round) {
      const auto churned = aNode("churned").build();
      const auto pod = huge(round / 2).build();
      if (round % 2 == 0) {
        scheduler.nodeAdded(churned);
        scheduler.podAdded(pod);
      } else {
        scheduler.nodeDeleted(churned);
        scheduler.podDeleted(pod);
      }
    };
    all.push_back(
        social("SchedulingWithMixedChurn", nodes, 0, many, {.measured = plain, .churn = churn}));
    // Four low pods on every node; a high one takes the place of three of them.
    const auto low = [](int n) {
      return aPod(fmt::format("pod-{}", n)).request("cpu", "7200m").request("memory", "500Mi");
    };
    const auto high = [](int n) {
      return aPod(fmt::format("pod-{}", n))
          .request("cpu", "24")
          .request("memory", "500Mi")
          .priority(10);
    };
    all.push_back(social("Preemption", many, 4 * many, many, {low, high, true}));
    all.push_back(social("PreferredTopologySpreading", nodes, many, many, {plain, preferSpread}));
  }
  for (const int teams : {1, 20, 2000}) {
    const Numbers params{
        {"nodes", 5000}, {"reservations", 2000}, {"pods", 10'000}, {"teams", teams}};
    all.push_back({fmt::format("Reservations/5000Nodes_2000Reservations_{}Teams", teams), params,
                   [](const Numbers& given) { return reservations(given, false); }});
  }
  all.push_back({"Reservations/PlainPodsBeside",
                 {{"nodes", 5000}, {"reservations", 2000}, {"pods", 10'000}, {"teams", 20}},
                 [](const Numbers& given) { return reservations(given, true); }});
  // The same pods on both profiles; so many that the rest of a run does not count.
  for (const int classes : {1, 200}) {
    all.push_back(withShippedProfile(5000, 10'000, classes));
    all.push_back(withShippedProfile(5000, 100'000, classes));
    all.push_back(ofClasses(fmt::format("DefaultProfile/{}Classes/5000Nodes_100000Pods", classes),
                            sized(5000, 100'000, classes), classes));
  }
  bench::addHostile(all);
  const Workload inQuotas{.initial = {},
                          .measured = bench::podOfSomeQuota,
                          .configuration = bench::withQuotas,
                          .prepare = bench::addQuotaTree};
  all.push_back(social("Quotas/1000Quotas_4Levels", 5000, 0, 10'000, inQuotas));
  const Workload without{.initial = {}, .measured = bench::podOfSomeQuota};
  all.push_back(social("Quotas/PluginOff", 5000, 0, 10'000, without));
  const Workload inOne{.initial = bench::lowPodOfQuota,
                       .measured = bench::highPodOfQuota,
                       .preempts = true,
                       .configuration = bench::withQuotas,
                       .prepare = bench::addOneQuota};
  all.push_back(social("Quotas/Preemption_20000Victims", 5000, 20'000, 5000, inOne));
  const Workload gang{.initial = bench::lowPodUnderGang,
                      .measured = bench::preemptingMember,
                      .preempts = true,
                      .configuration = bench::withGangs,
                      .prepare = bench::addPreemptingGang};
  for (const int nodes : {100, 1000})
    all.push_back(social("GangPreemption", nodes, 4 * nodes, bench::kPreemptingMembers, gang));
  bench::addQuotaTreeBenchmarks(all);
  bench::addGangs(all);
  bench::addWhatIf(all);
  for (const int nodes : {100, 300, 1000, 3000, 10'000, 30'000, 100'000}) {
    const std::string size = fmt::format("{}Nodes", nodes);
    all.push_back({"Scale/OneClass/" + size, sized(nodes, 10'000, 1), engine});
    all.push_back({"Scale/MixedClasses/" + size, sized(nodes, 10'000, 200), engine});
  }
  return bench::runAll(argc, argv, all);
}
