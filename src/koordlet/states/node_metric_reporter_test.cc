#include "koordlet/states/node_metric_reporter.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "apiserver/embedded_cluster.h"
#include "base/virtual_loop.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// Checks a report with all fields against the schema of the custom resource, as the API server
// does.
TEST(NodeMetricReporting, AFullReportIsWhatTheApiServerTakes) {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster(loop);
  cluster.install(std::filesystem::path(KOORD_DEPLOY) / "crds/slo.koordinator.sh_nodemetrics.yaml");
  cluster.put(api::NodeMetric::kType,
              R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric",
                  "metadata":{"name":"n1"},"spec":{}})");
  MetricCache cache(1s, {});
  States states;
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = pod->metadata.name = "web";
  pod->metadata.namespace_ = "shop";
  states.setPods({viewOf(pod, CgroupDriver::Systemd)});
  EffectiveSlo slo = defaultSlo();
  api::HostApplicationSpec nginx;
  nginx.name = "nginx";
  slo.hostApplications = {nginx};
  states.setSlo(slo);
  GpuReading reading;
  reading.gpus.push_back({.identity = {"GPU-0", "H200", 0, ""}, .memoryTotal = 16'384});
  states.setGpus(reading, {});
  const auto append = [&](Metric cpu, Metric memory, std::string_view subject) {
    cache.append(cpu, subject, loop.wallNow(), 1.5);
    cache.append(memory, subject, loop.wallNow(), 4096);
  };
  append(Metric::NodeCpu, Metric::NodeMemory, "");
  append(Metric::SystemCpu, Metric::SystemMemory, "");
  append(Metric::PodCpu, Metric::PodMemory, "web");
  append(Metric::HostAppCpu, Metric::HostAppMemory, "nginx");
  append(Metric::NodeGpuCore, Metric::NodeGpuMemory, "GPU-0");
  append(Metric::PodGpuCore, Metric::PodGpuMemory, "web/GPU-0");
  for (const auto* zone : {"0", "1"}) append(Metric::NumaCpu, Metric::NumaMemory, zone);
  append(Metric::NumaSystemCpu, Metric::NumaSystemMemory, "1");
  Metrics metrics;
  NodeMetricReporter reporter(
      cluster, loop, cache, states, metrics, {"n1", false},
      [] { return std::optional(ProdForecast{1000, 1024, 2000, 2048}); }, Random(1));
  reporter.setPodExtensions([](const std::string&) -> json::value {
    return json::object{{"interference", json::object{{"cause", "cpi"}}}};
  });
  reporter.start();
  loop.advance(5s);
  const auto object = cluster.get(api::NodeMetric::kType, "n1");
  ASSERT_TRUE(object);
  const auto* status = find(*object, "status");
  ASSERT_NE(status, nullptr) << "the report was refused";
  const auto& zones = at(*status, "nodeMetric", "numaUsages")->get_array();
  ASSERT_EQ(zones.size(), 2U);
  EXPECT_EQ(zones[0].at("numaNodeID"), 0);
  EXPECT_EQ(zones[1].at("numaNodeID"), 1);
  EXPECT_EQ(textAt(zones[1], "systemUsage", "resources", "cpu"), "1500m");
  EXPECT_EQ(textAt(*status, "prodReclaimableMetric", "resource", "resources", "cpu"), "1");
  EXPECT_EQ(at(*status, "podsMetric")->get_array().size(), 1U);
  EXPECT_EQ(at(*status, "hostApplicationMetric")->get_array().size(), 1U);
}

}  // namespace
}  // namespace koord::koordlet
