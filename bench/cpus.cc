// What CPUs and NUMA nodes cost: the search for a node and what Reserve gives a pod there, for pods
// that are bound to CPUs; and the steps of it on one node.

#include <fmt/format.h>

#include "bench.h"
#include "scheduler/plugins/nodenumaresource/numa_builders.h"
#include "scheduler/plugins/nodenumaresource/plugin.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/world.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aPod;
using scheduler::testing::aService;
using scheduler::testing::asReported;
using scheduler::testing::Machine;
using scheduler::testing::nodeOf;
using scheduler::testing::PodBuilder;
using scheduler::testing::quantity;
using scheduler::testing::topologyOf;
using scheduler::testing::World;

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preFilter: {enabled: [{name: NodeNUMAResource}]}
    filter: {enabled: [{name: NodeNUMAResource}]}
    score: {enabled: [{name: NodeNUMAResource, weight: 1}]}
    reserve: {enabled: [{name: NodeNUMAResource}]}
    preBind: {enabled: [{name: NodeNUMAResource}]}
)";

// 192 threads in two sockets.
constexpr Machine kLarge{2, 1, 48, 2, 384};

void addMachine(World& world, const std::string& name, const Machine& machine,
                const std::string& policy = "") {
  auto node = nodeOf(name, machine);
  if (!policy.empty()) node.label(std::string(kLabelNumaPolicy), policy);
  world.node(node);
  world.stores().of<CpuReport>().set(asReported(*topologyOf(name, machine)));
}

// Counts it there and gives it what it asked for.
bool take(World& world, CycleState& state, const PodPtr& pod, NodeId node) {
  if (!world.cluster().assume(pod, node)) return false;
  for (const auto& plugin : world.profile().reserve)
    if (!plugin.point->reserve(state, pod, node).ok()) return false;
  return true;
}

Numbers boundPods(const Numbers& params) {
  World world;
  world.configure(makeRegistry(), kProfile);
  for (int n = 0; n < params.at("nodes"); ++n) addMachine(world, fmt::format("node-{}", n), kLarge);
  const int classes = static_cast<int>(params.at("classes"));
  std::vector<PodPtr> pods;
  for (int n = 0; n < params.at("pods"); ++n) {
    const int c = n % classes;
    PodBuilder pod = aService(fmt::format("pod-{}", n), std::to_string(4 + 28 * c / classes),
                              c % 2 == 0 ? R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})" : "");
    pod.request("memory", fmt::format("{}Mi", 1024 + c));
    pods.push_back(world.pod(pod));
  }
  std::vector<double> attempts;
  attempts.reserve(pods.size());
  std::size_t placed = 0;
  const double before = bench::cpuSeconds();
  for (const PodPtr& pod : pods) {
    const bench::Stopwatch one;
    CycleState state;
    const SearchResult found = world.search().find(state, pod);
    if (found.status.ok()) placed += take(world, state, pod, found.node) ? 1 : 0;
    attempts.push_back(1e6 * one.seconds());
  }
  const double seconds = bench::cpuSeconds() - before;
  return {{"pods_per_second", static_cast<double>(placed) / seconds},
          {"placed", static_cast<double>(placed)},
          {"attempt_p50_us", bench::percentile(attempts, 0.5)},
          {"attempt_p99_us", bench::percentile(attempts, 0.99)},
          {"peak_rss_mib", bench::peakRssMib()}};
}

// Reserve on a node that is half taken.
Numbers oneChoice(const Numbers& params) {
  World world;
  world.configure(makeRegistry(), kProfile);
  addMachine(world, "a", kLarge);
  CycleState state;
  for (int n = 0; n < 12; ++n)
    (void)take(world, state, world.pod(aService(fmt::format("old-{}", n), "8")), 0);
  const PodPtr pod = world.pod(aService("pod", "16"));
  (void)world.cluster().assume(pod, 0);
  auto& plugin = *world.profile().offers<NodeNumaResource>().front();
  NumaTable& table = NumaTable::of(world);
  const int rounds = static_cast<int>(params.at("rounds"));
  const double before = bench::cpuSeconds();
  for (int round = 0; round < rounds; ++round) {
    (void)plugin.reserve(state, pod, 0);
    world.cluster().regrant(pod->uid(), table.id(), nullptr);
  }
  return {{"reserve_us", 1e6 * (bench::cpuSeconds() - before) / rounds}};
}

// Filter of one node with a NUMA policy: hints of all sets of zones, merged and checked.
Numbers restricted(const Numbers& params) {
  World world;
  world.configure(makeRegistry(), kProfile);
  const int zones = static_cast<int>(params.at("zones"));
  const Machine machine{2, zones / 2, 12, 2, 64};
  auto topology = topologyOf("a", machine);
  for (api::TopologyZone& zone : topology->zones) {
    for (const char* name : {"hugepages-2Mi", "example.com/port"}) {
      api::ZoneResource& resource = zone.resources.emplace_back();
      resource.name = name;
      resource.allocatable = quantity("8Gi");
    }
  }
  auto node = nodeOf("a", machine);
  node.label(std::string(kLabelNumaPolicy), "Restricted");
  world.node(node);
  world.stores().of<CpuReport>().set(asReported(*topology));
  PodBuilder builder = params.at("bound") > 0 ? aService("pod", "30") : aPod("pod");
  builder.request("cpu", "30")
      .request("memory", "80Gi")
      .request("hugepages-2Mi", "1Gi")
      .request("example.com/port", "4");
  const PodPtr pod = world.pod(builder);
  auto& plugin = *world.profile().offers<NodeNumaResource>().front();
  CycleState state;
  const int rounds = static_cast<int>(params.at("rounds"));
  int passed = 0;
  const double before = bench::cpuSeconds();
  for (int round = 0; round < rounds; ++round) {
    NodeSet nodes = world.cluster().live();
    NodeFilter filter(nodes, nullptr, 0);
    (void)plugin.filter(state, *pod, filter);
    passed += nodes.contains(0) ? 1 : 0;
  }
  const double seconds = bench::cpuSeconds() - before;
  return {{"filter_us", 1e6 * seconds / rounds}, {"passed", static_cast<double>(passed)}};
}

}  // namespace

int main(int argc, char** argv) {
  return bench::runAll(
      argc, argv,
      {{"Cpus/Bound", {{"nodes", 5000}, {"pods", 40'000}, {"classes", 20}}, boundPods},
       {"Cpus/OneChoice", {{"rounds", 50'000}}, oneChoice},
       {"Cpus/Restricted", {{"zones", 8}, {"bound", 0}, {"rounds", 20'000}}, restricted},
       {"Cpus/RestrictedBound", {{"zones", 8}, {"bound", 1}, {"rounds", 20'000}}, restricted}});
}
