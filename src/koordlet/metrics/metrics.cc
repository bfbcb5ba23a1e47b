#include "koordlet/metrics/metrics.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "net/prometheus.h"

namespace koord::koordlet {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

using namespace std::chrono_literals;

Family<Gauge>& gauge(Registry& registry, const std::string& name, const std::string& help) {
  return net::gaugeFamily(registry, "koordlet_" + name, help);
}
Family<Counter>& counter(Registry& registry, const std::string& name, const std::string& help) {
  return net::counterFamily(registry, "koordlet_" + name, help);
}
Family<Histogram>& histogram(Registry& registry, const std::string& name, const std::string& help) {
  return net::histogramFamily(registry, "koordlet_" + name, help);
}

// A series with the label node only. It is set every second, so the lookup is done once.
class NodeSeries {
 public:
  NodeSeries(Family<Gauge>& family, std::string node) : gauge_(&family.Add({{"node", node}})) {}
  void set(double value) { gauge_->Set(value); }

 private:
  Gauge* gauge_;
};

// A few dozen histograms by their labels. A linear search is cheaper than new labels for each
// observation. They are never removed from their family.
class KnownHistograms {
 public:
  template <class Make>
  Histogram& get(std::string_view first, std::string_view second, bool ok, Make make) {
    for (const auto& one : known_)
      if (one.ok == ok && one.first == first && one.second == second) return *one.histogram;
    known_.push_back({std::string(first), std::string(second), ok, &make()});
    return *known_.back().histogram;
  }
  void clear() { known_.clear(); }

 private:
  struct Known {
    std::string first, second;
    bool ok;
    Histogram* histogram;
  };
  std::vector<Known> known_;
};

}  // namespace

struct Metrics::Impl {
  Registry internal;
  Registry external;
  std::string node;

  Family<Gauge>& startTime = gauge(internal, "start_time", "the start time of koordlet");
  Family<Counter>& cpuInfo =
      counter(internal, "collect_node_cpu_info_status", "the count of CollectNodeCPUInfo status");
  Family<Counter>& numaInfo =
      counter(internal, "collect_node_numa_info_status", "the count of CollectNodeNUMAInfo status");
  Family<Counter>& storageInfo = counter(internal, "collect_node_local_storage_info_status",
                                         "the count of CollectNodeLocalStorageInfo status");
  Family<Counter>& evictions =
      counter(internal, "pod_eviction", "Number of eviction launched by koordlet");
  Family<Counter>& evictionDetails =
      counter(internal, "pod_eviction_detail", "evict detail launched by koordlet");
  Family<Counter>& evictionFailures = counter(
      internal, "pod_eviction_failed", "evictions that the API server refused, by its reason");
  Family<Gauge>& usedCpu =
      gauge(internal, "node_used_cpu_cores", "number of cpu cores used by node in realtime");
  Family<Gauge>& usedMemory =
      gauge(internal, "node_used_memory_bytes", "number of memory bytes used by node in realtime");
  Family<Gauge>& suppress =
      gauge(internal, "be_suppress_cpu_cores", "Number of cores suppress by koordlet");
  Family<Gauge>& suppressLs = gauge(internal, "be_suppress_ls_used_cpu_cores",
                                    "Number of cpu cores used by LS, which are not BE");
  Family<Gauge>& suppressBe =
      gauge(internal, "be_suppress_be_used_cpu_cores", "Number of cpu cores used by BE pods");
  Family<Histogram>& updates = histogram(internal, "resource_update_duration_milliseconds",
                                         "time duration of resource executor updates");
  Family<Histogram>& runtimeHooks =
      histogram(internal, "runtime_hook_invoked_duration_milliseconds",
                "time duration of invocations of runtime hook plugins");
  Family<Histogram>& reconciled =
      histogram(internal, "runtime_hook_reconciler_invoked_duration_milliseconds",
                "time duration of invocations of runtime hook reconciler plugins");
  Family<Gauge>& nri =
      gauge(internal, "nri_connected",
            "1 while koordlet is registered as a plugin of the container runtime, otherwise 0");
  Family<Counter>& nriReconnections =
      counter(internal, "nri_reconnections",
              "registrations with the container runtime after the first one");
  Family<Counter>& nriEvents =
      counter(internal, "nri_events", "calls of the container runtime, by event and result");
  bool nriKnown = false;  // true after the first connection
  Family<Histogram>& kubelet = histogram(internal, "kubelet_request_duration_seconds",
                                         "kubelet request duration in seconds");
  Family<Gauge>& hostApps =
      gauge(internal, "host_application_resource_usage", "resource usage of host applications");
  Family<Gauge>& reportedNode =
      gauge(internal, "node_metric_node_usage", "node usage as reported in NodeMetric");
  Family<Gauge>& reportedSystem =
      gauge(internal, "node_metric_system_usage", "system usage as reported in NodeMetric");
  Family<Gauge>& reportedNumaNode = gauge(internal, "node_metric_numa_node_usage",
                                          "the per-NUMA node usage reported in the NodeMetric");
  Family<Gauge>& reportedNumaSystem = gauge(internal, "node_metric_numa_system_usage",
                                            "the per-NUMA system usage reported in the NodeMetric");
  Family<Gauge>& scaledBurst =
      gauge(internal, "container_scaled_cfs_burst_us", "the cfs burst that the container may use");
  Family<Gauge>& scaledQuota = gauge(internal, "container_scaled_cfs_quota_us",
                                     "the cfs quota of a container that CPU burst has raised");
  Family<Gauge>& cookies =
      gauge(internal, "container_core_sched_cookie", "the core scheduling cookie of the container");
  Family<Counter>& cookiesManaged = counter(internal, "core_sched_cookie_manage_status",
                                            "the manage status of the core scheduling cookie");
  Family<Gauge>& predictedReclaimable =
      gauge(internal, "node_predicted_resource_reclaimable",
            "the predicted reclaimable resources of the node, by predictor");
  Family<Gauge>& predictedPeak = gauge(internal, "node_predicted_resource_peak",
                                       "the predicted peak of the node, by predictor");
  Family<Gauge>& reclaimable = gauge(external, "node_priority_resource_reclaimable",
                                     "the node resource reclaimable of the priority class");
  Family<Gauge>& reclaimableStatus = gauge(external, "node_resource_priority_reclaimable_status",
                                           "0 if the reclaimable resources are known, otherwise 1");
  Family<Gauge>& sharePool = gauge(internal, "cpuset_share_pool_cpu_cores",
                                   "the number of CPUs in the share pool of LS pods");
  Family<Gauge>& beSharePool = gauge(internal, "cpuset_be_share_pool_cpu_cores",
                                     "the number of CPUs in the share pool of BE pods");
  Family<Gauge>& sharePoolInfo =
      gauge(internal, "cpuset_share_pool_info", "the CPUs in the share pool of LS pods");
  Family<Gauge>& beSharePoolInfo =
      gauge(internal, "cpuset_be_share_pool_info", "the CPUs in the share pool of BE pods");
  Family<Gauge>& ratio = gauge(internal, "cpu_normalization_ratio",
                               "the ratio by which CPU quotas are divided; the previous one while "
                               "the node's annotation is malformed");
  Family<Gauge>& ratioInvalid = gauge(
      internal, "cpu_normalization_ratio_invalid",
      "1 while the node's annotation of the CPU normalization ratio is malformed, otherwise 0");
  Family<Gauge>& oomScores =
      gauge(internal, "container_oom_score_adj",
            "the oom_score_adj that koordlet sets for the processes of the container");
  Family<Counter>& fights = counter(
      internal, "resource_fights",
      "cgroup values that koordlet stopped writing because another program kept changing them");
  Family<Gauge>& allocatable = gauge(external, "node_resource_allocatable",
                                     "the node allocatable of resources updated by koordinator");
  Family<Gauge>& containerCpi =
      gauge(external, "container_cpi",
            "cycles and instructions of the container in one collection window");
  Family<Gauge>& containerPsi =
      gauge(external, "container_psi",
            "pressure stall information of the container, in percent of the time");
  Family<Gauge>& podPsi =
      gauge(external, "pod_psi", "pressure stall information of the pod, in percent of the time");
  Family<Gauge>& occupancy = gauge(external, "resctrl_llc_occupancy",
                                   "bytes of the last-level cache that the QoS class occupies");
  Family<Gauge>& bandwidth = gauge(external, "resctrl_memory_bandwidth",
                                   "bytes per second between the CPUs of the QoS class and memory");
  Family<Gauge>& interferences = gauge(external, "container_interference",
                                       "current value of the cause in relation to its mean, for "
                                       "containers that suffer from interference");
  Family<Gauge>& requests =
      gauge(external, "container_resource_requests", "the container requests of resources");
  Family<Gauge>& limits =
      gauge(external, "container_resource_limits", "the container limits of resources");

  // Created at the first update, with the node's name at that time.
  std::optional<NodeSeries> usedCpuOfNode, usedMemoryOfNode, suppressLsOfNode, suppressBeOfNode;
  std::pair<std::string, Gauge*> suppressOfType;  // the last type that was set
  KnownHistograms knownUpdates, knownReconciled;

  std::vector<Gauge*> occupancySeries, bandwidthSeries;
  std::vector<Gauge*> interferenceSeries;
  std::vector<Gauge*> cpiSeries, containerPsiSeries, podPsiSeries;
  std::vector<Gauge*> poolSeries, bePoolSeries;
  std::map<Gauge*, std::optional<WallTime>> oomSeries;
  CpuSet pool, bePool;  // the CPUs in the series
  std::vector<Gauge*> hostAppSeries, requestSeries, limitSeries;
  std::vector<Gauge*> burstSeries, quotaSeries, cookieSeries;
  std::vector<Gauge*> reportedSeries[4];
  // Times of the last update; nullopt until the next garbage collection sets them.
  std::map<Counter*, std::optional<WallTime>> details, managedSeries;

  // Index: 0 node, 1 NUMA nodes, 2 system, 3 system per NUMA node.
  Family<Gauge>& reported(std::size_t which) const {
    Family<Gauge>* all[] = {&reportedNode, &reportedNumaNode, &reportedSystem, &reportedNumaSystem};
    return *all[which];
  }
  void set(std::optional<NodeSeries>& series, Family<Gauge>& family, double value) const {
    if (node.empty()) return;
    if (!series) series.emplace(family, node);
    series->set(value);
  }
  void count(Family<Counter>& family, bool ok) const {
    if (!node.empty())
      family.Add({{"node", node}, {"status", ok ? "succeeded" : "failed"}}).Increment();
  }
  void setOfContainer(Family<Gauge>& family, std::vector<Gauge*>& series, const Subject& container,
                      prometheus::Labels labels, double value) const {
    if (node.empty()) return;
    labels.insert({{"node", node},
                   {"pod_namespace", container.podNamespace},
                   {"pod_name", container.podName},
                   {"container_id", container.containerId},
                   {"container_name", container.containerName}});
    auto& one = family.Add(labels);
    one.Set(value);
    series.push_back(&one);
  }

  static void clear(Family<Gauge>& family, std::vector<Gauge*>& series) {
    for (Gauge* one : series) family.Remove(one);
    series.clear();
  }
  void fill(Family<Gauge>& family, std::vector<Gauge*>& series, const std::string& unit,
            const std::vector<ContainerResource>& resources) const {
    clear(family, series);
    if (node.empty()) return;
    for (const auto& r : resources) {
      auto& one = family.Add({{"node", node},
                              {"resource", r.resource},
                              {"unit", unit},
                              {"pod_uid", r.podUid},
                              {"pod_name", r.podName},
                              {"pod_namespace", r.podNamespace},
                              {"container_id", r.containerId},
                              {"container_name", r.containerName}});
      one.Set(r.value);
      series.push_back(&one);
    }
  }
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::setNode(const std::string& name) {
  if (impl_->node == name) return;
  impl_->node = name;
  for (auto* series : {&impl_->usedCpuOfNode, &impl_->usedMemoryOfNode, &impl_->suppressLsOfNode,
                       &impl_->suppressBeOfNode})
    series->reset();
  impl_->suppressOfType = {};
  impl_->knownReconciled.clear();
}

void Metrics::started(const std::string& nodeName, WallTime time) {
  const double seconds = std::chrono::duration<double>(time.time_since_epoch()).count();
  impl_->startTime.Add({{"node", nodeName}})
      .Set(static_cast<double>(static_cast<std::int64_t>(seconds)));
}

void Metrics::nodeUsage(double cores, double bytes) {
  impl_->set(impl_->usedCpuOfNode, impl_->usedCpu, cores);
  impl_->set(impl_->usedMemoryOfNode, impl_->usedMemory, bytes);
}

void Metrics::beSuppress(const std::string& type, double cores) {
  if (impl_->node.empty()) return;
  auto& [known, series] = impl_->suppressOfType;
  if (!series || known != type) {
    known = type;
    series = &impl_->suppress.Add({{"node", impl_->node}, {"type", type}});
  }
  series->Set(cores);
}
void Metrics::beSuppressLsUsed(double cores) {
  impl_->set(impl_->suppressLsOfNode, impl_->suppressLs, cores);
}
void Metrics::beSuppressBeUsed(double cores) {
  impl_->set(impl_->suppressBeOfNode, impl_->suppressBe, cores);
}

void Metrics::podEvicted(const std::string& reason, const std::string& podNamespace,
                         const std::string& pod) {
  if (impl_->node.empty()) return;
  impl_->evictions.Add({{"node", impl_->node}, {"reason", reason}}).Increment();
  auto& detail = impl_->evictionDetails.Add({{"node", impl_->node},
                                             {"pod_namespace", podNamespace},
                                             {"pod_name", pod},
                                             {"reason", reason}});
  detail.Increment();
  impl_->details[&detail] = std::nullopt;
}

void Metrics::podEvictionFailed(const std::string& reason) {
  if (!impl_->node.empty())
    impl_->evictionFailures.Add({{"node", impl_->node}, {"reason", reason}}).Increment();
}

void Metrics::nodeCpuInfo(bool ok) {
  impl_->count(impl_->cpuInfo, ok);
}
void Metrics::nodeNumaInfo(bool ok) {
  impl_->count(impl_->numaInfo, ok);
}
void Metrics::nodeStorageInfo(bool ok) {
  impl_->count(impl_->storageInfo, ok);
}

void Metrics::resourceUpdate(std::string_view type, bool ok, Duration took) {
  impl_->knownUpdates
      .get(type, {}, ok,
           [&]() -> Histogram& {
             return impl_->updates.Add(
                 {{"type", std::string(type)}, {"status", ok ? "success" : "failed"}},
                 net::exponentialBuckets(0.01, 4, 8));
           })
      .Observe(net::inMilliseconds(took));
}

void Metrics::runtimeHook(const std::string& hook, std::string_view stage, bool ok, Duration took) {
  if (impl_->node.empty()) return;
  impl_->runtimeHooks
      .Add({{"node", impl_->node},
            {"hook", hook},
            {"stage", std::string(stage)},
            {"status", ok ? "success" : "failed"}},
           net::exponentialBuckets(0.01, 4, 8))
      .Observe(net::inMilliseconds(took));
}

void Metrics::hookReconciled(std::string_view level, std::string_view resource, bool ok,
                             Duration took) {
  if (impl_->node.empty()) return;
  impl_->knownReconciled
      .get(level, resource, ok,
           [&]() -> Histogram& {
             return impl_->reconciled.Add({{"node", impl_->node},
                                           {"level", std::string(level)},
                                           {"resource_type", std::string(resource)},
                                           {"status", ok ? "success" : "failed"}},
                                          net::exponentialBuckets(0.01, 4, 8));
           })
      .Observe(net::inMilliseconds(took));
}

void Metrics::nriConnected(bool connected) {
  impl_->nri.Add({}).Set(connected ? 1 : 0);
  auto& again = impl_->nriReconnections.Add({});
  if (connected && std::exchange(impl_->nriKnown, true)) again.Increment();
}

void Metrics::nriCalled(std::string_view method, bool ok) {
  impl_->nriEvents.Add({{"event", std::string(method)}, {"status", ok ? "success" : "failed"}})
      .Increment();
}

void Metrics::kubeletRequest(const std::string& path, int code, Duration took) {
  impl_->kubelet
      .Add({{"verb", "get"}, {"path", path}, {"code", std::to_string(code)}},
           net::exponentialBuckets(0.001, 4, 7))
      .Observe(net::inSeconds(took));
}

void Metrics::hostApplication(const std::string& name, const std::string& resource,
                              const std::string& priorityClass, const std::string& qos,
                              double value) {
  if (impl_->node.empty()) return;
  auto& one = impl_->hostApps.Add({{"node", impl_->node},
                                   {"host_application_name", name},
                                   {"resource", resource},
                                   {"priority_class", priorityClass},
                                   {"qos", qos}});
  one.Set(value);
  impl_->hostAppSeries.push_back(&one);
}
void Metrics::resetHostApplications() {
  Impl::clear(impl_->hostApps, impl_->hostAppSeries);
}

void Metrics::reportedUsage(bool system, std::optional<int> numaNode, const std::string& resource,
                            const std::string& unit, double value) {
  if (impl_->node.empty()) return;
  prometheus::Labels labels{{"node", impl_->node}, {"resource", resource}, {"unit", unit}};
  if (numaNode) labels["numa_node_id"] = std::to_string(*numaNode);
  const std::size_t which = (system ? 2 : 0) + (numaNode ? 1 : 0);
  auto& one = impl_->reported(which).Add(labels);
  one.Set(value);
  impl_->reportedSeries[which].push_back(&one);
}
void Metrics::resetReportedUsage() {
  for (std::size_t which = 0; which < std::size(impl_->reportedSeries); ++which)
    Impl::clear(impl_->reported(which), impl_->reportedSeries[which]);
}

void Metrics::predicted(const std::string& predictor, const Predicted& predicted) {
  if (impl_->node.empty()) return;
  const auto set = [&](Family<Gauge>& family, double cores, double bytes) {
    const std::string& node = impl_->node;
    family.Add({{"node", node}, {"predictor", predictor}, {"resource", "cpu"}, {"unit", "core"}})
        .Set(cores);
    family.Add({{"node", node}, {"predictor", predictor}, {"resource", "memory"}, {"unit", "byte"}})
        .Set(bytes);
  };
  set(impl_->predictedReclaimable, predicted.reclaimableCores, predicted.reclaimableBytes);
  set(impl_->predictedPeak, predicted.peakCores, predicted.peakBytes);
}

void Metrics::prodReclaimable(bool known, double cores, double bytes) {
  if (impl_->node.empty()) return;
  const auto set = [&](const char* resource, const char* unit, double value) {
    impl_->reclaimable
        .Add({{"node", impl_->node},
              {"priority", "koord-prod"},
              {"resource", resource},
              {"unit", unit}})
        .Set(value);
  };
  set("cpu", "core", cores);
  set("memory", "byte", bytes);
  impl_->reclaimableStatus.Add({{"node", impl_->node}, {"priority", "koord-prod"}})
      .Set(known ? 0 : 1);
}

void Metrics::sharePools(const CpuSet& shared, const CpuSet& bestEffort, bool members) {
  if (impl_->node.empty()) return;
  impl_->sharePool.Add({{"node", impl_->node}}).Set(shared.size());
  impl_->beSharePool.Add({{"node", impl_->node}}).Set(bestEffort.size());
  if (!members) return;
  const auto list = [&](Family<Gauge>& family, std::vector<Gauge*>& series, CpuSet& before,
                        const CpuSet& now) {
    if (before == now) return;
    before = now;
    Impl::clear(family, series);
    now.forEach([&](int cpu) {
      series.push_back(&family.Add({{"node", impl_->node}, {"cpu", std::to_string(cpu)}}));
      series.back()->Set(1);
    });
  };
  list(impl_->sharePoolInfo, impl_->poolSeries, impl_->pool, shared);
  list(impl_->beSharePoolInfo, impl_->bePoolSeries, impl_->bePool, bestEffort);
}

void Metrics::cpuRatio(double ratio, bool valid) {
  if (impl_->node.empty()) return;
  impl_->ratio.Add({{"node", impl_->node}}).Set(ratio);
  impl_->ratioInvalid.Add({{"node", impl_->node}}).Set(valid ? 0 : 1);
}

void Metrics::oomScore(const ContainerName& container, int score) {
  if (impl_->node.empty()) return;
  auto& one = impl_->oomScores.Add({{"node", impl_->node},
                                    {"pod_name", container.podName},
                                    {"pod_namespace", container.podNamespace},
                                    {"pod_uid", container.podUid},
                                    {"container_name", container.container}});
  one.Set(score);
  impl_->oomSeries[&one] = std::nullopt;
}

void Metrics::pressure(const Subject& subject, const PressureSeries& series) {
  if (impl_->node.empty()) return;
  prometheus::Labels labels{{"node", impl_->node},
                            {"pod_uid", subject.podUid},
                            {"pod_name", subject.podName},
                            {"pod_namespace", subject.podNamespace},
                            {"psi_resource_type", series.resource},
                            {"psi_precision", series.precision},
                            {"psi_degree", series.degree}};
  const bool ofPod = subject.containerId.empty();
  if (!ofPod) {
    labels["container_id"] = subject.containerId;
    labels["container_name"] = subject.containerName;
  }
  labels["cpu_full_supported"] = series.cpuFullSupported ? "true" : "false";
  auto& one = (ofPod ? impl_->podPsi : impl_->containerPsi).Add(labels);
  one.Set(series.value);
  (ofPod ? impl_->podPsiSeries : impl_->containerPsiSeries).push_back(&one);
}
void Metrics::resetPressure() {
  Impl::clear(impl_->containerPsi, impl_->containerPsiSeries);
  Impl::clear(impl_->podPsi, impl_->podPsiSeries);
}

void Metrics::cacheOccupancy(const std::string& qos, const std::string& cache, double bytes) {
  if (impl_->node.empty()) return;
  auto& one = impl_->occupancy.Add({{"node", impl_->node}, {"cache_id", cache}, {"qos", qos}});
  one.Set(bytes);
  impl_->occupancySeries.push_back(&one);
}
void Metrics::memoryBandwidth(const std::string& qos, const std::string& cache,
                              const std::string& type, double rate) {
  if (impl_->node.empty()) return;
  auto& one = impl_->bandwidth.Add(
      {{"node", impl_->node}, {"cache_id", cache}, {"qos", qos}, {"mb_type", type}});
  one.Set(rate);
  impl_->bandwidthSeries.push_back(&one);
}
void Metrics::resetMonitoring() {
  Impl::clear(impl_->occupancy, impl_->occupancySeries);
  Impl::clear(impl_->bandwidth, impl_->bandwidthSeries);
}

void Metrics::scaledBurst(const Subject& container, double us) {
  impl_->setOfContainer(impl_->scaledBurst, impl_->burstSeries, container, {}, us);
}
void Metrics::scaledQuota(const Subject& container, double us) {
  impl_->setOfContainer(impl_->scaledQuota, impl_->quotaSeries, container, {}, us);
}
void Metrics::resetScaledQuotas() {
  Impl::clear(impl_->scaledBurst, impl_->burstSeries);
  Impl::clear(impl_->scaledQuota, impl_->quotaSeries);
}

void Metrics::coreSchedCookie(const Subject& container, const std::string& group,
                              std::uint64_t cookie) {
  impl_->setOfContainer(impl_->cookies, impl_->cookieSeries, container,
                        {{"pod_uid", container.podUid},
                         {"core_sched_group", group},
                         {"core_sched_cookie", std::to_string(cookie)}},
                        1);
}
void Metrics::resetCoreSchedCookies() {
  Impl::clear(impl_->cookies, impl_->cookieSeries);
}
void Metrics::coreSchedManaged(const std::string& group, bool ok) {
  if (impl_->node.empty()) return;
  auto& one = impl_->cookiesManaged.Add({{"node", impl_->node},
                                         {"core_sched_group", group},
                                         {"status", ok ? "succeeded" : "failed"}});
  one.Increment();
  impl_->managedSeries[&one] = std::nullopt;
}

void Metrics::cpi(const Subject& container, double cycles, double instructions) {
  if (impl_->node.empty()) return;
  for (const auto& [field, value] : {std::pair("cycles", cycles), {"instructions", instructions}}) {
    auto& one = impl_->containerCpi.Add({{"node", impl_->node},
                                         {"container_id", container.containerId},
                                         {"container_name", container.containerName},
                                         {"pod_uid", container.podUid},
                                         {"pod_name", container.podName},
                                         {"pod_namespace", container.podNamespace},
                                         {"cpi_field", field}});
    one.Set(value);
    impl_->cpiSeries.push_back(&one);
  }
}
void Metrics::resetCpi() {
  Impl::clear(impl_->containerCpi, impl_->cpiSeries);
}

void Metrics::interference(const Subject& container, const std::string& cause, double value,
                           double normal) {
  if (impl_->node.empty()) return;
  auto& one = impl_->interferences.Add({{"node", impl_->node},
                                        {"container_name", container.containerName},
                                        {"pod_uid", container.podUid},
                                        {"pod_name", container.podName},
                                        {"pod_namespace", container.podNamespace},
                                        {"cause", cause}});
  one.Set(normal > 0 ? value / normal : 0);
  impl_->interferenceSeries.push_back(&one);
}
void Metrics::resetInterference() {
  Impl::clear(impl_->interferences, impl_->interferenceSeries);
}

void Metrics::countConflict(const std::string& type) {
  if (!impl_->node.empty()) impl_->fights.Add({{"node", impl_->node}, {"type", type}}).Increment();
}

void Metrics::nodeAllocatable(const std::string& resource, const std::string& unit, double value) {
  if (impl_->node.empty()) return;
  impl_->allocatable.Add({{"node", impl_->node}, {"resource", resource}, {"unit", unit}})
      .Set(value);
}

void Metrics::containerResources(const std::vector<ContainerResource>& requests,
                                 const std::vector<ContainerResource>& limits) {
  // The units are upstream's, which dashboards match. Each is right for half of its series only.
  impl_->fill(impl_->requests, impl_->requestSeries, "integer", requests);
  impl_->fill(impl_->limits, impl_->limitSeries, "byte", limits);
}

void Metrics::collectGarbage(WallTime now) {
  const auto sweep = [&](auto& family, auto& all) {
    for (auto it = all.begin(); it != all.end();) {
      auto& [series, updated] = *it;
      if (!updated) updated = now;
      if (now - *updated < 5min) {
        ++it;
      } else {
        family.Remove(series);
        it = all.erase(it);
      }
    }
  };
  sweep(impl_->evictionDetails, impl_->details);
  sweep(impl_->oomScores, impl_->oomSeries);
  sweep(impl_->cookiesManaged, impl_->managedSeries);
}

std::string Metrics::internalText() const {
  return net::prometheusText(impl_->internal);
}
std::string Metrics::externalText() const {
  return net::prometheusText(impl_->external);
}
const prometheus::Collectable& Metrics::external() const {
  return impl_->external;
}

}  // namespace koord::koordlet
