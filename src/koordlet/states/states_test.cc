#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "koordlet/states/kubelet.h"
#include "koordlet/states/list_items.h"
#include "koordlet/states/node_metric_reporter.h"
#include "koordlet/states/node_slo.h"
#include "koordlet/states/pod_view.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

EffectiveSlo effective(std::string_view spec, std::vector<std::string>& problems) {
  const auto slo = api::decodeText<api::NodeSLO>(R"({"spec":)" + std::string(spec) + "}");
  EXPECT_TRUE(slo) << slo.error().message;
  return effectiveSlo(slo->spec, defaultSlo(), problems);
}

TEST(NodeSlo, FieldsOfTheObjectWinAndTheRestIsDefault) {
  std::vector<std::string> problems;
  const auto slo = effective(
      R"({"resourceUsedThresholdWithBE":{"enable":true,"memoryEvictThresholdPercent":80}})",
      problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_TRUE(slo.beEnabled());
  EXPECT_EQ(slo.threshold.memoryEvictThresholdPercent, 80);
  EXPECT_EQ(slo.threshold.cpuSuppressThresholdPercent, 65);
  EXPECT_EQ(slo.threshold.cpuSuppressPolicy, "cpuset");
  EXPECT_EQ(slo.cpuBurst.policy, "none");
}

TEST(NodeSlo, AnExplicitFalseIsNotADefault) {
  std::vector<std::string> problems;
  EXPECT_FALSE(
      effective(R"({"resourceUsedThresholdWithBE":{"enable":false}})", problems).beEnabled());
  EXPECT_FALSE(effective("{}", problems).beEnabled());
}

TEST(NodeSlo, ASwitchedOffClassIsNeutralAndASwitchedOnOneHasItsDefaults) {
  std::vector<std::string> problems;
  const auto slo = effective(R"({"resourceQOSStrategy":{"beClass":{"cpuQOS":{"enable":true},
                                  "memoryQOS":{"enable":true,"wmarkRatio":80}}}})",
                             problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(slo.qos.beClass->cpuQOS->groupIdentity, -1);
  EXPECT_EQ(slo.qos.beClass->memoryQOS->wmarkRatio, 80);
  EXPECT_EQ(slo.qos.beClass->memoryQOS->wmarkMinAdj, 50);
  EXPECT_EQ(slo.qos.beClass->resctrlQOS->catRangeEndPercent, 100);
  EXPECT_EQ(slo.qos.lsClass->cpuQOS->groupIdentity, 0);
  EXPECT_EQ(slo.qos.lsClass->memoryQOS->wmarkRatio, 0);
  EXPECT_EQ(slo.qos.lsClass->memoryQOS->wmarkScalePermill, 50);
}

TEST(NodeSlo, ABrokenSectionKeepsTheLastGoodOneAndNamesTheField) {
  std::vector<std::string> problems;
  auto last = effective(R"({"cpuBurstStrategy":{"policy":"auto"}})", problems);
  const auto broken = api::decodeText<api::NodeSLO>(
      R"({"spec":{"cpuBurstStrategy":{"cpuBurstPercent":"many"},"hostApplications":[{"name":5},{"name":"ok"}]}})");
  ASSERT_TRUE(broken);
  const auto slo = effectiveSlo(broken->spec, last, problems);
  EXPECT_EQ(slo.cpuBurst.policy, "auto");
  ASSERT_THAT(slo.hostApplications, SizeIs(1));
  EXPECT_THAT(problems, ElementsAre(HasSubstr("spec.cpuBurstStrategy: cpuBurstPercent"),
                                    HasSubstr("spec.hostApplications[0]: name")));
}

TEST(Kubelet, TheUrlComesFromTheNode) {
  const auto node = *api::decodeText<api::Node>(
      R"({"metadata":{"name":"n"},"status":{"addresses":[{"type":"Hostname","address":"h"},
          {"type":"InternalIP","address":"fd00::7"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}})");
  EXPECT_EQ(kubeletUrl(node, {}, "/pods/").value(), "https://[fd00::7]:10250/pods/");
  EXPECT_EQ(kubeletUrl(node, {.addressType = "Hostname", .insecure = true}, "/pods/").value(),
            "http://h:10255/pods/");
  EXPECT_THAT(kubeletUrl(node, {.addressType = "ExternalIP"}, "/pods/").error().message,
              HasSubstr("ExternalIP"));
  EXPECT_THAT(kubeletUrl(api::Node{}, {}, "/pods/").error().message, HasSubstr("InternalIP"));
}

TEST(Kubelet, APodThatCannotBeReadDoesNotHideTheOthers) {
  PodListDecoder decoder;
  const auto pods = decoder.decode(
      R"({"items":[{"metadata":{"name":"a","uid":"1"}},{"metadata":{"name":5}},{"metadata":{"name":"no-uid"}},
          {"metadata":{"name":"b","uid":"2"},"spec":{"containers":[{"resources":{"requests":{"cpu":"-x"}}}]}}]})");
  ASSERT_TRUE(pods);
  ASSERT_THAT(*pods, SizeIs(1));
  EXPECT_EQ((*pods)[0]->metadata.name, "a");
  EXPECT_TRUE(decoder.decode(R"({"items":null})")->empty());
  EXPECT_FALSE(decoder.decode("<html>"));
  EXPECT_FALSE(decoder.decode(R"({"items":{}})"));
}

TEST(Kubelet, APodWhoseTextDidNotChangeIsTheSameObjectAndUnreadFieldsAreDropped) {
  PodListDecoder decoder;
  const auto list = [](std::string_view phase) {
    return fmt::format(
        R"({{"items":[{{"metadata":{{"name":"a","uid":"1"}},"spec":{{"containers":[{{"name":"c",
            "env":[{{"name":"E","value":"v"}}],"resources":{{"limits":{{"cpu":"1"}}}}}}]}}}},
            {{"metadata":{{"name":"b","uid":"2"}},"status":{{"phase":"{}"}}}}]}})",
        phase);
  };
  const auto first = *decoder.decode(list("Pending"));
  const auto second = *decoder.decode(list("Running"));
  EXPECT_EQ(second[0], first[0]);
  EXPECT_NE(second[1], first[1]);
  EXPECT_EQ(second[1]->status.phase, "Running");
  EXPECT_TRUE(first[0]->spec.containers[0].env.empty());
  EXPECT_TRUE(first[0]->spec.containers[0].resources.limits.contains("cpu"));
  (void)decoder.decode(R"({"items":[]})");
  EXPECT_NE((*decoder.decode(list("Running")))[0], first[0]);  // of the last list only
}

TEST(ListItems, BracesAndQuotesInsideTextsAreNoStructure) {
  std::vector<std::string> items;
  const auto scan = [&](std::string_view text) {
    items.clear();
    return forEachListItem(text, [&](std::string_view item) { items.emplace_back(item); })
        .has_value();
  };
  EXPECT_TRUE(scan(
      R"( {"kind" : "L]}\"{", "items" : [ {"a":"}]\\"} , 5 , "x,]" ] , "z":[1,{"items":[7]}] } )"));
  EXPECT_THAT(items, ElementsAre(R"({"a":"}]\\"})", "5", R"("x,]")"));
  EXPECT_TRUE(scan(R"({"items":[]})"));
  EXPECT_TRUE(scan("{}"));
  for (const std::string_view broken :
       {"", "[]", "{", R"({"items")", R"({"items":)", R"({"items":[)", R"({"items":[{})",
        R"({"items":[{}])", R"({"items":[{"a":"\"}]})", R"({"items":[,]})", R"({items:[]})",
        R"({"a":1 "items":[]})"})
    EXPECT_FALSE(scan(broken)) << broken;
}

TEST(PodView, ContainersWithoutAKnownIdHaveNoDirectory) {
  const auto pod = *api::decodeText<api::Pod>(
      R"({"metadata":{"uid":"u"},"status":{"qosClass":"Burstable","containerStatuses":[
          {"name":"a","containerID":"containerd://1","state":{"running":{}}},{"name":"b"},
          {"name":"c","containerID":"containerd://"},{"name":"d","containerID":"rkt://1"}]}})");
  const auto view = viewOf(std::make_shared<const api::Pod>(pod), CgroupDriver::Cgroupfs);
  ASSERT_THAT(view.containers, SizeIs(4));
  EXPECT_EQ(view.containers[0].dir, "kubepods/burstable/podu/1");
  EXPECT_TRUE(view.containers[0].running);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(view.containers[i].dir, "") << i;
}

TEST(PodView, AContainerThatIsBeingMadeHasNoDirectoryYet) {
  const auto pod = api::decodeText<api::Pod>(R"({"metadata":{"uid":"u"},"status":{
      "qosClass":"BestEffort","containerStatuses":[
        {"name":"made","containerID":"containerd://a","state":{"waiting":{}}},
        {"name":"runs","containerID":"containerd://b","state":{"running":{}}}]}})");
  ASSERT_TRUE(pod);
  const auto view = viewOf(std::make_shared<const api::Pod>(*pod), CgroupDriver::Cgroupfs);
  EXPECT_EQ(view.containers[0].id, "a");
  EXPECT_EQ(view.containers[0].dir, "");
  EXPECT_EQ(view.containers[1].dir, "kubepods/besteffort/podu/b");
}

TEST(ReportPolicy, SmallValuesAreRaisedToTheMinimum) {
  const auto object = *api::decodeText<api::NodeMetric>(
      R"({"spec":{"metricCollectPolicy":{"reportIntervalSeconds":10,"aggregateDurationSeconds":30,
          "nodeAggregatePolicy":{"durations":["2m0s"]}}}})");
  const auto policy = reportPolicyOf(object.spec);
  EXPECT_EQ(policy.interval, 30s);
  EXPECT_EQ(policy.window, 60s);
  EXPECT_THAT(policy.aggregateWindows, ElementsAre(2min));
  const auto defaults = reportPolicyOf({});
  EXPECT_EQ(defaults.interval, 60s);
  EXPECT_EQ(defaults.window, 300s);
  EXPECT_THAT(defaults.aggregateWindows, ElementsAre(5min, 10min, 30min));
}

TEST(NodeMetricStatus, ValuesAreCutToMilliCoresAndBytes) {
  MetricCache cache(1s, {});
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  cache.append(Metric::NodeCpu, "", now, 12.3456);
  cache.append(Metric::NodeMemory, "", now, 41943040000.7);
  const auto status = nodeMetricStatus(reportPolicyOf({}), cache, States{}, now);
  ASSERT_TRUE(status && status->nodeMetric);
  EXPECT_EQ(status->nodeMetric->nodeUsage.resources.at("cpu").toString(), "12345m");
  EXPECT_EQ(status->nodeMetric->nodeUsage.resources.at("memory").toString(), "40000Mi");
}

TEST(NodeMetricStatus, GpusAreReportedOfTheNodeAndOfPodsThatUseThem) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  MetricCache cache(1s, {});
  for (const auto* subject : {"", "web"}) {
    const bool node = *subject == 0;
    cache.append(node ? Metric::NodeCpu : Metric::PodCpu, subject, now, 1);
    cache.append(node ? Metric::NodeMemory : Metric::PodMemory, subject, now, 1024);
  }
  cache.append(Metric::NodeGpuCore, "GPU-1", now, 61.7);
  cache.append(Metric::NodeGpuMemory, "GPU-1", now, 4096);
  cache.append(Metric::PodGpuCore, "web/GPU-1", now, 30);
  cache.append(Metric::PodGpuMemory, "web/GPU-1", now, 1024);
  States states;
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = "web";
  states.setPods({viewOf(pod, CgroupDriver::Systemd)});
  GpuReading reading;
  for (const auto* uuid : {"GPU-0", "GPU-1"})
    reading.gpus.push_back({.identity = {uuid, "H200", uuid[4] - '0', ""}, .memoryTotal = 16'384});
  states.setGpus(reading, {});

  const auto status = nodeMetricStatus(reportPolicyOf({}), cache, states, now);
  ASSERT_TRUE(status);
  const auto& devices = status->nodeMetric->nodeUsage.devices;
  ASSERT_THAT(devices, SizeIs(1));  // nothing was measured of the other one
  EXPECT_EQ(devices[0].id, "GPU-1");
  EXPECT_EQ(devices[0].minor, 1);
  EXPECT_EQ(devices[0].resources.at("koordinator.sh/gpu-core").toString(), "61");
  EXPECT_EQ(devices[0].resources.at("koordinator.sh/gpu-memory").toString(), "4Ki");
  EXPECT_EQ(devices[0].resources.at("koordinator.sh/gpu-memory-ratio").toString(), "25");
  ASSERT_THAT(status->podsMetric.at(0).podUsage.devices, SizeIs(1));
  EXPECT_EQ(
      status->podsMetric[0].podUsage.devices[0].resources.at("koordinator.sh/gpu-core").toString(),
      "30");
}

TEST(NodeMetricStatus, HotPagesCountWhereTheyAreMeasuredAndElseNoPageCache) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  MetricCache cache(1s, {});
  cache.append(Metric::NodeCpu, "", now, 1);
  cache.append(Metric::NodeMemory, "", now, 1000);
  const auto policy = reportPolicyOf(*api::decodeText<api::NodeMetricSpec>(
      R"({"metricCollectPolicy":{"nodeMemoryCollectPolicy":"usageWithHotPageCache"}})"));
  const auto reported = [&] {
    return nodeMetricStatus(policy, cache, States(), now)
        ->nodeMetric->nodeUsage.resources.at("memory")
        .value();
  };
  EXPECT_EQ(reported(), 1000);
  cache.append(Metric::NodeMemoryWithHotPages, "", now, 1700);
  EXPECT_EQ(reported(), 1700);
}

TEST(NodeMetricStatus, TheSystemNeverUsesMoreThanTheNode) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  MetricCache cache(1s, {});
  for (int i = 0; i < 4; ++i) {  // memory grows, and the system is known for the last second only
    cache.append(Metric::NodeCpu, "", now + i * 1s, 1);
    cache.append(Metric::NodeMemory, "", now + i * 1s, 1000 * (i + 1));
  }
  cache.append(Metric::SystemCpu, "", now + 3s, 0.5);
  cache.append(Metric::SystemMemory, "", now + 3s, 3900);
  const auto status = nodeMetricStatus(reportPolicyOf({}), cache, States(), now + 3s);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->nodeMetric->nodeUsage.resources.at("memory").value(), 2500);
  EXPECT_EQ(status->nodeMetric->systemUsage.resources.at("memory").value(), 2500);
  EXPECT_EQ(status->nodeMetric->systemUsage.resources.at("cpu").milliValue(), 500);
}

TEST(NodeMetricStatus, NumaNodesAreReportedAsFarAsTheyAreMeasured) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  MetricCache cache(1s, {});
  cache.append(Metric::NodeCpu, "", now, 3);
  cache.append(Metric::NodeMemory, "", now, 3000);
  for (const auto* node : {"0", "1"}) {
    cache.append(Metric::NumaCpu, node, now, 1.5);
    cache.append(Metric::NumaMemory, node, now, 1500);
  }
  cache.append(Metric::NumaCpu, "2", now, 1);  // its memory is not known
  cache.append(Metric::NumaSystemCpu, "1", now, 0.25);
  cache.append(Metric::NumaSystemMemory, "1", now, 500);
  const auto status = nodeMetricStatus(reportPolicyOf({}), cache, States(), now);
  ASSERT_TRUE(status);
  const auto& usages = status->nodeMetric->numaUsages;
  ASSERT_EQ(usages.size(), 2U);
  EXPECT_EQ(usages[0].numaNodeID, 0);
  EXPECT_EQ(usages[0].nodeUsage.resources.at("cpu").toString(), "1500m");
  EXPECT_TRUE(usages[0].systemUsage.resources.empty());
  EXPECT_EQ(usages[1].numaNodeID, 1);
  EXPECT_EQ(usages[1].systemUsage.resources.at("cpu").toString(), "250m");
  EXPECT_EQ(usages[1].systemUsage.resources.at("memory").value(), 500);
}

}  // namespace
}  // namespace koord::koordlet
