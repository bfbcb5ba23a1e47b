#include "koordlet/qos/cgreconcile/cgroup_reconcile.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

class MemoryQosTest : public testing::TestWithParam<CgroupVersion> {
 protected:
  MemoryQosTest() {
    states_.setNode(std::make_shared<const api::Node>(*api::decodeText<api::Node>(
        R"({"metadata":{"name":"n"},"status":{"allocatable":{"memory":"16Gi"}}})")));
    for (const KubeQos qos : kKubeQosClasses) addFiles(qosDir(files_.driver(), qos));
  }
  // Adds files that the fake host does not have by default.
  void addFiles(const std::string& dir) {
    files_.setCgroupText(CgroupFile::MemoryMin, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryLow, dir, "0\n");
    files_.setCgroupText(CgroupFile::MemoryHigh, dir, "max\n");
    files_.setCgroupText(CgroupFile::MemoryOomGroup, dir, "0\n");
  }
  void setSlo(std::string_view memoryQos) {
    EffectiveSlo slo = defaultSlo();
    slo.qos = *api::decodeText<api::ResourceQOSStrategy>(
        fmt::format(R"({{"lsClass":{{"memoryQOS":{0}}},"lsrClass":{{"memoryQOS":{0}}},
                        "beClass":{{"memoryQOS":{{}}}}}})",
                    memoryQos));
    states_.setSlo(slo);
  }
  std::string addPod(std::string_view uid, std::string_view resources,
                     std::string_view annotation = "") {
    const auto dir = files_.addPod(KubeQos::Burstable, uid, {"containerd://c"});
    addFiles(dir);
    addFiles(joinPath(dir, "c"));
    api::Pod pod = *api::decodeText<api::Pod>(fmt::format(
        R"({{"metadata":{{"uid":"{}","labels":{{"koordinator.sh/qosClass":"LS"}}}},
            "spec":{{"containers":[{{"name":"c","resources":{{{}}}}}]}},
            "status":{{"phase":"Running","qosClass":"Burstable","containerStatuses":[
              {{"name":"c","containerID":"containerd://c"}}]}}}})",
        uid, resources));
    if (!annotation.empty())
      pod.metadata.annotations["koordinator.sh/memoryQOS"] = std::string(annotation);
    pods_.push_back(viewOf(std::make_shared<const api::Pod>(std::move(pod)), files_.driver()));
    states_.setPods(pods_);
    return dir;
  }
  std::string text(CgroupFile file, const std::string& dir) { return files_.cgroupText(file, dir); }

  FakeHost files_{GetParam(), {}};
  VirtualLoop loop_;
  States states_;
  AuditRing audit_;
  std::vector<PodView> pods_;
  Host host_ = *Host::detect(files_.dirs());
  ResourceExecutor executor_{host_, loop_, {}, audit_};
  CgroupReconcile strategy_{host_, states_, executor_};
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, MemoryQosTest,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

constexpr std::string_view kOn =
    R"({"enable":true,"minLimitPercent":50,"lowLimitPercent":60,"throttlingPercent":80,
        "oomKillGroup":1})";
constexpr std::string_view kOneToFour = R"("requests":{"memory":"1Gi"},"limits":{"memory":"4Gi"})";

TEST_P(MemoryQosTest, RequestsAreProtectedAndContainersSlowDownBeforeTheirLimit) {
  setSlo(kOn);
  const auto pod = addPod("u", kOneToFour);
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryMin, pod), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryLow, pod), "644245094");
  EXPECT_EQ(text(CgroupFile::MemoryMin, pod + "/c"), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryHigh, pod + "/c"), "3650719744");
  EXPECT_EQ(text(CgroupFile::MemoryHigh, pod), "max");
  EXPECT_EQ(text(CgroupFile::MemoryOomGroup, pod), "1");
  // The parent directories protect the same amount.
  EXPECT_EQ(text(CgroupFile::MemoryMin, host_.kubepods()), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryMin, qosDir(host_.driver, KubeQos::Burstable)), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryMin, host_.besteffort()), "0");
}

TEST_P(MemoryQosTest, WithoutALimitTheNodesMemoryIsTheLimit) {
  setSlo(kOn);
  const auto pod = addPod("u", R"("requests":{"memory":"1Gi"})");
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryHigh, pod + "/c"), "13958643712");
}

TEST_P(MemoryQosTest, ItIsTakenBackWhenTheClassIsSwitchedOff) {
  setSlo(kOn);
  const auto pod = addPod("u", kOneToFour);
  strategy_.run();
  setSlo(R"({"enable":false,"minLimitPercent":0,"lowLimitPercent":0,"throttlingPercent":0})");
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryMin, pod), "0");
  EXPECT_EQ(text(CgroupFile::MemoryLow, host_.kubepods()), "0");
  EXPECT_EQ(text(CgroupFile::MemoryHigh, pod + "/c"), "9223372036854775807");
}

TEST_P(MemoryQosTest, TheLastPodOfAClassTakesItsProtectionAlong) {
  setSlo(kOn);
  addPod("u", kOneToFour);
  strategy_.run();
  pods_.clear();
  states_.setPods(pods_);
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryMin, qosDir(host_.driver, KubeQos::Burstable)), "0");
  EXPECT_EQ(text(CgroupFile::MemoryLow, host_.kubepods()), "0");
}

TEST_P(MemoryQosTest, MoreThanTheNodeHasIsNotPromised) {
  setSlo(R"({"enable":true,"minLimitPercent":100})");
  addPod("u", R"("requests":{"memory":"12Gi"})");
  addPod("v", R"("requests":{"memory":"12Gi"})");
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryMin, host_.kubepods()), std::to_string(16 * kGiB));
  EXPECT_THAT(textAt(strategy_.view(), "reason"), testing::HasSubstr("limited to the 16384 MiB"));
}

TEST_P(MemoryQosTest, APodsAnnotationOverridesItsClassUnlessItIsNonsense) {
  setSlo(kOn);
  const auto own = addPod("a", kOneToFour, R"({"minLimitPercent":100})");
  const auto none = addPod("b", kOneToFour, R"({"policy":"none","minLimitPercent":100})");
  const auto broken = addPod("c", kOneToFour, "{broken");
  const auto senseless = addPod("d", kOneToFour, R"({"minLimitPercent":-1})");
  const auto standard = addPod("e", kOneToFour, R"({"policy":"auto"})");
  strategy_.run();
  EXPECT_EQ(text(CgroupFile::MemoryMin, own), std::to_string(kGiB));
  EXPECT_EQ(text(CgroupFile::MemoryLow, own), std::to_string(kGiB));  // never below min
  EXPECT_EQ(text(CgroupFile::MemoryMin, none), "0");
  EXPECT_EQ(text(CgroupFile::MemoryMin, broken), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryMin, senseless), "536870912");
  EXPECT_EQ(text(CgroupFile::MemoryMin, standard), "0");
}

TEST_P(MemoryQosTest, NothingIsWrittenTwice) {
  setSlo(kOn);
  addPod("u", kOneToFour);
  strategy_.run();
  const auto writes = audit_.added();
  strategy_.run();
  EXPECT_EQ(audit_.added(), writes);
}

TEST(MemoryQos, PageCacheIsLimitedByBytesOrByPercentOfThePodsLimit) {
  api::MemoryQOS qos;
  qos.pageCacheLimitPercent = 25;
  auto values = memoryqos::podValues(qos, {0, 4 * kGiB});
  EXPECT_EQ(values.pageCacheSize, kGiB);
  EXPECT_EQ(values.pageCacheEnable, 1);
  EXPECT_EQ(values.pageCacheSync, 0);
  qos.pageCacheLimitSize = 8 * kGiB;
  EXPECT_EQ(memoryqos::podValues(qos, {0, 4 * kGiB}).pageCacheSize, 4 * kGiB);
  qos.pageCacheLimitSize = 0;
  EXPECT_EQ(memoryqos::podValues(qos, {0, 4 * kGiB}).pageCacheEnable, 0);
  qos.pageCacheEnable = true;
  EXPECT_EQ(memoryqos::podValues(qos, {0, -1}).pageCacheEnable, 1);
}

}  // namespace
}  // namespace koord::koordlet
