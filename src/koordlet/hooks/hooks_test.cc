#include <fmt/core.h>
#include <gmock/gmock.h>

#include <optional>

#include "api/codec.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/hooks/groupidentity/group_identity.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PodView podOf(std::string_view text) {
  auto pod = api::decodeText<api::Pod>(text);
  EXPECT_TRUE(pod) << pod.error().message;
  return viewOf(std::make_shared<const api::Pod>(*std::move(pod)), CgroupDriver::Cgroupfs);
}

std::string batch(std::string_view requests, std::string_view limits) {
  const auto list = [](std::string_view values) {
    const auto slash = values.find('/');
    if (slash == std::string_view::npos) return std::string("{}");
    return fmt::format(R"({{"kubernetes.io/batch-cpu":"{}","kubernetes.io/batch-memory":"{}"}})",
                       values.substr(0, slash), values.substr(slash + 1));
  };
  return fmt::format(R"({{"requests":{},"limits":{}}})", list(requests), list(limits));
}

PodView bestEffort(const std::string& a, const std::string& b) {
  return podOf(fmt::format(
      R"({{"metadata":{{"uid":"u","labels":{{"koordinator.sh/qosClass":"BE"}}}},
          "spec":{{"containers":[{{"name":"a","resources":{}}},{{"name":"b","resources":{}}}]}},
          "status":{{"phase":"Running","qosClass":"BestEffort","containerStatuses":[
            {{"name":"a","containerID":"containerd://a"}},{{"name":"b","containerID":"containerd://b"}}]}}}})",
      a, b));
}

// "dir file=value" for each update.
std::vector<std::string> texts(std::span<const CgroupUpdate> updates) {
  std::vector<std::string> result;
  for (const auto& update : updates)
    result.push_back(fmt::format("{} {}={}", update.dir, nameOf(update.file), update.value));
  return result;
}

HookUpdates updatesOf(const PodView& pod, States& states) {
  FakeHost files(CgroupVersion::V1, {});
  const Host host = *Host::detect(files.dirs());
  BatchResourceHook hook(host);
  HookUpdates updates;
  hook.prepare(states, updates);
  hook.wanted(pod, updates);
  return updates;
}

TEST(BatchResource, LimitsOfAPodAreTheSumOfItsContainers) {
  States states;
  const auto updates =
      updatesOf(bestEffort(batch("1000/2Gi", "2000/4Gi"), batch("500/1Gi", "1000/1Gi")), states);
  EXPECT_THAT(texts(updates.pods),
              ElementsAre("kubepods/besteffort/podu cpu.shares=1536",
                          "kubepods/besteffort/podu cpu.cfs_quota_us=300000",
                          "kubepods/besteffort/podu memory.limit_in_bytes=5368709120"));
  EXPECT_THAT(texts(updates.containers),
              ElementsAre("kubepods/besteffort/podu/a cpu.shares=1024",
                          "kubepods/besteffort/podu/a cpu.cfs_quota_us=200000",
                          "kubepods/besteffort/podu/a memory.limit_in_bytes=4294967296",
                          "kubepods/besteffort/podu/b cpu.shares=512",
                          "kubepods/besteffort/podu/b cpu.cfs_quota_us=100000",
                          "kubepods/besteffort/podu/b memory.limit_in_bytes=1073741824"));
}

TEST(BatchResource, OneContainerWithoutLimitsUnlimitsThePod) {
  States states;
  const auto updates =
      updatesOf(bestEffort(batch("1000/2Gi", "2000/4Gi"), batch("500/1Gi", "")), states);
  EXPECT_THAT(texts(updates.pods),
              ElementsAre("kubepods/besteffort/podu cpu.shares=1536",
                          "kubepods/besteffort/podu cpu.cfs_quota_us=-1",
                          "kubepods/besteffort/podu memory.limit_in_bytes=-1"));
}

// A batch pod of one container and one sidecar.
PodView withSidecar(const std::string& container, const std::string& sidecar) {
  return podOf(fmt::format(
      R"({{"metadata":{{"uid":"u","labels":{{"koordinator.sh/qosClass":"BE"}}}},
          "spec":{{"containers":[{{"name":"a","resources":{}}}],
            "initContainers":[{{"name":"b","restartPolicy":"Always","resources":{}}}]}},
          "status":{{"phase":"Running","qosClass":"BestEffort",
            "containerStatuses":[{{"name":"a","containerID":"containerd://a"}}],
            "initContainerStatuses":[{{"name":"b","containerID":"containerd://b"}}]}}}})",
      container, sidecar));
}

TEST(BatchResource, SidecarsHaveLimitsAndCountForThePod) {
  States states;
  const auto updates =
      updatesOf(withSidecar(batch("1000/2Gi", "2000/4Gi"), batch("500/1Gi", "1000/1Gi")), states);
  EXPECT_THAT(texts(updates.pods),
              ElementsAre("kubepods/besteffort/podu cpu.shares=1536",
                          "kubepods/besteffort/podu cpu.cfs_quota_us=300000",
                          "kubepods/besteffort/podu memory.limit_in_bytes=5368709120"));
  EXPECT_EQ(updates.containers.size(), 6U);
  // A container without batch resources is not limited, and neither is the pod.
  const auto open = updatesOf(withSidecar(batch("1000/2Gi", "2000/4Gi"), "{}"), states);
  EXPECT_THAT(texts(open.pods), ElementsAre("kubepods/besteffort/podu cpu.shares=1024",
                                            "kubepods/besteffort/podu cpu.cfs_quota_us=-1",
                                            "kubepods/besteffort/podu memory.limit_in_bytes=-1"));
}

TEST(BatchResource, TheAnnotationSpeaksWhereTheSpecDoesNot) {
  States states;
  auto pod = podOf(
      R"({"metadata":{"uid":"u","labels":{"koordinator.sh/qosClass":"BE"},"annotations":{
          "node.koordinator.sh/extended-resource-spec":
          "{\"containers\":{\"a\":{\"requests\":{\"kubernetes.io/batch-cpu\":\"250\"}}}}"}},
          "spec":{"containers":[{"name":"a"}]},"status":{"qosClass":"BestEffort"}})");
  EXPECT_EQ(updatesOf(pod, states).pods[0].value, "256");
}

TEST(BatchResource, OtherPodsAreLeftAlone) {
  States states;
  EXPECT_THAT(updatesOf(bestEffort("{}", "{}"), states).pods, IsEmpty());
  auto ls = podOf(
      R"({"metadata":{"uid":"u","labels":{"koordinator.sh/qosClass":"LS"}},"spec":{"containers":[
                      {"name":"a","resources":{"requests":{"kubernetes.io/batch-cpu":"5"}}}]}})");
  EXPECT_THAT(updatesOf(ls, states).pods, IsEmpty());
  auto broken =
      podOf(R"({"metadata":{"uid":"u","labels":{"koordinator.sh/qosClass":"BE"},"annotations":{
                          "node.koordinator.sh/extended-resource-spec":"{broken"}}})");
  EXPECT_THAT(updatesOf(broken, states).pods, IsEmpty());
}

TEST(BatchResource, FasterCpusGetAShorterQuota) {
  States states;
  states.setNode(std::make_shared<const api::Node>(*api::decodeText<api::Node>(
      R"({"metadata":{"annotations":{"node.koordinator.sh/cpu-normalization-ratio":"1.2"}}})")));
  const auto updates = updatesOf(bestEffort(batch("1000/2Gi", "2000/4Gi"), "{}"), states);
  EXPECT_EQ(updates.containers[1].value, "166667");
}

TEST(BatchResource, QuotasAreOfThePeriodThatTheCgroupHas) {
  for (const auto version : {CgroupVersion::V1, CgroupVersion::V2}) {
    FakeHost files(version, {});
    const Host host = *Host::detect(files.dirs());
    const PodView pod = bestEffort(batch("1000/2Gi", "2000/4Gi"), batch("5/1Gi", "5/1Gi"));
    BatchResourceHook hook(host);
    const auto quotas = [&] {
      States states;
      HookUpdates updates;
      hook.prepare(states, updates);
      hook.wanted(pod, updates);
      return std::vector{updates.pods[1].value, updates.containers[1].value,
                         updates.containers[4].value};
    };
    // The containers are about to be created.
    EXPECT_THAT(quotas(), ElementsAre("200500", "200000", "1000"));
    // kubelet runs with --cpu-cfs-quota-period=10ms, which applies to containers, not to BE pods.
    files.addPod(KubeQos::BestEffort, "u", {"containerd://a", "containerd://b"});
    for (const auto& container : pod.containers)
      version == CgroupVersion::V2
          ? files.setCgroupText(CgroupFile::CpuCfsQuota, container.dir, "max 10000")
          : files.setCgroupText(CgroupFile::CpuCfsPeriod, container.dir, "10000");
    EXPECT_THAT(quotas(), ElementsAre("200500", "20000", "1000"));
    // A pass that reads a cgroup before the runtime has written its period keeps nothing of it.
    const auto& young = pod.containers[0];
    version == CgroupVersion::V2
        ? files.setCgroupText(CgroupFile::CpuCfsQuota, young.dir, "max 50000")
        : files.setCgroupText(CgroupFile::CpuCfsPeriod, young.dir, "50000");
    EXPECT_THAT(quotas(), ElementsAre("200500", "100000", "1000"));
  }
}

GroupIdentityRule rule(std::string_view strategy) {
  return groupIdentityRule(*api::decodeText<api::ResourceQOSStrategy>(strategy));
}

TEST(GroupIdentity, TheClassOfThePodDecidesAndGuaranteedPodsFallBackOnLs) {
  const auto active = rule(R"({"policies":{"cpuPolicy":"groupIdentity"},
                               "lsClass":{"cpuQOS":{"enable":true,"groupIdentity":1}},
                               "beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}})");
  const auto pod = [](std::string_view qos, std::string_view kubeQos) {
    return podOf(fmt::format(R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"{}"}}}},
                                 "status":{{"qosClass":"{}"}}}})",
                             qos, kubeQos));
  };
  EXPECT_EQ(bvtOf(active, pod("LSR", "Guaranteed")), 0);
  EXPECT_EQ(bvtOf(active, pod("LS", "Burstable")), 1);
  EXPECT_EQ(bvtOf(active, pod("BE", "BestEffort")), -1);
  EXPECT_EQ(bvtOf(active, pod("", "Guaranteed")), 1);
  EXPECT_EQ(bvtOf(active, pod("", "BestEffort")), -1);
  EXPECT_EQ(bvtOf(active, KubeQos::Guaranteed), 0);
  EXPECT_EQ(bvtOf(active, KubeQos::BestEffort), -1);
  EXPECT_FALSE(rule(R"({"policies":{"cpuPolicy":"coreSched"},
                        "beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}})")
                   .enabled());
}

TEST(GroupIdentity, APodsOwnAnnotationCountsForLsOnly) {
  const auto active = rule(R"({"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}}})");
  const auto pod = [](std::string_view qos, std::string_view annotation) {
    return podOf(fmt::format(R"({{"metadata":{{"labels":{{"koordinator.sh/qosClass":"{}"}},
                                 "annotations":{{"koordinator.sh/cpuQOS":"{}"}}}}}})",
                             qos, annotation));
  };
  EXPECT_EQ(bvtOf(active, pod("LS", R"({\"enable\":true,\"groupIdentity\":1})")), 1);
  EXPECT_EQ(bvtOf(active, pod("LS", R"({\"groupIdentity\":1})")), 0);
  EXPECT_EQ(bvtOf(active, pod("LS", "{broken")), 2);
  EXPECT_EQ(bvtOf(active, pod("LS", R"({\"enable\":true,\"groupIdentity\":9})")), 2);
}

TEST(GroupIdentity, AnAnnotationDoesNotOutvoteAnotherPolicy) {
  const auto other = rule(R"({"policies":{"cpuPolicy":"coreSched"},
                              "lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}}})");
  EXPECT_EQ(bvtOf(other, podOf(R"({"metadata":{"labels":{"koordinator.sh/qosClass":"LS"},
      "annotations":{"koordinator.sh/cpuQOS":"{\"enable\":true,\"groupIdentity\":1}"}}})")),
            0);
}

TEST(GroupIdentity, PodsThatNobodyListsAndHostApplicationsHaveTheirClassesValue) {
  FakeHost files(CgroupVersion::V1, {});
  files.addPod(KubeQos::BestEffort, "listed", {"containerd://a"});
  files.addPod(KubeQos::BestEffort, "dangling", {"containerd://b"});
  files.setCgroupText(CgroupFile::CpuBvtWarpNs, kubepodsDir(CgroupDriver::Cgroupfs), "0");
  const auto host = Host::detect(files.dirs());
  ASSERT_TRUE(host);
  States states;
  EffectiveSlo slo = defaultSlo();
  slo.qos = *api::decodeText<api::ResourceQOSStrategy>(
      R"({"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}},
          "beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}})");
  api::HostApplicationSpec nginx;
  nginx.name = "nginx";
  nginx.qos = "LS";
  slo.hostApplications = {nginx};
  states.setSlo(slo);
  states.setPods({podOf(R"({"metadata":{"uid":"listed"},
                            "status":{"phase":"Running","qosClass":"BestEffort"}})")});
  GroupIdentityHook hook(*host);
  HookUpdates updates;
  hook.prepare(states, updates);
  EXPECT_THAT(texts(updates.pods),
              ElementsAre("kubepods/besteffort/poddangling cpu.bvt_warp_ns=-1"));
  EXPECT_THAT(texts(updates.qos),
              testing::Contains("host-latency-sensitive/nginx cpu.bvt_warp_ns=2"));
}

TEST(GroupIdentity, AHostApplicationThatNodeSloDropsHasNoIdentityAnyMoreAlsoAfterARestart) {
  FakeHost files(CgroupVersion::V1, {});
  files.setCgroupText(CgroupFile::CpuBvtWarpNs, kubepodsDir(CgroupDriver::Cgroupfs), "0");
  const Host host = *Host::detect(files.dirs());
  EffectiveSlo slo = defaultSlo();
  slo.qos = *api::decodeText<api::ResourceQOSStrategy>(
      R"({"lsClass":{"cpuQOS":{"enable":true,"groupIdentity":2}}})");
  api::HostApplicationSpec nginx;
  nginx.name = "nginx";
  nginx.qos = "LS";
  const auto classesOf = [&](GroupIdentityHook& hook, bool named) {
    States states;
    slo.hostApplications = named ? std::vector{nginx} : std::vector<api::HostApplicationSpec>{};
    states.setSlo(slo);
    HookUpdates updates;
    hook.prepare(states, updates);
    return texts(updates.qos);
  };
  const std::string file = files.tree().path("applications");
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    std::optional<GroupIdentityHook> hook(std::in_place, host, file);
    EXPECT_THAT(classesOf(*hook, true),
                testing::Contains("host-latency-sensitive/nginx cpu.bvt_warp_ns=2"));
    if (restarts) hook.emplace(host, file);
    for (int pass = 0; pass < 10; ++pass)
      EXPECT_THAT(classesOf(*hook, false),
                  testing::Contains("host-latency-sensitive/nginx cpu.bvt_warp_ns=0"));
    // Other programs may use the cgroup then.
    EXPECT_THAT(classesOf(*hook, false), testing::SizeIs(3));
  }
}

}  // namespace
}  // namespace koord::koordlet
