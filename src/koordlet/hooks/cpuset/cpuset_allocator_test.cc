#include "koordlet/hooks/cpuset/cpuset_allocator.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct CpusetPod {
  std::string_view qos;
  std::string_view kubeQos = "Burstable";
  std::string_view status = "";  // the annotation
  std::string_view uid = "u";
};
PodView podOf(const CpusetPod& text) {
  api::Pod pod = *api::decodeText<api::Pod>(fmt::format(
      R"({{"metadata":{{"name":"p","uid":"{}","labels":{{"koordinator.sh/qosClass":"{}"}}}},
          "status":{{"phase":"Running","qosClass":"{}","containerStatuses":[
            {{"name":"c","containerID":"containerd://c"}}]}}}})",
      text.uid, text.qos, text.kubeQos));
  if (!text.status.empty())
    pod.metadata.annotations["scheduling.koordinator.sh/resource-status"] =
        std::string(text.status);
  return viewOf(std::make_shared<const api::Pod>(std::move(pod)), CgroupDriver::Cgroupfs);
}

// Two NUMA nodes with four CPUs each.
CpuTopology twoNodes() {
  CpuTopology topology;
  for (int cpu = 0; cpu < 8; ++cpu) topology.cpus.push_back({cpu, cpu, cpu / 4, cpu / 4, cpu / 4});
  return topology;
}

std::string decided(const CpusetPod& pod, const CpuPools& pools) {
  return cpusetOf(podOf(pod), pools, twoNodes()).cpus.toString();
}

const CpuPools kPools{.shared = {0, 1, 2, 4, 5, 6}, .bestEffort = {0, 1}, .systemQos = {7}};

TEST(Cpuset, TheSchedulersChoiceComesFirstAndLiftsTheQuota) {
  const auto pinned =
      cpusetOf(podOf({"LSR", "Guaranteed", R"({"cpuset":"3"})"}), kPools, twoNodes());
  EXPECT_EQ(pinned.cpus.toString(), "3");
  EXPECT_TRUE(pinned.unlimited);
  EXPECT_FALSE(cpusetOf(podOf({"LS"}), kPools, twoNodes()).unlimited);
}

TEST(Cpuset, OthersShareThePools) {
  EXPECT_EQ(decided({"LS"}, kPools), "0-2,4-6");
  EXPECT_EQ(
      decided({"LS", "Burstable", R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"2"}}]})"},
              kPools),
      "4-6");
  EXPECT_EQ(decided({"SYSTEM"}, kPools), "7");
  EXPECT_EQ(decided({""}, kPools), "0-2,4-6");
  EXPECT_EQ(decided({"BE", "BestEffort"}, kPools), "");
  EXPECT_EQ(decided({"", "BestEffort"}, kPools), "");
}

TEST(Cpuset, BestEffortStaysOnItsNumaNodesWhereItIsManaged) {
  const auto pod = podOf(
      {"BE", "BestEffort",
       R"({"numaNodeResources":[{"node":0,"resources":{"kubernetes.io/batch-cpu":"2000"}}]})"});
  EXPECT_EQ(cpusetOf(pod, kPools, twoNodes()).cpus.toString(), "");
  const auto managed = cpusetOf(pod, kPools, twoNodes(), true);
  EXPECT_EQ(managed.cpus.toString(), "0-1");
  EXPECT_FALSE(managed.unlimited);
  EXPECT_EQ(cpusetOf(podOf({"BE", "BestEffort"}), kPools, twoNodes(), true).cpus.toString(), "");
}

TEST(Cpuset, WhatIsNotOursToSayIsLeftToKubeletsStaticPolicy) {
  CpuPools pools = kPools;
  pools.kubeletIsStatic = true;
  EXPECT_EQ(decided({""}, pools), "");
  EXPECT_EQ(decided({"LS"}, pools), "0-2,4-6");
}

TEST(Cpuset, AnAnnotationThatCannotBeReadSaysNothing) {
  for (const auto* text : {"{broken", R"({"cpuset":"a-b"})", R"({"numaNodeResources":7})",
                           R"({"numaNodeResources":[{"node":"x"}]})"})
    EXPECT_EQ(decided({"LS", "Burstable", text}, kPools), "0-2,4-6") << text;
}

std::vector<std::string> textsOf(std::span<const CgroupUpdate> updates) {
  std::vector<std::string> result;
  for (const auto& update : updates)
    result.push_back(fmt::format("{} {}={}", update.dir, nameOf(update.file), update.value));
  return result;
}

class CpusetHookTest : public testing::Test {
 protected:
  CpusetHookTest() {
    states_.setNode(std::make_shared<const api::Node>(
        *api::decodeText<api::Node>(R"({"metadata":{"name":"n"}})")));
  }
  HookUpdates updatesOf(const CpusetPod& text) {
    HookUpdates updates;
    hook_.prepare(states_, updates);
    hook_.wanted(podOf(text), updates);
    return updates;
  }

  FakeHost files_{CgroupVersion::V1, {.cpus = 8, .numaNodes = 2}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  CpusetHook hook_{host_, true};
};

TEST_F(CpusetHookTest, APinnedPodLeavesThePoolsOfTheOthersAtOnce) {
  states_.setPods({podOf({"LSE", "Guaranteed", R"({"cpuset":"0-1"})", "lse"})});
  EXPECT_THAT(textsOf(updatesOf({"LS"}).containers),
              ElementsAre("kubepods/burstable/podu/c cpuset.cpus=2-7"));
  const auto pinned = updatesOf({"LSE", "Guaranteed", R"({"cpuset":"0-1"})", "lse"});
  EXPECT_THAT(textsOf(pinned.pods), ElementsAre("kubepods/podlse cpu.cfs_quota_us=-1"));
  EXPECT_THAT(textsOf(pinned.containers), ElementsAre("kubepods/podlse/c cpuset.cpus=0-1",
                                                      "kubepods/podlse/c cpu.cfs_quota_us=-1"));
}

TEST_F(CpusetHookTest, KubeletsOwnPodsKeepTheirCpus) {
  files_.tree().write("kubelet/cpu_manager_state",
                      R"({"policyName":"static","defaultCpuSet":"0-5",
                          "entries":{"g":{"c":"6-7"}},"checksum":1})");
  states_.setPods({podOf({"", "Guaranteed", "", "g"})});
  EXPECT_THAT(textsOf(updatesOf({"LS"}).containers),
              ElementsAre("kubepods/burstable/podu/c cpuset.cpus=0-5"));
  EXPECT_THAT(updatesOf({"", "Guaranteed", "", "g"}).containers, IsEmpty());
}

TEST_F(CpusetHookTest, NobodyGetsCpusThatKubepodsDoesNotHave) {
  files_.setCgroupText(CgroupFile::CpusetCpus, host_.kubepods(), "0-3");
  EXPECT_THAT(textsOf(updatesOf({"LS"}).containers),
              ElementsAre("kubepods/burstable/podu/c cpuset.cpus=0-3"));
}

TEST_F(CpusetHookTest, AHostApplicationThatNodeSloDropsHasWhatIsAboveIt) {
  files_.setCgroupText(CgroupFile::CpusetCpus, host_.kubepods(), "0-3");
  files_.setCgroupText(CgroupFile::CpusetCpus, "host-latency-sensitive", "0-7");
  api::HostApplicationSpec nginx;
  nginx.name = "nginx";
  nginx.qos = "LS";
  EffectiveSlo slo = defaultSlo();
  slo.hostApplications = {nginx};
  states_.setSlo(slo);
  EXPECT_THAT(textsOf(updatesOf({"BE"}).qos),
              ElementsAre("host-latency-sensitive/nginx cpuset.cpus=0-3"));
  slo.hostApplications.clear();
  states_.setSlo(slo);
  EXPECT_THAT(textsOf(updatesOf({"BE"}).qos),
              ElementsAre("host-latency-sensitive/nginx cpuset.cpus=0-7"));
}

TEST_F(CpusetHookTest, WithoutTheNodeNothingIsSaid) {
  CpusetHook hook(host_, true);
  States unknown;
  HookUpdates updates;
  hook.prepare(unknown, updates);
  hook.wanted(podOf({"LSR", "Guaranteed", R"({"cpuset":"3"})"}), updates);
  EXPECT_THAT(updates.containers, IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
