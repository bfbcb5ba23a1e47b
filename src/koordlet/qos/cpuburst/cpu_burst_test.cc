#include "koordlet/qos/cpuburst/cpu_burst.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// One LS pod "web" of one container with a limit of four cores, on a machine of 16 CPUs.
class Bursting : public testing::TestWithParam<CgroupVersion> {
 protected:
  Bursting() {
    pod_ = files_.addPod(KubeQos::Burstable, "web", {"containerd://c"});
    container_ = files_.containerDir(pod_, "containerd://c");
    for (const std::string& dir : {kubepodsDir(CgroupDriver::Cgroupfs), pod_, container_})
      files_.setCgroupText(CgroupFile::CpuCfsBurst, dir, "0");
    setQuota(pod_, 400'000);
    setQuota(container_, 400'000);
    host_ = *Host::detect(files_.dirs());
    states_.setPods({viewOf(std::make_shared<const api::Pod>(*api::decodeText<api::Pod>(R"({
        "metadata":{"uid":"web","labels":{"koordinator.sh/qosClass":"LS"}},
        "spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"4"}}}]},
        "status":{"phase":"Running","qosClass":"Burstable","containerStatuses":[
          {"name":"c","containerID":"containerd://c","state":{"running":{}}}]}})")),
                            CgroupDriver::Cgroupfs)});
    setPolicy("auto");
    make();
  }
  void make() {
    executor_.emplace(*host_, loop_, ResourceExecutor::Options{}, audit_);
    burst_.emplace(*host_, loop_, states_, cache_, *executor_, Random(1), 1s, 1s);
  }
  void setPolicy(const std::string& policy) {
    EffectiveSlo slo = defaultSlo();
    slo.cpuBurst.policy = policy;
    states_.setSlo(slo);
  }
  void setQuota(const std::string& dir, std::int64_t us) {
    files_.setCgroupText(
        CgroupFile::CpuCfsQuota, dir,
        GetParam() == CgroupVersion::V1 ? std::to_string(us) : fmt::format("{} 100000", us));
  }
  std::int64_t quota(const std::string& dir) {
    files_.settle();
    CgroupReader reader(host_->layout);
    return reader.cfsQuotaUs(dir).value();
  }
  void second(double nodeCores, double throttled) {
    loop_.advance(1s);
    cache_.append(Metric::NodeCpu, "", loop_.wallNow(), nodeCores);
    cache_.append(Metric::PodCpu, "web", loop_.wallNow(), 4);
    cache_.append(Metric::ContainerCpu, "c", loop_.wallNow(), 4);
    cache_.append(Metric::ContainerThrottled, "c", loop_.wallNow(), throttled);
    burst_->run();
    files_.settle();
  }

  VirtualLoop loop_;
  FakeHost files_{GetParam(), {.cpus = 16}};
  std::string pod_, container_;
  std::optional<Host> host_;
  States states_;
  MetricCache cache_{1s, {}};
  AuditRing audit_;
  std::optional<ResourceExecutor> executor_;
  std::optional<CpuBurst> burst_;
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, Bursting, testing::Values(CgroupVersion::V1, CgroupVersion::V2));

TEST_P(Bursting, AThrottledContainerGrowsStepByStepToItsCeilingAndThePodWithIt) {
  for (const std::int64_t expected :
       {480'000, 576'000, 691'200, 829'440, 995'328, 1'194'393, 1'200'000, 1'200'000}) {
    second(6, 0.5);
    EXPECT_EQ(quota(container_), expected);
    EXPECT_EQ(quota(pod_), expected);
  }
  EXPECT_EQ(burst_->status().lifted, 1);
}

TEST_P(Bursting, FilesOfPodsThatAreGoneAreClosed) {
  second(6, 0);
  EXPECT_GT(files_.tree().openFiles(), 0);
  states_.setPods({});
  files_.removePod(KubeQos::Burstable, "web");
  for (int i = 0; i < 130; ++i) second(6, 0);
  EXPECT_EQ(files_.tree().openFiles(), 0);
}

TEST_P(Bursting, AnOverloadedNodeTakesItBackDownToTheContainersOwn) {
  for (int i = 0; i < 8; ++i) second(6, 0.5);
  for (int i = 0; i < 10; ++i) second(15, 0.5);  // the average of ten seconds must follow
  for (int i = 0; i < 10; ++i) second(15, 0.5);
  EXPECT_EQ(quota(container_), 400'000);
  EXPECT_EQ(quota(pod_), 400'000);
}

TEST_P(Bursting, ARestartGoesOnFromTheQuotaThatIsThere) {
  second(6, 0.5);
  second(6, 0.5);
  make();
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 691'200);
}

TEST_P(Bursting, SwitchingItOffGivesBackQuotaAndBurst) {
  second(6, 0.5);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsBurst, container_), "4000000");
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsBurst, pod_), "4000000");
  setPolicy("none");
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 400'000);
  EXPECT_EQ(quota(pod_), 400'000);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuCfsBurst, container_), "0");
}

TEST_P(Bursting, AContainerThatIsNotThrottledStaysAndAPodWithoutQuotaIsNotTouched) {
  files_.setCgroupText(CgroupFile::CpuCfsQuota, pod_,
                       GetParam() == CgroupVersion::V1 ? "-1" : "max 100000");
  second(6, 0);
  EXPECT_EQ(quota(container_), 400'000);
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 480'000);
  EXPECT_EQ(quota(pod_), -1);
}

TEST_P(Bursting, AShorterPeriodOfKubeletsIsKept) {
  for (const std::string& dir : {pod_, container_}) {
    if (GetParam() == CgroupVersion::V1) {
      files_.setCgroupText(CgroupFile::CpuCfsPeriod, dir, "10000");
      files_.setCgroupText(CgroupFile::CpuCfsQuota, dir, "40000");
    } else {
      files_.setCgroupText(CgroupFile::CpuCfsQuota, dir, "40000 10000");
    }
  }
  setPolicy("none");
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 40'000);
  setPolicy("auto");
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 48'000);
}

TEST_P(Bursting, OnFasterCpusAContainerBeginsWithTheShorterQuotaAlthoughItIsNotThrottled) {
  CpuRatio ratio;
  ratio.take(*api::decodeText<api::Node>(
      R"({"metadata":{"annotations":{"node.koordinator.sh/cpu-normalization-ratio":"2.00"}}})"));
  burst_->normalize(ratio);
  second(6, 0);
  EXPECT_EQ(quota(container_), 200'000);
  EXPECT_EQ(quota(pod_), 200'000);
  second(6, 0.5);
  EXPECT_EQ(quota(container_), 240'000);
  // The raised quota stays, also after a restart.
  make();
  burst_->normalize(ratio);
  second(6, 0);
  EXPECT_EQ(quota(container_), 240'000);
  // The runtime writes its nominal quota again.
  setQuota(pod_, 400'000);
  setQuota(container_, 400'000);
  second(6, 0);
  EXPECT_EQ(quota(container_), 200'000);
}

TEST_P(Bursting, WhatContainersMaySaveUpAndAreLiftedToIsShown) {
  Metrics metrics;
  metrics.setNode("n");
  second(6, 0);
  burst_->publish(metrics);
  EXPECT_THAT(
      metrics.internalText(),
      testing::HasSubstr("koordlet_container_scaled_cfs_burst_us{container_id=\"containerd://c\""));
  EXPECT_THAT(metrics.internalText(),
              testing::Not(testing::HasSubstr("koordlet_container_scaled_cfs_quota_us{")));
  second(6, 0.5);
  burst_->publish(metrics);
  EXPECT_THAT(metrics.internalText(), testing::HasSubstr("480000"));
  setPolicy("none");
  second(6, 0);
  burst_->publish(metrics);
  EXPECT_THAT(metrics.internalText(),
              testing::Not(testing::HasSubstr("koordlet_container_scaled_cfs_quota_us{")));
}

}  // namespace
}  // namespace koord::koordlet
