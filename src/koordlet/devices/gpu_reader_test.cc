#include "koordlet/devices/gpu_reader.h"

#include <gmock/gmock.h>

#include "koordlet/testing/nvml/fake_nvml.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

class GpuReaderTest : public testing::Test {
 protected:
  GpuReading read(Duration after = 1s) {
    now_ += after;
    auto reading = reader_.read(now_);
    EXPECT_TRUE(reading) << reading.error().message;
    return reading.value_or(GpuReading{});
  }
  void tell(unsigned gpu, std::uint64_t xid) {
    fake_.state().faults[fake_.state().faultCount++] = {gpu, xid};
  }

  FakeNvml fake_;
  GpuReader reader_{fake_.path()};
  SteadyTime now_{1h};
};

TEST_F(GpuReaderTest, AGpuUsesWhatItsProcessesUse) {
  FakeGpu& gpu = fake_.addGpu();
  gpu.memoryUsed = 3'000;
  gpu.processCount = 2;
  gpu.processes[0] = {10, 1'000, 5, 30};
  gpu.processes[1] = {11, 500, 6, 20};
  const auto reading = read();
  EXPECT_EQ(reading.driverVersion, "570.86.15");
  ASSERT_THAT(reading.gpus, SizeIs(1));
  EXPECT_EQ(reading.gpus[0].core, 50U);
  EXPECT_EQ(reading.gpus[0].memoryUsed, 1'500U);
  ASSERT_THAT(reading.gpus[0].processes, SizeIs(2));
  EXPECT_EQ(reading.gpus[0].processes[1].core, 20U);
  EXPECT_FALSE(reading.gpus[0].fault);
}

TEST_F(GpuReaderTest, AProcessWithoutANewSampleUsesNothing) {
  FakeGpu& gpu = fake_.addGpu();
  gpu.processCount = 1;
  gpu.processes[0] = {10, 1'000, 5, 30};
  EXPECT_EQ(read().gpus[0].core, 30U);
  EXPECT_EQ(read().gpus[0].core, 0U);
  gpu.processes[0].sampledUs = 9;
  EXPECT_EQ(read().gpus[0].core, 30U);
}

TEST_F(GpuReaderTest, WithoutSamplesOrMemoryOfProcessesTheDeviceIsMeasured) {
  FakeGpu& gpu = fake_.addGpu();
  gpu.samplesAnswer = nvml::kNotSupported;
  gpu.utilization = 77;
  gpu.memoryUsed = 3'000;
  gpu.processCount = 1;
  gpu.processes[0] = {10, nvml::kNotAvailable, 5, 30};
  const auto reading = read();
  EXPECT_EQ(reading.gpus[0].core, 77U);
  EXPECT_EQ(reading.gpus[0].memoryUsed, 3'000U);
}

TEST_F(GpuReaderTest, ACriticalErrorMakesOnlyItsGpuIllAndAnApplicationsErrorNone) {
  fake_.addGpu();
  fake_.addGpu();
  read();
  tell(0, 31);
  tell(1, 79);
  const auto reading = read();
  EXPECT_FALSE(reading.gpus[0].fault);
  ASSERT_TRUE(reading.gpus[1].fault);
  EXPECT_EQ(reading.gpus[1].fault->reason, "Xid79");
}

TEST_F(GpuReaderTest, AGpuIsWellAgainAfterTenMinutesUnlessMemoryWaitsForAReset) {
  fake_.addGpu().rowsPending = 1;
  read();
  tell(0, 63);
  EXPECT_TRUE(read().gpus[0].fault);
  EXPECT_TRUE(read(11min).gpus[0].fault);
  fake_.state().gpus[0].rowsPending = 0;
  EXPECT_TRUE(read(5min).gpus[0].fault);
  EXPECT_FALSE(read(6min).gpus[0].fault);
}

TEST_F(GpuReaderTest, AGpuThatFallsOffTheBusStaysAndIsIll) {
  fake_.addGpu();
  fake_.addGpu();
  read();
  fake_.state().gpus[0].answer = nvml::kGpuIsLost;
  auto reading = read();
  ASSERT_THAT(reading.gpus, SizeIs(2));
  ASSERT_TRUE(reading.gpus[0].fault);
  EXPECT_EQ(reading.gpus[0].fault->reason, "DeviceLost");
  EXPECT_FALSE(reading.gpus[1].fault);
  fake_.state().gpus[0].answer = 0;
  EXPECT_TRUE(read().gpus[0].fault);
  EXPECT_FALSE(read(11min).gpus[0].fault);
}

TEST_F(GpuReaderTest, AGpuThatCannotTellErrorsIsNotTrusted) {
  fake_.addGpu().registerAnswer = nvml::kNotSupported;
  const auto reading = read();
  ASSERT_TRUE(reading.gpus[0].fault);
  EXPECT_EQ(reading.gpus[0].fault->reason, "DeviceHealthCheckNotSupported");
  EXPECT_TRUE(read(1h).gpus[0].fault);
}

TEST_F(GpuReaderTest, ADriverThatWasGoneIsOpenedAnewAndWatchedAgain) {
  fake_.addGpu();
  read();
  fake_.state().countAnswer = nvml::kDriverNotLoaded;
  EXPECT_FALSE(reader_.read(now_));
  EXPECT_EQ(fake_.state().open, 0);
  fake_.state().countAnswer = 0;
  EXPECT_FALSE(read().gpus[0].fault);
  tell(0, 48);
  EXPECT_TRUE(read().gpus[0].fault);
}

TEST_F(GpuReaderTest, AMachineWithADriverButNoGpuHasNone) {
  EXPECT_THAT(read().gpus, IsEmpty());
}

}  // namespace
}  // namespace koord::koordlet
