// Everything of the shipped profile in use at once, by the whole scheduler on an API that binds at
// once:
//
//   WholeProfile/...         gangs of eight, each member with a GPU and CPUs of its own, in quotas
//                            of two levels, on capacity that was reserved for their teams; every
//                            node has a topology, eight GPUs and a report of its load.
//   WholeProfile/Memory/...  the same, and pods of deployments in these quotas that run already and
//                            are listed in pages: what the process holds after the list, once all
//                            nodes have reported and 200 classes of pods were placed, and its peak.

#include <fmt/format.h>

#include "api/codec.h"
#include "api/device.h"
#include "api/patch/merge_patch.h"
#include "base/time.h"
#include "base/virtual_loop.h"
#include "bench.h"
#include "kube/informer.h"
#include "scheduler/core/informers.h"
#include "scheduler/core/scheduler.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/deviceshare/devices/machine.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/nodenumaresource/numa_builders.h"
#include "scheduler/plugins/nodenumaresource/topology_object.h"
#include "scheduler/plugins/registry.h"
#include "scheduler/plugins/reservation/reservation_object.h"
#include "scheduler/testing/reservations.h"

namespace {

using namespace koord;             // NOLINT: a program of its own
using namespace koord::scheduler;  // NOLINT
using bench::Numbers;
using scheduler::testing::aPod;
using scheduler::testing::aReservation;
using scheduler::testing::aService;
using scheduler::testing::DeviceMachine;
using scheduler::testing::Machine;
using scheduler::testing::PodBuilder;
using scheduler::testing::quantity;
using PodObject = std::shared_ptr<const api::Pod>;

constexpr const char* kGang = "pod-group.scheduling.sigs.k8s.io";
constexpr int kTeams = 100;
// 192 threads in two sockets.
constexpr Machine kMachine{2, 1, 48, 2, 512};

std::string nodeName(int n) {
  return fmt::format("node-{}", n);
}
std::string teamOf(int gang) {
  return fmt::format("team-{}", gang % kTeams);
}

class InstantBinder final : public Plugin, public BindPlugin {
 public:
  explicit InstantBinder(std::function<void(PodObject, api::Pod)> bound)
      : bound_(std::move(bound)) {}
  std::string_view name() const override { return "DefaultBinder"; }
  bool binds(const PodInfo& unit) const override { return !unit.kind; }
  bool writesAnnotations() const override { return true; }
  Task<Status> bind(CycleState& state, PodPtr pod, std::string node) override {
    api::Pod after = *pod->pod;
    for (const auto& [key, value] : state.annotations())
      after.metadata.annotations.insert_or_assign(key, value);
    after.spec.nodeName = node;
    after.metadata.resourceVersion = "2";
    bound_(pod->pod, std::move(after));
    co_return Status{};
  }

 private:
  std::function<void(PodObject, api::Pod)> bound_;
};

class NoWatch final : public kube::Watch {};

constexpr std::string_view kRunning = "status.phase!=Succeeded,status.phase!=Failed";

// Patches of custom resources change what is in the store, as an API server and an informer would.
// Pods that run are listed, twenty of each deployment. All else is answered, and nothing comes of
// it.
class PatchingApi final : public kube::Api {
 public:
  explicit PatchingApi(VirtualLoop& loop) : loop_(loop) {}
  Scheduler* scheduler = nullptr;
  // Its own copies of what it has patched: the stores already have the same.
  void forget() { objects_.clear(); }
  int runningPods = 0;
  int nodes = 0;

  Task<Result<std::string>> call(kube::Request request) override {
    if (request.verb == kube::Verb::List && request.resource == "pods") {
      const std::string* fields = api::findIn(request.query, "fieldSelector");
      co_return fields && *fields == kRunning ? page(request.query) : R"({"items": []})";
    }
    if (request.verb == kube::Verb::Patch) {
      if (request.resource == "reservations") co_return patch<api::Reservation>(request);
      if (request.resource == "podgroups") co_return patch<api::PodGroup>(request);
      if (request.resource == "elasticquotas") co_return patch<api::ElasticQuota>(request);
    }
    co_return std::string("{}");
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override {
    return std::make_unique<NoWatch>();
  }

 private:
  std::string page(const api::StringMap& query) const {
    const std::string* next = api::findIn(query, "continue");
    const int from = next && !next->empty() ? std::stoi(*next) : 0;
    const int to = std::min(runningPods, from + 500);
    std::string items;
    for (int n = from; n < to; ++n) items += (n > from ? "," : "") + runningPod(n);
    return fmt::format(
        R"({{"kind": "PodList", "apiVersion": "v1", "metadata": {{"resourceVersion": "1", "continue": "{}"}}, "items": [{}]}})",
        to < runningPods ? std::to_string(to) : "", items);
  }

  std::string runningPod(int n) const {
    const int app = n / 20;
    std::string conditions;  // each second four pods of a deployment were placed
    for (const char* type :
         {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
      conditions += fmt::format(
          R"({}{{"type": "{}", "status": "True", "lastProbeTime": null, "lastTransitionTime": "{}"}})",
          conditions.empty() ? "" : ", ", type,
          formatTime(WallTime(std::chrono::seconds(1'700'000'000 + n / 4))));
    return fmt::format(
        R"({{"metadata": {{"name": "app-{0}-5d4f8b9c7d-{1:05}", "namespace": "{2}", "uid": "8b0c1f0e-0000-4000-8000-{1:012}",
          "resourceVersion": "1{1:07}", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {{"app": "app-{0}",
          "pod-template-hash": "5d4f8b9c7d", "quota.scheduling.koordinator.sh/name": "{2}"}}, "ownerReferences":
          [{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "app-{0}-5d4f8b9c7d", "uid":
          "2f0c1f0e-0000-4000-8000-{0:012}", "controller": true}}]}}, "spec": {{"nodeName": "{3}", "schedulerName":
          "default-scheduler", "priorityClassName": "koord-prod", "priority": 9500, "containers": [{{"name": "main",
          "image": "registry/app-{0}:1", "command": ["/serve", "--port=8080"], "resources": {{"requests": {{"cpu":
          "100m", "memory": "500Mi"}}, "limits": {{"cpu": "200m", "memory": "500Mi"}}}}}}]}}, "status": {{"phase":
          "Running", "hostIP": "10.0.0.1", "podIP": "10.1.2.3", "startTime": "2026-01-01T00:00:00Z", "qosClass":
          "Burstable", "conditions": [{4}], "containerStatuses": [{{"name": "main",
          "ready": true, "image": "registry/app-{0}:1", "imageID": "sha256:0123", "state": {{"running": {{}}}}}}]}}}})",
        app, n, teamOf(app), nodeName(n % nodes), conditions);
  }

  template <class T>
  Result<std::string> patch(const kube::Request& request) {
    auto& store = scheduler->stores().of<T>();
    const std::string key = request.resource + "/" + request.namespace_ + "/" + request.name;
    json::value& object = objects_[key];
    if (object.is_null()) {
      const auto known = store.get({request.namespace_, request.name});
      if (!known) return fail(ErrorCode::NotFound, key + " does not exist");
      object = api::encode(*known);
    }
    const auto body = parseJson(request.body);
    auto merged = body ? api::applyMergePatch(object, *body) : body;
    if (!merged) return fail(merged.error());
    object = *std::move(merged);
    object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    auto after = api::decode<T>(object);
    if (!after) return fail(after.error());
    loop_.post(
        [&store, object = std::make_shared<const T>(*std::move(after))] { store.set(object); });
    return toJson(object);
  }

  VirtualLoop& loop_;
  std::map<std::string, json::value> objects_;
  int version_ = 10;
};

struct Bed {
  VirtualLoop loop;
  PatchingApi api{loop};
  Registry registry = makeRegistry();
  std::unique_ptr<Scheduler> scheduler;
  std::function<void(api::Pod&)> readPod;  // as their informer does
  KindOf<api::Device>::Reader deviceReader;
  std::vector<std::pair<PodObject, PodObject>> fresh;
  std::size_t bound = 0;

  explicit Bed(int nodes) {
    registry["DefaultBinder"] = [this](Fields&, Handle&) -> std::unique_ptr<Plugin> {
      return std::make_unique<InstantBinder>([this](PodObject before, api::Pod after) {
        readPod(after);
        fresh.emplace_back(std::move(before), std::make_shared<const api::Pod>(std::move(after)));
        ++bound;
      });
    };
    SchedulerOptions options;
    options.configuration = parseConfiguration(shippedConfiguration({"default-scheduler"})).value();
    scheduler = Scheduler::create(std::move(options), registry, loop, &api).value();
    api.scheduler = scheduler.get();
    readPod = podReader(*scheduler);
    for (int n = 0; n < nodes; ++n) addNode(n);
    scheduler->start();
    loop.runReady();
  }

  void addNode(int n) {
    const std::string name = nodeName(n);
    auto node = scheduler::testing::nodeOf(name, kMachine);
    node.allocatable("pods", "200").allocatable("nvidia.com/gpu", "8");
    node.allocatable("koordinator.sh/gpu", "800").allocatable("koordinator.sh/gpu-core", "800");
    node.allocatable("koordinator.sh/gpu-memory-ratio", "800");
    node.allocatable("koordinator.sh/gpu-memory", "128Gi");
    node.label("kubernetes.io/hostname", name);
    scheduler->nodeAdded(node.build());
    scheduler->stores().of<CpuReport>().set(
        scheduler::testing::asReported(*scheduler::testing::topologyOf(name, kMachine)));
    api::Device device = DeviceMachine::eightGpus().device;
    device.metadata.name = name;
    deviceReader.read(device);
    scheduler->stores().of<api::Device>().set(
        std::make_shared<const api::Device>(std::move(device)));
    report(n);
  }

  void report(int n) {
    api::NodeMetric metric;
    metric.metadata.name = nodeName(n);
    metric.status.updateTime = loop.wallNow();
    auto& info = metric.status.nodeMetric.emplace();
    info.nodeUsage.resources = {{"cpu", Quantity::ofMilli(4000 + n % 500)},
                                {"memory", quantity("64Gi")}};
    const Cluster& cluster = scheduler->cluster();
    for (const PodPtr& pod : cluster.node(*cluster.findNode(metric.metadata.name)).pods) {
      auto& added = metric.status.podsMetric.emplace_back();
      added.name = pod->pod->metadata.name;
      added.namespace_ = pod->pod->metadata.namespace_;
      added.podUsage.resources = {{"cpu", quantity("90m")}, {"memory", quantity("200Mi")}};
      added.priority = "koord-prod";
    }
    scheduler->stores().of<LoadReport>().set(
        std::make_shared<const LoadReport>(digest(std::move(metric))));
  }

  void addQuotas() {
    const auto add = [&](const std::string& name, const std::string& parent) {
      auto quota = std::make_shared<api::ElasticQuota>();
      quota->metadata.name = name;
      quota->metadata.namespace_ = "teams";
      quota->metadata.labels[std::string(model::kLabelQuotaParent)] = parent;
      if (parent.empty()) quota->metadata.labels[std::string(model::kLabelQuotaIsParent)] = "true";
      quota->spec.max = {{"cpu", quantity("500k")},
                         {"memory", quantity("4Pi")},
                         {"nvidia.com/gpu", quantity("20k")}};
      quota->spec.min["cpu"] = quantity("1");
      scheduler->stores().of<api::ElasticQuota>().set(std::move(quota));
    };
    for (int n = 0; n < 10; ++n) add(fmt::format("division-{}", n), "");
    for (int n = 0; n < kTeams; ++n) add(teamOf(n), fmt::format("division-{}", n % 10));
  }

  // The eight GPUs that a gang is going to need, for its team. Returns those that have a node.
  std::size_t reserve(int count) {
    auto& store = scheduler->stores().of<api::Reservation>();
    for (int n = 0; n < count; ++n) {
      store.set(aReservation(fmt::format("reservation-{}", n))
                    .request("cpu", "64")
                    .request("memory", "256Gi")
                    .request("nvidia.com/gpu", "8")
                    .owner("team", teamOf(n))
                    .build());
    }
    std::size_t placed = 0;
    for (int round = 0; placed < static_cast<std::size_t>(count) && round < 1000; ++round) {
      loop.advance(std::chrono::milliseconds(1));
      placed = 0;
      for (const auto& [key, object] : store.all()) placed += object->status.phase == "Available";
    }
    return placed;
  }

  std::vector<PodObject> gangs(int count) {
    std::vector<PodObject> pods;
    for (int g = 0; g < count; ++g) {
      const std::string name = fmt::format("gang-{}", g);
      auto group = std::make_shared<api::PodGroup>();
      group->metadata.name = name;
      group->metadata.namespace_ = "default";
      group->metadata.uid = name;
      group->spec.minMember = 8;
      scheduler->stores().of<api::PodGroup>().set(std::move(group));
      for (int n = 0; n < 8; ++n) {
        PodBuilder member = aService(fmt::format("{}-{}", name, n), "8");
        member.request("memory", "32Gi").request("nvidia.com/gpu", "1");
        member.label(kGang, name).label("team", teamOf(g));
        pods.push_back(member.label(std::string(model::kLabelQuotaName), teamOf(g)).build());
      }
    }
    return pods;
  }

  void settle(std::size_t goal) {
    for (int idle = 0; bound < goal && idle < 10'000; ++idle) {
      const std::size_t before = bound;
      loop.runReady();
      for (const auto& [pod, after] : std::exchange(fresh, {})) scheduler->podUpdated(pod, after);
      loop.advance(std::chrono::milliseconds(1));
      if (bound > before) idle = 0;
    }
  }
};

Numbers place(const Numbers& params) {
  Bed bed(static_cast<int>(params.at("nodes")));
  bed.addQuotas();
  const int count = static_cast<int>(params.at("gangs"));
  const bench::Stopwatch reserving;
  const std::size_t reserved = bed.reserve(count);
  const double reservedIn = reserving.seconds();
  const std::vector<PodObject> pods = bed.gangs(count);
  const double cpu = bench::cpuSeconds();
  const bench::Stopwatch all;
  for (const PodObject& pod : pods) bed.scheduler->podAdded(pod);
  bed.settle(pods.size());
  const double seconds = all.seconds();
  const double cpuUsed = bench::cpuSeconds() - cpu;
  std::size_t inside = 0, withCpus = 0, withGpus = 0;
  for (const auto& record : bed.scheduler->cluster().pods()) {
    const api::StringMap& annotations = record.info->pod->metadata.annotations;
    if (record.info->kind) continue;
    inside += annotations.contains(model::kAnnotationReservationAllocated) ? 1 : 0;
    withCpus += annotations.contains(model::kAnnotationResourceStatus) ? 1 : 0;
    withGpus += annotations.contains(model::kAnnotationDeviceAllocated) ? 1 : 0;
  }
  const auto bound = static_cast<double>(bed.bound);
  return {{"pods_per_second", bound / seconds},
          {"cpu_ms_per_pod", 1000 * cpuUsed / bound},
          {"bound", bound},
          {"in_reservations", static_cast<double>(inside)},
          {"with_cpus", static_cast<double>(withCpus)},
          {"with_gpus", static_cast<double>(withGpus)},
          {"reservations_per_second", static_cast<double>(reserved) / reservedIn},
          {"peak_rss_mib", bench::peakRssMib()}};
}

Numbers hold(const Numbers& params) {
  const int nodes = static_cast<int>(params.at("nodes"));
  const double empty = bench::rssMib();
  Bed bed(nodes);
  bed.addQuotas();
  const double withNodes = bench::rssMib();
  const int count = static_cast<int>(params.at("gangs"));
  bed.reserve(count);
  for (const PodObject& pod : bed.gangs(count)) bed.scheduler->podAdded(pod);
  bed.settle(static_cast<std::size_t>(8) * count);
  const std::size_t inGangs = bed.bound;
  const double withGangs = bench::rssMib();
  bed.api.forget();
  bed.api.runningPods = static_cast<int>(params.at("pods")) - 8 * count;
  bed.api.nodes = nodes;
  const kube::WatchScope running{"", "", std::string(kRunning)};
  kube::Informer<api::Pod> informer(bed.api, bed.loop, running);
  informer.setTransform(bed.readPod);
  informer.addHandler(
      {[&](const PodObject& pod) { bed.scheduler->podAdded(pod); }, nullptr, nullptr});
  informer.start();
  bed.loop.advanceUntil([&] { return informer.synced(); }, std::chrono::minutes(1));
  const double withPods = bench::rssMib();
  for (int n = 0; n < nodes; ++n) bed.report(n);
  bed.loop.advance(std::chrono::seconds(1));
  // Two hundred classes look at all nodes once.
  for (int n = 0; n < 1000; ++n) {
    bed.scheduler->podAdded(aPod(fmt::format("pod-{}", n))
                                .request("cpu", fmt::format("{}m", 100 + n % 200))
                                .request("memory", "500Mi")
                                .build());
  }
  bed.settle(inGangs + 1000);
  return {{"rss_mib", bench::rssMib()},
          {"peak_rss_mib", bench::peakRssMib()},
          {"rss_program_mib", empty},
          {"rss_with_nodes_mib", withNodes},
          {"rss_with_gangs_mib", withGangs},
          {"rss_after_list_mib", withPods},
          {"in_gangs", static_cast<double>(inGangs)},
          {"listed", static_cast<double>(informer.size())},
          {"bytes_per_listed_pod",
           (withPods - withGangs) * 1048576 / static_cast<double>(informer.size())}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> all;
  all.push_back({"WholeProfile/5000Nodes_1000GangsOf8OnReservedGpus",
                 {{"nodes", 5000}, {"gangs", 1000}},
                 place});
  all.push_back({"WholeProfile/Memory/5000Nodes_1000GangsOf8OnReservedGpus_150000Pods",
                 {{"nodes", 5000}, {"gangs", 1000}, {"pods", 150'000}},
                 hold});
  return bench::runAll(argc, argv, all);
}
