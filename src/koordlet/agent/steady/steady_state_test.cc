// While nothing happens on the node, koordlet writes nothing and allocates no memory in most
// seconds, whatever the number of pods. The test program's own allocation functions count the
// allocations, so the count is the same in each run.

#include <cstdlib>
#include <new>
#include <numeric>

#include "koordlet/agent/agent_testing.h"

namespace {

bool counting = false;
std::size_t bytesAsked = 0;

void* counted(void* memory, std::size_t size) {
  if (!memory) std::abort();
  if (counting) bytesAsked += size;
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  return counted(std::malloc(size), size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit), size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace koord::koordlet {
namespace {

// Lists, reports, checkpoints and history of a minute with 81 pods, and the fake API server's part.
constexpr std::size_t kMinute = 1280 << 10;

class SteadyState : public AgentFixture {
 protected:
  void addPods(int count) {
    for (int i = 0; i < count; ++i) {
      addPod(fmt::format("service-{}", i), KubeQos::Burstable, "LS", 9500, "");
      addPod(fmt::format("batch-{}", i), KubeQos::BestEffort, "BE", 5500,
             R"("requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},
                "limits":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"})");
    }
  }
  void settleDown() {
    cluster_.putSlo(R"({"enable":true})");
    startAgent();
    for (int i = 0; i < 90; ++i) calmSecond();
  }
  // koordlet's allocations in it; those of the fake host are not counted.
  std::size_t calmSecond() {
    files_.consumeCpu(ls_, 2, std::chrono::seconds(1));
    files_.consumeSystemCpu(0.5, std::chrono::seconds(1));
    bytesAsked = 0;
    counting = true;
    loop_.advance(std::chrono::seconds(1));
    counting = false;
    files_.settle();
    return bytesAsked;
  }
  std::vector<std::size_t> calmMinute() {
    std::vector<std::size_t> seconds;
    for (int i = 0; i < 60; ++i) seconds.push_back(calmSecond());
    std::ranges::sort(seconds);
    return seconds;
  }
};
INSTANTIATE_TEST_SUITE_P(V1AndV2, SteadyState,
                         testing::Values(CgroupVersion::V1, CgroupVersion::V2),
                         [](const auto& info) {
                           return info.param == CgroupVersion::V1 ? "V1" : "V2";
                         });

// A third of all seconds contain no pass of three, ten or sixty seconds.
TEST_P(SteadyState, APlainSecondAsksForNothing) {
  addPods(40);
  settleDown();
  const auto seconds = calmMinute();
  EXPECT_EQ(seconds[20], 0U);
}

TEST_P(SteadyState, AMinuteAsksForSoMuchAndWritesNothing) {
  addPods(40);
  settleDown();
  const auto writes = agent_->audit().added();
  const auto seconds = calmMinute();
  EXPECT_EQ(agent_->audit().added(), writes);
  const auto sum = std::accumulate(seconds.begin(), seconds.end(), std::size_t{0});
  EXPECT_LE(sum, kMinute);
}

}  // namespace
}  // namespace koord::koordlet
