#include "koordlet/collect/collector.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "koordlet/states/host_application.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::DoubleNear;
using testing::Optional;

PodView pod(std::string uid, std::string qosClass, std::string container, std::string qos = "") {
  api::Pod object;
  object.metadata.name = uid;
  object.metadata.namespace_ = "d";
  object.metadata.uid = uid;
  if (!qos.empty()) object.metadata.labels["koordinator.sh/qosClass"] = qos;
  object.status.phase = "Running";
  object.status.qosClass = qosClass;
  api::ContainerStatus status;
  status.name = "c";
  status.containerID = container;
  status.state.running.emplace();
  object.status.containerStatuses.push_back(status);
  return viewOf(std::make_shared<const api::Pod>(object), CgroupDriver::Cgroupfs);
}

class Collecting : public testing::TestWithParam<CgroupVersion> {
 protected:
  Collecting() {
    ls_ = files_.addPod(KubeQos::Burstable, "ls", {"containerd://a"});
    be_ = files_.addPod(KubeQos::BestEffort, "be", {"containerd://b"});
    host_ = *Host::detect(files_.dirs());
    states_.setPods({pod("ls", "Burstable", "containerd://a"),
                     pod("be", "BestEffort", "containerd://b", "BE")});
    collector_.emplace(*host_, loop_, states_, cache_, metrics_, CollectorOptions{});
  }

  void round(double ls, double be, double system) {
    files_.consumeCpu(files_.containerDir(ls_, "containerd://a"), ls, 1s);
    files_.consumeCpu(files_.containerDir(be_, "containerd://b"), be, 1s);
    files_.consumeSystemCpu(system, 1s);
    loop_.advance(1s);
    collector_->collect();
  }
  std::optional<double> last(Metric metric, std::string_view subject = "") {
    return cache_.last(metric, subject, loop_.wallNow() - 500ms, loop_.wallNow());
  }

  VirtualLoop loop_;
  FakeHost files_{GetParam(), {.cpus = 8}};
  std::string ls_, be_;
  std::optional<Host> host_;
  States states_;
  MetricCache cache_{1s, {}};
  Metrics metrics_;
  std::optional<Collector> collector_;
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, Collecting,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2));

TEST_P(Collecting, NodePodContainerBestEffortAndSystemAddUp) {
  files_.setMemoryUsed(std::int64_t{10} << 30);
  files_.setMemory(ls_, std::int64_t{3} << 30);
  files_.setMemory(be_, std::int64_t{1} << 30);
  collector_->collect();
  EXPECT_EQ(last(Metric::NodeCpu), std::nullopt);  // the first round is the base
  EXPECT_FALSE(collector_->ready());
  round(3, 1.5, 0.5);
  EXPECT_TRUE(collector_->ready());
  EXPECT_THAT(last(Metric::NodeCpu), Optional(DoubleNear(5, 0.02)));
  EXPECT_THAT(last(Metric::PodCpu, "ls"), Optional(DoubleNear(3, 1e-6)));
  EXPECT_THAT(last(Metric::ContainerCpu, "b"), Optional(DoubleNear(1.5, 1e-6)));
  EXPECT_THAT(last(Metric::BeCpuUsage), Optional(DoubleNear(1500, 1e-3)));
  EXPECT_THAT(last(Metric::SystemCpu), Optional(DoubleNear(0.5, 0.02)));
  EXPECT_THAT(last(Metric::NodeMemory), Optional(10.0 * (1 << 30)));
  EXPECT_THAT(last(Metric::SystemMemory), Optional(6.0 * (1 << 30)));
  EXPECT_THAT(last(Metric::BeCpuRealLimit), Optional(8000));
  EXPECT_THAT(last(Metric::PodThrottled, "ls"), Optional(0));
}

TEST_P(Collecting, APodThatVanishesCostsOnlyItsOwnSamples) {
  collector_->collect();
  round(3, 1, 0);
  files_.removePod(KubeQos::BestEffort, "be");
  files_.consumeCpu(files_.containerDir(ls_, "containerd://a"), 2, 1s);
  loop_.advance(1s);
  collector_->collect();
  EXPECT_EQ(last(Metric::PodCpu, "be"), std::nullopt);
  EXPECT_THAT(last(Metric::PodCpu, "ls"), Optional(DoubleNear(2, 1e-6)));
  EXPECT_THAT(last(Metric::NodeCpu), Optional(DoubleNear(2, 0.02)));
}

TEST_P(Collecting, ACounterThatWentBackGivesNoSample) {
  collector_->collect();
  round(3, 1, 0);
  files_.removePod(KubeQos::BestEffort, "be");
  files_.addPod(KubeQos::BestEffort, "be", {"containerd://b"});
  round(1, 0.25, 0);
  EXPECT_EQ(last(Metric::PodCpu, "be"), std::nullopt);
  round(1, 0.5, 0);
  EXPECT_THAT(last(Metric::PodCpu, "be"), Optional(DoubleNear(0.5, 1e-6)));
}

TEST_P(Collecting, GarbageInOneFileLeavesTheOthersAlone) {
  collector_->collect();
  round(1, 1, 0);
  files_.setCgroupText(CgroupFile::MemoryStat, ls_, "\xff\xfe garbage\n");
  files_.setCgroupText(CgroupFile::CpuacctUsage, be_, "-");
  files_.tree().write("proc/meminfo", "nothing");
  files_.consumeCpu(files_.containerDir(ls_, "containerd://a"), 2, 1s);
  loop_.advance(1s);
  collector_->collect();
  EXPECT_EQ(last(Metric::PodMemory, "ls"), std::nullopt);
  EXPECT_THAT(last(Metric::PodCpu, "ls"), Optional(DoubleNear(2, 1e-6)));
  EXPECT_EQ(last(Metric::NodeMemory), std::nullopt);
  EXPECT_THAT(last(Metric::NodeCpu), Optional(DoubleNear(2, 0.02)));
}

TEST_P(Collecting, MemoryWithPageCacheIsSampledOnceSomebodyWantsIt) {
  collector_->collect();
  round(1, 1, 0);
  EXPECT_EQ(last(Metric::PodMemoryWithPageCache, "ls"), std::nullopt);
  collector_->setPageCache(true);
  round(1, 1, 0);
  EXPECT_NE(last(Metric::PodMemoryWithPageCache, "ls"), std::nullopt);
  EXPECT_NE(last(Metric::ContainerMemoryWithPageCache, "b"), std::nullopt);
}

TEST(HostApplications, LiveWhereTheirPathSays) {
  api::HostApplicationSpec application;
  application.name = "nginx";
  application.qos = "LS";
  EXPECT_EQ(hostApplicationDir(application, CgroupDriver::Systemd), "host-latency-sensitive/nginx");
  application.qos = "BE";
  EXPECT_EQ(hostApplicationDir(application, CgroupDriver::Systemd), "host-best-effort/nginx");
  application.cgroupPath = api::CgroupPath{"KubepodsBesteffort", "a", "b"};
  EXPECT_EQ(hostApplicationDir(application, CgroupDriver::Cgroupfs), "kubepods/besteffort/a/b");
  application.cgroupPath = api::CgroupPath{"Kubepods", "../..", "etc"};
  EXPECT_EQ(hostApplicationDir(application, CgroupDriver::Cgroupfs), "");
}

}  // namespace
}  // namespace koord::koordlet
