// Resource claims: the whole scheduler (queue, plugins, binding) places pods with claims, and the
// allocator by itself on constructed inventories. The names of workloads are those of Kubernetes'
// scheduler_perf.
//
//   SchedulingWithResourceClaimTemplate   each pod has a claim of its own for one device of 100 on
//                                         each node, of one class
//   SchedulingWithMultipleResourceClaims  two claims per pod
//   SchedulingWithResourceClaimsFull      the nodes have no device left at the end
//   Allocator/...                         one search on one node, of which nothing comes
//                                         (kubernetes/kubernetes#131730)
//
// The API that the scheduler writes to is in this process. Its time is measured and does not count;
// "pods_per_second_with_api" includes it.

#include <fmt/format.h>

#include "base/virtual_loop.h"
#include "bench.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/dynamicresources/allocator/results.h"
#include "scheduler/plugins/dynamicresources/plugin.h"
#include "scheduler/plugins/dynamicresources/selector_compiler.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/testing/claims.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aNode;
using scheduler::testing::gpuClaim;
using scheduler::testing::gpuClass;
using scheduler::testing::gpuSlice;

// Binds by telling the scheduler what its informer would.
class InstantBinder final : public Plugin, public BindPlugin {
 public:
  explicit InstantBinder(std::function<void(std::shared_ptr<const api::Pod>, api::Pod)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool writesAnnotations() const override { return true; }
  Task<Status> bind(CycleState&, PodPtr pod, std::string nodeName) override {
    api::Pod after = *pod->pod;
    after.spec.nodeName = nodeName;
    after.metadata.resourceVersion = "2";
    bound_(pod->pod, std::move(after));
    co_return Status{};
  }

 private:
  std::function<void(std::shared_ptr<const api::Pod>, api::Pod)> bound_;
};

// The API of claims without its pauses. Counts its time.
class TimedApi final : public kube::Api {
 public:
  explicit TimedApi(kube::Api& api) : api_(api) {}
  Task<Result<std::string>> call(kube::Request request) override {
    const bench::Stopwatch watch;
    auto task = api_.call(std::move(request));
    auto reply = co_await task;
    seconds += watch.seconds();
    co_return reply;
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override { return nullptr; }
  double seconds = 0;

 private:
  kube::Api& api_;
};

struct Bed {
  VirtualLoop loop;
  Registry registry = makeRegistry();
  Store<api::ResourceClaim> unused;
  std::unique_ptr<scheduler::testing::ClaimApi> claims;
  std::unique_ptr<TimedApi> api;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<std::pair<std::shared_ptr<const api::Pod>, std::shared_ptr<const api::Pod>>> fresh;
  std::size_t bound = 0;

  Bed(int nodes, int devices) {
    registry["DefaultBinder"] = [this](Fields&, Handle&) -> std::unique_ptr<Plugin> {
      return std::make_unique<InstantBinder>([this](std::shared_ptr<const api::Pod> before,
                                                    api::Pod after) {
        fresh.emplace_back(std::move(before), std::make_shared<const api::Pod>(std::move(after)));
        ++bound;
      });
    };
    claims = std::make_unique<scheduler::testing::ClaimApi>(loop, unused);
    claims->pauses = false;
    api = std::make_unique<TimedApi>(*claims);
    SchedulerOptions options;
    options.configuration = defaultConfiguration();
    scheduler = Scheduler::create(std::move(options), registry, loop, api.get()).value();
    auto& stores = scheduler->stores();
    claims->deliverTo(stores.of<api::ResourceClaim>());
    stores.of<api::DeviceClass>().set(gpuClass());
    for (int n = 0; n < nodes; ++n) {
      const std::string name = fmt::format("node-{}", n);
      scheduler->nodeAdded(aNode(name).allocatable("cpu", "64").allocatable("pods", "110").build());
      stores.of<api::ResourceSlice>().set(gpuSlice(name, devices));
    }
    scheduler->start();
    loop.runReady();
  }
  void confirm() {
    for (const auto& [before, after] : std::exchange(fresh, {}))
      scheduler->podUpdated(before, after);
    loop.advance(std::chrono::milliseconds(1));
    loop.runReady();
  }
};

Numbers place(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")), static_cast<int>(params.at("devices")));
  const int perPod = static_cast<int>(params.at("claims"));
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (int n = 0; n < params.at("pods"); ++n) {
    std::vector<std::string> names;
    for (int c = 0; c < perPod; ++c) {
      names.push_back(fmt::format("claim-{}-{}", n, c));
      bed.claims->put(*gpuClaim(names.back(), static_cast<int>(params.at("count"))));
    }
    pods.push_back(scheduler::testing::podWithClaims(fmt::format("pod-{}", n), names)
                       .request("cpu", "100m")
                       .build());
  }
  const double apiBefore = bed.api->seconds;
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  for (const auto& each : pods) bed.scheduler->podAdded(each);
  for (std::size_t before = ~std::size_t{0}; before != bed.bound && bed.bound < pods.size();) {
    before = bed.bound;
    bed.confirm();
  }
  const double total = all.seconds();
  const double api = bed.api->seconds - apiBefore;
  const auto count = static_cast<double>(bed.bound);
  return {{"placed", count},
          {"pods_per_second", count / (total - api)},
          {"pods_per_second_with_api", count / total},
          {"cpu_ms_per_pod", 1000 * (bench::cpuSeconds() - cpu) / count},
          {"peak_rss_mib", bench::peakRssMib()}};
}

// A node on which claims cannot be satisfied, and only trying all combinations shows it.
struct Inventory {
  dra::Matchers matchers{celSelectors()};
  dra::Usage usage;
  dra::Inventory inventory{usage};
  std::shared_ptr<api::Node> node = std::make_shared<api::Node>();
  std::shared_ptr<const api::DeviceClass> gpu = gpuClass();

  Inventory(int devices, int roots) {
    node->metadata.name = "n";
    api::ResourceSlice slice = *gpuSlice("n", devices);
    for (int d = 0; d < devices; ++d) {
      auto& attributes = slice.spec.devices[static_cast<std::size_t>(d)].attributes;
      attributes["uuid"].string = fmt::format("uuid-{}", d);
      attributes["root"].string = fmt::format("root-{}", d % roots);
    }
    inventory.setSlice(nullptr, std::make_shared<const api::ResourceSlice>(std::move(slice)));
  }
  Numbers search(const std::vector<dra::ClaimPtr>& claims) {
    const auto plan = dra::makePlan(claims, {}, [&](const std::string&) { return gpu; }, matchers);
    std::vector<double> times;
    bool found = false;
    std::uint64_t steps = 0;
    const dra::MoreTaints noTaints;
    const std::function<bool()> noDeadline;
    for (int i = 0; i < 20; ++i) {
      const bench::Stopwatch watch;
      dra::Search search(*plan, inventory.of(node), noTaints, noDeadline);
      found = search.run().found();
      steps = search.steps();
      times.push_back(1000 * watch.seconds());
    }
    return {{"found", found ? 1 : 0},
            {"steps", static_cast<double>(steps)},
            {"ms_p50", bench::percentile(times, 0.5)},
            {"ms_max", bench::percentile(times, 1)}};
  }
};

Numbers oneTooMany(const Numbers&) {
  return Inventory(31, 1).search({gpuClaim("c", 32)});
}

Numbers noRootHasEnough(const Numbers&) {
  auto claim = gpuClaim("c", 5);
  auto other = claim->spec.devices.requests[0];
  other.name = "other";
  other.exactly->count = 4;
  claim->spec.devices.requests.push_back(other);
  claim->spec.devices.constraints.emplace_back().matchAttribute = "gpu.example/root";
  return Inventory(64, 8).search({claim});
}

Numbers lastClaimFails(const Numbers&) {
  std::vector<dra::ClaimPtr> claims;
  for (int c = 0; c < 7; ++c) claims.push_back(gpuClaim(fmt::format("c{}", c), 4));
  claims.push_back(gpuClaim("last", 5));
  return Inventory(32, 4).search(claims);
}

}  // namespace

int main(int argc, char** argv) {
  const auto workload = [](int devices, int pods, int claims, int count) {
    return Numbers{{"nodes", 5000},
                   {"devices", static_cast<double>(devices)},
                   {"pods", static_cast<double>(pods)},
                   {"claims", static_cast<double>(claims)},
                   {"count", static_cast<double>(count)}};
  };
  return bench::runAll(
      argc, argv,
      {{"SchedulingWithResourceClaimTemplate/5000Nodes", workload(100, 20'000, 1, 1), place},
       {"SchedulingWithMultipleResourceClaims/5000Nodes", workload(100, 10'000, 2, 2), place},
       {"SchedulingWithResourceClaimsFull/5000Nodes", workload(4, 20'000, 1, 1), place},
       {"Allocator/OneDeviceTooFew", {}, oneTooMany},
       {"Allocator/NoMatchHasEnough", {}, noRootHasEnough},
       {"Allocator/LastClaimFails", {}, lastClaimFails}});
}
