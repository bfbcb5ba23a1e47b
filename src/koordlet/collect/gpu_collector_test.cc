#include "koordlet/collect/gpu_collector.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/virtual_loop.h"
#include "koordlet/testing/nvml/direct_gpu_source.h"
#include "koordlet/testing/nvml/fake_nvml.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::Optional;

PodView podWith(const std::string& uid, const std::string& container) {
  api::Pod object;
  object.metadata.uid = uid;
  object.status.phase = "Running";
  object.status.qosClass = "Burstable";
  api::ContainerStatus status;
  status.name = "c";
  status.containerID = "containerd://" + container;
  status.state.running.emplace();
  object.status.containerStatuses.push_back(status);
  return viewOf(std::make_shared<const api::Pod>(object), CgroupDriver::Systemd);
}

class GpuCollecting : public testing::Test {
 protected:
  GpuCollecting() { states_.setPods({podWith("p1", "aa"), podWith("p2", "bb")}); }

  void addProcess(FakeGpu& gpu, unsigned pid, std::uint64_t memory, unsigned core,
                  const std::string& cgroup) {
    gpu.processes[gpu.processCount++] = {pid, memory, 1, core};
    if (!cgroup.empty())
      tree_.write(fmt::format("proc/{}/cgroup", pid), "12:cpuset:/x\n0::" + cgroup + "\n");
  }
  void collect() {
    loop_.advance(1s);
    collector_.collect();
  }
  std::optional<double> last(Metric metric, std::string_view subject) {
    return cache_.last(metric, subject, loop_.wallNow() - 500ms, loop_.wallNow());
  }

  VirtualLoop loop_;
  TempTree tree_;
  HostDirs dirs_ = tree_.dirs();
  FakeNvml fake_;
  DirectGpuSource source_{loop_, fake_.path()};
  States states_;
  MetricCache cache_{1s, {}};
  GpuCollector collector_{dirs_, loop_, states_, cache_, source_};
};

TEST_F(GpuCollecting, ProcessesCountForTheContainerAndPodWhoseCgroupTheyAreIn) {
  const std::string p1 = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podp1.slice";
  FakeGpu& first = fake_.addGpu();
  addProcess(first, 10, 1000, 30, p1 + "/cri-containerd-aa.scope");
  addProcess(first, 11, 500, 20, p1 + "/cri-containerd-aa.scope/init");
  addProcess(first, 12, 100, 7, "/user.slice");
  addProcess(first, 13, 50, 1, "");  // gone meanwhile
  addProcess(fake_.addGpu(), 14, 300, 9, "/kubepods.slice/cri-containerd-bb.scope");
  collect();
  EXPECT_THAT(last(Metric::NodeGpuCore, "GPU-0"), Optional(58));
  EXPECT_THAT(last(Metric::NodeGpuMemory, "GPU-0"), Optional(1650));
  EXPECT_THAT(last(Metric::PodGpuCore, "p1/GPU-0"), Optional(50));
  EXPECT_THAT(last(Metric::PodGpuMemory, "p1/GPU-0"), Optional(1500));
  EXPECT_THAT(last(Metric::ContainerGpuMemory, "aa/GPU-0"), Optional(1500));
  EXPECT_EQ(last(Metric::PodGpuCore, "p2/GPU-0"), std::nullopt);
  EXPECT_THAT(last(Metric::PodGpuCore, "p2/GPU-1"), Optional(9));
  ASSERT_TRUE(states_.gpus().reading);
  EXPECT_EQ(states_.gpus().reading->gpus.size(), 2U);
}

TEST_F(GpuCollecting, ADriverThatStopsAnsweringLeavesTheLastReadingAndSaysSinceWhen) {
  fake_.addGpu();
  collect();
  fake_.state().countAnswer = nvml::kDriverNotLoaded;
  collect();
  const SteadyTime since = loop_.steadyNow();
  collect();
  EXPECT_TRUE(states_.gpus().reading);
  EXPECT_FALSE(states_.gpus().problem.empty());
  EXPECT_EQ(states_.gpus().problemSince, since);
  EXPECT_EQ(last(Metric::NodeGpuCore, "GPU-0"), std::nullopt);
  fake_.state().countAnswer = 0;
  collect();
  EXPECT_TRUE(states_.gpus().problem.empty());
}

}  // namespace
}  // namespace koord::koordlet
