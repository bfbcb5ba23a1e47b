#include "koordlet/metrics/metrics.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <sstream>

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using Names = std::set<std::string>;

// The type and label names of a metric, on which dashboards rely.
struct Shape {
  std::string type;
  Names labels;
  bool operator==(const Shape&) const = default;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.type;
  for (const auto& label : shape.labels) *out << ' ' << label;
}

// By name, of the metrics that have series; the parts of a histogram count as one metric.
std::map<std::string, Shape> shapesIn(const std::string& text) {
  std::map<std::string, std::string> types;
  std::map<std::string, Shape> shapes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, name, type;
    words >> first;
    if (first == "#") {
      words >> second >> name >> type;
      if (second == "TYPE") types[name] = type;
      continue;
    }
    name = first.substr(0, first.find('{'));
    for (const std::string suffix : {"_bucket", "_sum", "_count"})
      if (name.ends_with(suffix) && types.contains(name.substr(0, name.size() - suffix.size())))
        name.resize(name.size() - suffix.size());
    Shape& shape = shapes[name];
    shape.type = types[name];
    const auto open = line.find('{'), close = line.rfind('}');
    if (open == std::string::npos) continue;
    for (std::size_t at = open + 1; at < close;) {
      const auto equals = line.find('=', at);
      const std::string label = line.substr(at, equals - at);
      if (label != "le") shape.labels.insert(label);
      at = line.find('"', line.find('"', equals) + 1) + 2;
    }
  }
  return shapes;
}

const Names kContainer{"node", "container_id", "container_name", "pod_name", "pod_namespace"};
Names with(Names names, const Names& more) {
  names.insert(more.begin(), more.end());
  return names;
}

const Metrics::Subject kWho{"uid", "web", "shop", "containerd://c", "main"};

void fillInternal(Metrics& metrics) {
  metrics.started("n", WallTime{} + 5s);
  for (const bool ok : {true, false}) {
    metrics.nodeCpuInfo(ok);
    metrics.nodeNumaInfo(ok);
    metrics.nodeStorageInfo(ok);
  }
  metrics.podEvicted("evicted", "shop", "web");
  metrics.nodeUsage(1.5, 4096);
  metrics.beSuppress("cpuset", 4);
  metrics.beSuppressLsUsed(1);
  metrics.beSuppressBeUsed(1);
  metrics.scaledBurst(kWho, 400'000);
  metrics.scaledQuota(kWho, 480'000);
  metrics.sharePools(CpuSet{0, 1}, CpuSet{2}, true);
  metrics.predicted("minPredictor", {1, 2, 3, 4});
  metrics.coreSchedCookie(kWho, "team", 77);
  metrics.coreSchedManaged("team", true);
  for (const bool system : {false, true}) {
    metrics.reportedUsage(system, std::nullopt, "cpu", "core", 2.5);
    metrics.reportedUsage(system, 1, "cpu", "core", 1.5);
  }
  metrics.oomScore({"uid", "web", "shop", "main"}, 300);
  metrics.resourceUpdate("cpu.shares", true, 1ms);
  metrics.kubeletRequest("/pods/", 200, 1ms);
  metrics.runtimeHook("GroupIdentity", "PreRunPodSandbox", true, 1ms);
  metrics.hookReconciled("pod", "cpu.shares", true, 1ms);
  metrics.hostApplication("nginx", "cpu", "koord-prod", "LS", 1);
}

TEST(Metrics, InternalOnesAreWhatDashboardsExpect) {
  Metrics metrics;
  metrics.setNode("n");
  fillInternal(metrics);
  const auto shapes = shapesIn(metrics.internalText());
  const std::map<std::string, Shape> expected{
      {"start_time", {"gauge", {"node"}}},
      {"collect_node_cpu_info_status", {"counter", {"node", "status"}}},
      {"collect_node_numa_info_status", {"counter", {"node", "status"}}},
      {"collect_node_local_storage_info_status", {"counter", {"node", "status"}}},
      {"pod_eviction", {"counter", {"node", "reason"}}},
      {"pod_eviction_detail", {"counter", {"node", "pod_namespace", "pod_name", "reason"}}},
      {"node_used_cpu_cores", {"gauge", {"node"}}},
      {"node_used_memory_bytes", {"gauge", {"node"}}},
      {"be_suppress_cpu_cores", {"gauge", {"node", "type"}}},
      {"be_suppress_ls_used_cpu_cores", {"gauge", {"node"}}},
      {"be_suppress_be_used_cpu_cores", {"gauge", {"node"}}},
      {"container_scaled_cfs_burst_us", {"gauge", kContainer}},
      {"container_scaled_cfs_quota_us", {"gauge", kContainer}},
      {"cpuset_share_pool_cpu_cores", {"gauge", {"node"}}},
      {"cpuset_be_share_pool_cpu_cores", {"gauge", {"node"}}},
      {"cpuset_share_pool_info", {"gauge", {"node", "cpu"}}},
      {"cpuset_be_share_pool_info", {"gauge", {"node", "cpu"}}},
      {"node_predicted_resource_reclaimable", {"gauge", {"node", "predictor", "resource", "unit"}}},
      {"node_predicted_resource_peak", {"gauge", {"node", "predictor", "resource", "unit"}}},
      {"container_core_sched_cookie",
       {"gauge", with(kContainer, {"pod_uid", "core_sched_group", "core_sched_cookie"})}},
      {"core_sched_cookie_manage_status", {"counter", {"node", "core_sched_group", "status"}}},
      {"node_metric_node_usage", {"gauge", {"node", "resource", "unit"}}},
      {"node_metric_system_usage", {"gauge", {"node", "resource", "unit"}}},
      {"node_metric_numa_node_usage", {"gauge", {"node", "numa_node_id", "resource", "unit"}}},
      {"node_metric_numa_system_usage", {"gauge", {"node", "numa_node_id", "resource", "unit"}}},
      {"container_oom_score_adj",
       {"gauge", {"node", "pod_name", "pod_namespace", "pod_uid", "container_name"}}},
      {"resource_update_duration_milliseconds", {"histogram", {"type", "status"}}},
      {"kubelet_request_duration_seconds", {"histogram", {"verb", "path", "code"}}},
      {"runtime_hook_invoked_duration_milliseconds",
       {"histogram", {"node", "hook", "stage", "status"}}},
      {"runtime_hook_reconciler_invoked_duration_milliseconds",
       {"histogram", {"node", "level", "resource_type", "status"}}},
      {"host_application_resource_usage",
       {"gauge", {"node", "host_application_name", "resource", "priority_class", "qos"}}},
  };
  for (const auto& [name, shape] : expected) {
    SCOPED_TRACE(name);
    const auto found = shapes.find("koordlet_" + name);
    ASSERT_NE(found, shapes.end());
    EXPECT_EQ(found->second, shape);
  }
}

TEST(Metrics, ExternalOnesAreWhatDashboardsExpect) {
  Metrics metrics;
  metrics.setNode("n");
  metrics.nodeAllocatable("kubernetes.io/batch-cpu", "integer", 1000);
  metrics.prodReclaimable(true, 1, 2);
  metrics.containerResources({{"kubernetes.io/batch-cpu", "u", "p", "ns", "id", "c", 5}},
                             {{"kubernetes.io/batch-cpu", "u", "p", "ns", "id", "c", 5}});
  metrics.cpi(kWho, 5, 6);
  metrics.pressure(kWho, {"cpu", "avg10", "some", true, 3});
  metrics.pressure({"uid", "web", "shop", "", ""}, {"cpu", "avg10", "some", true, 3});
  metrics.cacheOccupancy("LS", "0", 1);
  metrics.memoryBandwidth("LS", "0", "mbm_local_bytes", 1);
  const auto shapes = shapesIn(metrics.externalText());
  const Names container = with(kContainer, {"pod_uid"});
  const Names pressure{"psi_resource_type", "psi_precision", "psi_degree", "cpu_full_supported"};
  const std::map<std::string, Shape> expected{
      {"node_resource_allocatable", {"gauge", {"node", "resource", "unit"}}},
      {"node_priority_resource_reclaimable", {"gauge", {"node", "priority", "resource", "unit"}}},
      {"node_resource_priority_reclaimable_status", {"gauge", {"node", "priority"}}},
      {"container_resource_requests", {"gauge", with(container, {"resource", "unit"})}},
      {"container_resource_limits", {"gauge", with(container, {"resource", "unit"})}},
      {"container_cpi", {"gauge", with(container, {"cpi_field"})}},
      {"container_psi", {"gauge", with(container, pressure)}},
      {"pod_psi", {"gauge", with({"node", "pod_uid", "pod_name", "pod_namespace"}, pressure)}},
      {"resctrl_llc_occupancy", {"gauge", {"node", "cache_id", "qos"}}},
      {"resctrl_memory_bandwidth", {"gauge", {"node", "cache_id", "qos", "mb_type"}}},
  };
  for (const auto& [name, shape] : expected) {
    SCOPED_TRACE(name);
    const auto found = shapes.find("koordlet_" + name);
    ASSERT_NE(found, shapes.end());
    EXPECT_EQ(found->second, shape);
  }
}

TEST(Metrics, BeforeTheNodeIsKnownNothingIsSaidOfIt) {
  Metrics metrics;
  fillInternal(metrics);
  for (const auto& [name, shape] : shapesIn(metrics.internalText()))
    if (name != "koordlet_start_time") {
      EXPECT_FALSE(shape.labels.contains("node")) << name;
    }
}

TEST(Metrics, SeriesThatAreResetAreGone) {
  Metrics metrics;
  metrics.setNode("n");
  fillInternal(metrics);
  metrics.resetScaledQuotas();
  metrics.resetCoreSchedCookies();
  metrics.resetReportedUsage();
  metrics.resetHostApplications();
  const auto shapes = shapesIn(metrics.internalText());
  for (const auto* name : {"container_scaled_cfs_burst_us", "container_scaled_cfs_quota_us",
                           "container_core_sched_cookie", "node_metric_node_usage",
                           "node_metric_numa_system_usage", "host_application_resource_usage"})
    EXPECT_FALSE(shapes.contains(std::string("koordlet_") + name)) << name;
}

TEST(Metrics, WhatIsNotUpdatedForFiveMinutesGoes) {
  Metrics metrics;
  metrics.setNode("n");
  fillInternal(metrics);
  const WallTime start = WallTime{} + 1h;
  const auto has = [&](const std::string& name) {
    return shapesIn(metrics.internalText()).contains("koordlet_" + name);
  };
  metrics.collectGarbage(start);
  metrics.collectGarbage(start + 4min);
  EXPECT_TRUE(has("pod_eviction_detail"));
  EXPECT_TRUE(has("core_sched_cookie_manage_status"));
  metrics.collectGarbage(start + 5min);
  EXPECT_FALSE(has("pod_eviction_detail"));
  EXPECT_FALSE(has("core_sched_cookie_manage_status"));
  EXPECT_FALSE(has("container_oom_score_adj"));
  EXPECT_TRUE(has("pod_eviction"));
}

}  // namespace
}  // namespace koord::koordlet
