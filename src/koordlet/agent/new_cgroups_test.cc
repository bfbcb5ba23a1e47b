// Kubelet makes the directories of a pod and writes its own values there some time later; koordlet
// writes as soon as it sees them. Whatever the order and the times, koordlet's values are in place
// within 200 ms, and stay.

#include "koordlet/agent/agent_testing.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRight = 200ms;

class NewCgroupsTest : public AgentFixture {
 protected:
  // Without watches, which may be too late.
  NewCgroupsTest() {
    cluster_.putSlo(R"({"enable":false})");
    startAgent();
    seconds(15, 1, 0);
  }
  // What kubelet and the runtime give to a pod without requests.
  void kubeletWrites(const std::string& dir) {
    files_.setCgroupText(CgroupFile::CpuShares, dir, v2() ? "1" : "2");
    files_.setCgroupText(CgroupFile::CpuCfsQuota, dir, v2() ? "max 100000" : "-1");
    files_.setCgroupText(CgroupFile::MemoryLimit, dir, v2() ? "max" : "9223372036854771712");
  }
  std::string values(const std::string& dir) {
    const auto text = [&](CgroupFile file) { return files_.cgroupText(file, dir); };
    return text(CgroupFile::CpuShares) + " " + text(CgroupFile::CpuCfsQuota) + " " +
           text(CgroupFile::MemoryLimit);
  }
  bool v2() const { return GetParam() == CgroupVersion::V2; }
  std::string addBatchPod(const std::string& name) {
    return addPod(
        name, KubeQos::BestEffort, "BE", 5500,
        R"("requests":{"kubernetes.io/batch-cpu":"250","kubernetes.io/batch-memory":"1Gi"},
                     "limits":{"kubernetes.io/batch-cpu":"250","kubernetes.io/batch-memory":"1Gi"})");
  }
  std::string wanted() const { return v2() ? "10 25000 1073741824" : "256 25000 1073741824"; }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, NewCgroupsTest,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

TEST_P(NewCgroupsTest, ValuesAreRightSoonAndStayWheneverKubeletWrites) {
  int number = 0;
  for (Duration moment = 1ms; moment < 1900ms; moment += 47ms) {
    const std::string name = fmt::format("pod-{}", number++);
    const std::string container = addBatchPod(name);
    const std::string pod = container.substr(0, container.rfind('/'));
    // Until kubelet lists the pod.
    for (int i = 0; i < 4000 && values(container) != wanted(); ++i) loop_.advance(10ms);
    ASSERT_EQ(values(container), wanted());
    loop_.advance(moment);
    kubeletWrites(pod);
    kubeletWrites(container);
    loop_.advance(kRight);
    EXPECT_EQ(values(pod), wanted()) << "written after " << moment.count() / 1000000 << " ms";
    EXPECT_EQ(values(container), wanted()) << "written after " << moment.count() / 1000000 << " ms";
    for (int i = 0; i < 10; ++i) {
      loop_.advance(70ms);
      EXPECT_EQ(values(pod), wanted());
    }
    files_.removePod(KubeQos::BestEffort, name);
    pods_.pods.pop_back();
  }
}

TEST_P(NewCgroupsTest, AHierarchyThatComesLaterIsNotMissed) {
  if (v2()) return;  // one directory is all
  const std::string container = addBatchPod("late");
  const std::string pod = container.substr(0, container.rfind('/'));
  files_.tree().remove("cgroup/memory/" + pod);
  for (int i = 0; i < 20; ++i) loop_.advance(100ms);
  EXPECT_EQ(files_.cgroupText(CgroupFile::CpuShares, pod), "256");
  for (const auto& dir : {pod, container})
    files_.setCgroupText(CgroupFile::MemoryLimit, dir, "9223372036854771712");
  loop_.advance(kRight);
  EXPECT_EQ(files_.cgroupText(CgroupFile::MemoryLimit, pod), "1073741824");
  EXPECT_EQ(files_.cgroupText(CgroupFile::MemoryLimit, container), "1073741824");
}

}  // namespace
}  // namespace koord::koordlet
