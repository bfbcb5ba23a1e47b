#include <gmock/gmock.h>

#include <filesystem>

#include "api/codec.h"
#include "apiserver/embedded_cluster.h"
#include "koordlet/testing/fake_host.h"
#include "koordlet/topology/topology_reporter.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr api::ResourceType kType{"topology.node.k8s.io", "v1alpha1", "noderesourcetopologies",
                                  "NodeResourceTopology", false};

PodView pinned(const std::string& uid, const std::string& qos, const std::string& cpus) {
  api::Pod pod;
  pod.metadata.uid = pod.metadata.name = uid;
  pod.metadata.namespace_ = "d";
  if (!qos.empty()) pod.metadata.labels["koordinator.sh/qosClass"] = qos;
  if (!cpus.empty())
    pod.metadata.annotations["scheduling.koordinator.sh/resource-status"] =
        R"({"cpuset":")" + cpus + R"("})";
  pod.status.phase = "Running";
  pod.status.qosClass = "Guaranteed";
  return viewOf(std::make_shared<const api::Pod>(pod), CgroupDriver::Systemd);
}

// Eight CPUs in four cores {i, i+4} of one NUMA node.
class NodeTopologyTest : public testing::Test {
 protected:
  NodeTopologyTest() {
    for (int cpu = 0; cpu < 8; ++cpu) cpus_.cpus.push_back({.cpu = cpu, .core = cpu % 4});
    node_.metadata.name = "n1";
    for (auto* list : {&node_.status.capacity, &node_.status.allocatable}) {
      (*list)["cpu"] = *Quantity::parse("8");
      (*list)["memory"] = *Quantity::parse("16Gi");
    }
  }
  NodeTopology compute() {
    auto result = nodeTopology({node_, cpus_, basic_, kubelet_, state_, pods_, memory_});
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(NodeTopology{});
  }
  std::string pool(const NodeTopology& topology, const std::string& name) {
    const auto& pools = topology.annotations.at("node.koordinator.sh/" + name);
    return std::string(textAt(pools.at(0), "cpuset"));
  }

  api::Node node_;
  CpuTopology cpus_;
  CpuBasicInfo basic_;
  std::optional<KubeletCpuConfig> kubelet_;
  CpuManagerState state_;
  std::vector<PodView> pods_;
  std::vector<ZoneMemory> memory_{{16 * kGiB, 0, 0}};
};

TEST_F(NodeTopologyTest, PoolsAreWithoutPinnedAndReservedCpus) {
  node_.metadata.annotations["node.koordinator.sh/reservation"] = R"({"resources":{"cpu":"2"}})";
  pods_ = {pinned("a", "LSE", "1,5"), pinned("b", "LSR", "2")};
  const auto topology = compute();
  EXPECT_EQ(pool(topology, "cpu-shared-pools"), "3,6-7");
  EXPECT_EQ(pool(topology, "be-cpu-shared-pools"), "2-3,6-7");
  EXPECT_EQ(textAt(topology.annotations.at("node.koordinator.sh/reservation"), "reservedCPUs"),
            "0,4");
}

TEST_F(NodeTopologyTest, CpusReservedByNameWinOverTheirNumber) {
  node_.metadata.annotations["node.koordinator.sh/reservation"] =
      R"({"resources":{"cpu":"4"},"reservedCPUs":"0-1"})";
  EXPECT_EQ(pool(compute(), "cpu-shared-pools"), "2-7");
}

TEST_F(NodeTopologyTest, WhatKubeletGaveAwayIsInNoPool) {
  kubelet_.emplace().cpuManagerPolicy = "static";
  kubelet_->reservedMilli = 500;
  state_.policy = "static";
  state_.owned["g"] = *CpuSet::parse("2-3");
  state_.owned["ls"] = *CpuSet::parse("6");
  pods_ = {pinned("g", "", ""), pinned("ls", "LS", "")};
  const auto topology = compute();
  EXPECT_EQ(topology.annotations.at("node.koordinator.sh/pod-cpu-allocs"), *parseJson(R"([
      {"namespace":"d","name":"g","uid":"g","cpuset":"2-3","managedByKubelet":true}])"));
  EXPECT_EQ(pool(topology, "cpu-shared-pools"), "0-1,4-7");
  EXPECT_EQ(pool(topology, "be-cpu-shared-pools"), "0-1,4-7");
  EXPECT_EQ(topology.annotations.at("kubelet.koordinator.sh/cpu-manager-policy"),
            *parseJson(R"({"policy":"static","reservedCPUs":"0"})"));
}

TEST_F(NodeTopologyTest, ZonesGiveUpWhatTheNodeKeepsWhenTheLabelSaysSo) {
  for (auto& place : cpus_.cpus) place.node = place.cpu % 4 / 2;
  memory_ = {{8 * kGiB, 0, 0}, {8 * kGiB, 0, 0}};
  node_.status.allocatable["cpu"] = *Quantity::parse("7500m");
  EXPECT_EQ(compute().zones.at(0).allocatable.at("cpu").toString(), "4");
  node_.metadata.labels["node.koordinator.sh/enable-numa-reservation"] = "true";
  const auto topology = compute();
  ASSERT_THAT(topology.zones, SizeIs(2));
  EXPECT_EQ(topology.zones[1].capacity.at("cpu").toString(), "4");
  EXPECT_EQ(topology.zones[1].allocatable.at("cpu").toString(), "3750m");
  EXPECT_EQ(topology.zones[1].allocatable.at("memory").toString(), "8Gi");
}

TEST_F(NodeTopologyTest, CpusAndMemoryMustTellOfTheSameNodes) {
  memory_ = {{kGiB, 0, 0}, {kGiB, 0, 0}};
  const auto result = nodeTopology({node_, cpus_, basic_, kubelet_, state_, pods_, memory_});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("CPUs are on 1 NUMA nodes, memory on 2"));
}

TEST_F(NodeTopologyTest, PoliciesComeFromKubeletsConfiguration) {
  const auto config = kubeletCpuConfigOf(*parseJson(R"({"kubeletconfig":{
      "cpuManagerPolicy":"static","cpuManagerPolicyOptions":{"full-pcpus-only":"true"},
      "topologyManagerPolicy":"single-numa-node","topologyManagerScope":"pod",
      "systemReserved":{"cpu":"500m"},"kubeReserved":{"cpu":"1"}}})"));
  ASSERT_TRUE(config);
  EXPECT_EQ(config->reservedMilli, 1500);
  kubelet_ = *config;
  EXPECT_THAT(compute().policies, ElementsAre("SingleNUMANodePodLevel"));
  kubelet_->topologyPolicy = "none";
  EXPECT_THAT(compute().policies, ElementsAre("None"));
  EXPECT_FALSE(kubeletCpuConfigOf(*parseJson("[]")));
}

struct FakeKubelet final : KubeletConfigSource {
  Result<json::value> answer = parseJson(R"({"kubeletconfig":{"cpuManagerPolicy":"none"}})");
  int asked = 0;
  Task<Result<json::value>> config(const api::Node&) override {
    ++asked;
    co_return answer;
  }
};

class TopologyReporting : public testing::Test {
 protected:
  TopologyReporting() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/topology.node.k8s.io_noderesourcetopologies.yaml");
    host_ = *Host::detect(files_.dirs());
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n1";
    node->metadata.uid = "node-uid";
    states_.setNode(node);
    states_.setPods({});
  }
  void start() {
    reporter_.emplace(cluster_, loop_, *host_, states_, &kubelet_, TopologyReporter::Options{"n1"});
    reporter_->start();
    loop_.advance(5s);
  }
  json::value object() { return cluster_.get(kType, "n1").value_or(nullptr); }
  std::string annotation(std::string_view name) {
    return std::string(textAt(object(), "metadata", "annotations", name));
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  FakeHost files_{CgroupVersion::V2, {.cpus = 8, .memoryBytes = 16 * kGiB}};
  std::optional<Host> host_;
  States states_;
  FakeKubelet kubelet_;
  std::optional<TopologyReporter> reporter_;
};

TEST_F(TopologyReporting, TheObjectIsMadeAndThenOnlyWrittenWhenSomethingChanged) {
  start();
  EXPECT_EQ(reporter_->problem(), "");
  EXPECT_EQ(annotation("node.koordinator.sh/cpu-shared-pools"),
            R"([{"socket":0,"node":0,"cpuset":"0-7"}])");
  EXPECT_EQ(textAt(object(), "metadata", "labels", "app.kubernetes.io/managed-by"), "Koordinator");
  EXPECT_EQ(object().at("topologyPolicies"), *parseJson(R"(["None"])"));
  EXPECT_EQ(textAt(object().at("zones").at(0), "name"), "node-0");
  loop_.advance(5min);
  EXPECT_THAT(cluster_.writes, SizeIs(1));
  states_.setPods({pinned("a", "LSR", "2-3")});
  loop_.advance(5s);
  EXPECT_EQ(annotation("node.koordinator.sh/cpu-shared-pools"),
            R"([{"socket":0,"node":0,"cpuset":"0-1,4-7"}])");
  EXPECT_THAT(cluster_.writes, SizeIs(2));
}

TEST_F(TopologyReporting, ForeignResourcesOfOurZonesStayAndForeignZonesGo) {
  start();
  json::value object = this->object();
  auto& zones = object.as_object()["zones"].as_array();
  zones.at(0).as_object()["resources"].as_array().push_back(*parseJson(
      R"({"name":"koordinator.sh/gpu","capacity":"8","allocatable":"8","available":"8"})"));
  zones.push_back(*parseJson(R"({"name":"other","type":"Node"})"));
  cluster_.put(kType, toJson(object));
  loop_.advance(70s);
  const json::value after = this->object();
  ASSERT_THAT(after.at("zones").as_array(), SizeIs(1));
  EXPECT_THAT(toJson(after.at("zones")), HasSubstr("koordinator.sh/gpu"));
  EXPECT_THAT(toJson(after.at("zones")), HasSubstr(R"("name":"memory")"));
}

TEST_F(TopologyReporting, AKubeletThatFailsLeavesTheObjectAndOneWithoutConfigurationIsFine) {
  kubelet_.answer = fail(ErrorCode::Unavailable, "connection refused");
  start();
  EXPECT_TRUE(object().is_null());
  EXPECT_EQ(reporter_->problem(), "connection refused");
  kubelet_.answer = fail(ErrorCode::NotFound, "404");
  loop_.advance(5s);
  EXPECT_FALSE(object().is_null());
  const int asked = kubelet_.asked;
  loop_.advance(30s);
  EXPECT_EQ(kubelet_.asked, asked);
}

TEST_F(TopologyReporting, OfAKubeletThatRefusesTheCpuManagersOwnFileIsBelieved) {
  files_.tree().write("kubelet/cpu_manager_state",
                      R"({"policyName":"static","defaultCpuSet":"0-7","checksum":1})");
  kubelet_.answer = fail(ErrorCode::Forbidden, "nodes/proxy");
  start();
  EXPECT_TRUE(object().is_null()) << "which may be a webhook that is away";
  loop_.advance(1min);
  EXPECT_THAT(annotation("kubelet.koordinator.sh/cpu-manager-policy"),
              HasSubstr(R"("policy":"static")"));
  kubelet_.answer = parseJson(R"({"kubeletconfig":{"cpuManagerPolicy":"static",
      "cpuManagerPolicyOptions":{"full-pcpus-only":"true"}}})");
  loop_.advance(2min);
  EXPECT_THAT(annotation("kubelet.koordinator.sh/cpu-manager-policy"), HasSubstr("full-pcpus"));
}

TEST_F(TopologyReporting, WhatKubeletSaidHoldsWhileItDoesNotAnswer) {
  start();
  kubelet_.answer = fail(ErrorCode::Unavailable, "connection refused");
  loop_.advance(5min);
  EXPECT_EQ(reporter_->problem(), "");
  EXPECT_THAT(annotation("kubelet.koordinator.sh/cpu-manager-policy"),
              HasSubstr(R"("policy":"none")"));
}

TEST_F(TopologyReporting, ATornStateOfKubeletsCpuManagerLeavesTheObjectAlone) {
  files_.tree().write("kubelet/cpu_manager_state", "{\"policyName\":\"sta");
  start();
  EXPECT_TRUE(object().is_null());
  EXPECT_THAT(reporter_->problem(), HasSubstr("cpu_manager_state"));
}

TEST_F(NodeTopologyTest, ZonesSayHowManyHugePagesTheyHaveWhenTheyAreAskedTo) {
  memory_ = {{14 * kGiB, kGiB, kGiB}};
  EXPECT_EQ(compute().zones.at(0).capacity.at("hugepages-2Mi").toString(), "0");
  const auto topology =
      nodeTopology({node_, cpus_, basic_, kubelet_, state_, pods_, memory_, true});
  ASSERT_TRUE(topology);
  const auto& zone = topology->zones.at(0);
  EXPECT_EQ(zone.capacity.at("memory").toString(), "14Gi");
  for (const auto* name : {"hugepages-2Mi", "hugepages-1Gi"}) {
    EXPECT_EQ(zone.capacity.at(name).toString(), "1Gi");
    EXPECT_EQ(zone.allocatable.at(name).toString(), "1Gi");
  }
  const json::value object = newTopologyObject(*topology, node_);
  EXPECT_EQ(object.at("zones").at(0).at("resources").get_array().size(), 4U);
}

TEST_F(NodeTopologyTest, TheModelOfTheCpusIsTold) {
  EXPECT_EQ(compute().annotations.at("node.koordinator.sh/cpu-basic-info"), json::object());
  basic_ = {"Xeon", "GenuineIntel", true, true, "fffff"};
  EXPECT_EQ(compute().annotations.at("node.koordinator.sh/cpu-basic-info"),
            *parseJson(R"({"cpuModel":"Xeon","hyperThreadEnabled":true,"turboEnabled":true,
                           "catL3CbmMask":"fffff","vendorID":"GenuineIntel"})"));
}

}  // namespace
}  // namespace koord::koordlet
