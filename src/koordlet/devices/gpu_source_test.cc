#include "koordlet/devices/gpu_source.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/event_loop.h"
#include "koordlet/testing/nvml/fake_nvml.h"

namespace koord::koordlet {
namespace {

// The fake library's state is global, so the threads of a test must end before the next test.
struct NvmlSourceTest : testing::Test {
  ~NvmlSourceTest() override {
    while (NvmlSource::runningThreads() > 0) std::this_thread::yield();
  }
  FakeNvml fake;
};

TEST_F(NvmlSourceTest, AnswersOnTheExecutorAndTakesOneQuestionAtATime) {
  fake.addGpu();
  EventLoop loop;
  NvmlSource source(loop, GpuReader(fake.path()));
  std::size_t gpus = 0;
  bool second = true;
  EXPECT_TRUE(source.read([&](Result<GpuReading> reading) {
    gpus = reading ? reading->gpus.size() : 0;
    second = source.read([&](const Result<GpuReading>&) { loop.stop(); });
  }));
  EXPECT_FALSE(source.read([](const Result<GpuReading>&) {}));
  loop.run();
  EXPECT_EQ(gpus, 1U);
  EXPECT_TRUE(second);
}

TEST_F(NvmlSourceTest, ASourceThatIsGoneAnswersNobody) {
  EventLoop loop;
  bool answered = false;
  {
    NvmlSource source(loop, GpuReader(fake.path()));
    source.read([&](const Result<GpuReading>&) { answered = true; });
  }
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace koord::koordlet
