#include "koordlet/system/nvml.h"

#include <gmock/gmock.h>

#include "koordlet/testing/nvml/fake_nvml.h"

namespace koord::koordlet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Nvml> openFake(const FakeNvml& fake) {
  auto opened = Nvml::open(fake.path());
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

TEST(NvmlTest, AMissingLibraryIsNotFoundAndNamed) {
  const auto opened = Nvml::open("libno-such-nvml.so.1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::NotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("libno-such-nvml.so.1"));
}

TEST(NvmlTest, ALibraryWithoutTheFunctionsNamesTheFirstOne) {
  const auto opened = Nvml::open("libm.so.6");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("nvmlInit_v2"));
}

TEST(NvmlTest, ADriverThatIsNotLoadedIsUnavailable) {
  FakeNvml fake;
  fake.state().initAnswer = nvml::kDriverNotLoaded;
  const auto opened = Nvml::open(fake.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("Driver Not Loaded"));
}

TEST(NvmlTest, WhatIsOpenedIsShutDown) {
  FakeNvml fake;
  {
    const auto nvml = openFake(fake);
    EXPECT_EQ(fake.state().open, 1);
  }
  EXPECT_EQ(fake.state().open, 0);
}

TEST(NvmlTest, BusAddressesAreThoseOfTheKernel) {
  FakeNvml fake;
  FakeGpu& gpu = fake.addGpu();
  gpu.bus = 0xab;
  fake.addGpu().domain = 0x10001;
  const auto nvml = openFake(fake);
  const auto devices = nvml->devices();
  ASSERT_TRUE(devices);
  ASSERT_THAT(*devices, SizeIs(2));
  const auto first = nvml->identify((*devices)[0]);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->busId, "0000:ab:00.0");
  EXPECT_EQ(first->uuid, "GPU-0");
  EXPECT_EQ(first->model, "NVIDIA H200");
  EXPECT_EQ(nvml->identify((*devices)[1])->busId, "10001:3c:00.0");
}

TEST(NvmlTest, ListsLongerThanTheFirstBufferAreReadInFull) {
  FakeNvml fake;
  FakeGpu& gpu = fake.addGpu();
  gpu.processCount = 200;
  for (unsigned i = 0; i < 200; ++i) gpu.processes[i] = {1000 + i, i, 5 + i, 1};
  const auto nvml = openFake(fake);
  const auto device = nvml->devices()->front();
  const auto processes = nvml->processes(device);
  ASSERT_TRUE(processes);
  ASSERT_THAT(*processes, SizeIs(200));
  EXPECT_EQ(processes->back().pid, 1199U);
  const auto samples = nvml->samples(device, 104);
  ASSERT_TRUE(samples);
  EXPECT_THAT(*samples, SizeIs(100));
}

TEST(NvmlTest, NoSamplesAreNoError) {
  FakeNvml fake;
  fake.addGpu();
  const auto nvml = openFake(fake);
  const auto samples = nvml->samples(nvml->devices()->front(), 0);
  ASSERT_TRUE(samples);
  EXPECT_THAT(*samples, IsEmpty());
}

TEST(NvmlTest, AGpuThatIsLostIsLeftOutAndItsCallsAreUnavailable) {
  FakeNvml fake;
  fake.addGpu();
  fake.addGpu();
  const auto nvml = openFake(fake);
  const auto devices = nvml->devices();
  fake.state().gpus[0].answer = nvml::kGpuIsLost;
  EXPECT_THAT(*nvml->devices(), SizeIs(1));
  const auto memory = nvml->memory(devices->front());
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(memory.error().message, HasSubstr("GPU is lost"));
}

// Uses the real library if there is one.
TEST(NvmlTest, TheRealDriverTellsPlausibleThings) {
  const auto opened = Nvml::open();
  if (!opened) GTEST_SKIP() << opened.error().message;
  const Nvml& nvml = **opened;
  EXPECT_FALSE(nvml.driverVersion()->empty());
  const auto devices = nvml.devices();
  ASSERT_TRUE(devices) << devices.error().message;
  for (const auto device : *devices) {
    const auto identity = nvml.identify(device);
    ASSERT_TRUE(identity) << identity.error().message;
    EXPECT_THAT(identity->uuid, testing::StartsWith("GPU-"));
    EXPECT_THAT(identity->busId, testing::MatchesRegex("[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.0"));
    const auto memory = nvml.memory(device);
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_GT(memory->total, std::uint64_t{1} << 28);
    EXPECT_LE(memory->used, memory->total);
  }
}

}  // namespace
}  // namespace koord::koordlet
