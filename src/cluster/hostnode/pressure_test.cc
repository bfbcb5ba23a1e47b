#include "cluster/hostnode/pressure.h"

#include <gmock/gmock.h>

namespace koord::cluster {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Signal = EvictionSignal;

constexpr std::int64_t kMebibyte = 1 << 20;
// The defaults of kubelet on Linux, and of koordctl up.
constexpr const char* kDefaults =
    "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,"
    "imagefs.inodesFree<5%";

NodePressures pressuresOf(const std::string& thresholds, const SignalReadings& signals) {
  return PressureWatch(*parseEvictionHard(thresholds)).observe(signals, SteadyTime(1h));
}

TEST(PressureTest, DefaultsAreKubelets) {
  const struct {
    SignalReadings signals;
    NodePressures expected;
  } rows[] = {
      {{}, {}},
      {{{Signal::MemoryAvailable, {100 * kMebibyte, 1000 * kMebibyte}}}, {}},
      {{{Signal::MemoryAvailable, {100 * kMebibyte - 1, 1000 * kMebibyte}}}, {.memory = true}},
      {{{Signal::NodefsAvailable, {100, 1000}}}, {}},
      {{{Signal::NodefsAvailable, {99, 1000}}}, {.disk = true}},
      {{{Signal::NodefsInodesFree, {49, 1000}}}, {.disk = true}},
      {{{Signal::ImagefsAvailable, {150, 1000}}}, {}},
      {{{Signal::ImagefsAvailable, {149, 1000}}}, {.disk = true}},
      {{{Signal::ImagefsInodesFree, {49, 1000}}}, {.disk = true}},
      {{{Signal::PidAvailable, {0, 1000}}}, {}},
  };
  for (const auto& row : rows) EXPECT_EQ(pressuresOf(kDefaults, row.signals), row.expected);
  EXPECT_EQ(pressuresOf("pid.available<1k", {{Signal::PidAvailable, {999, 32768}}}),
            (NodePressures{.pid = true}));
  EXPECT_EQ(pressuresOf("", {{Signal::MemoryAvailable, {0, 1000 * kMebibyte}}}), NodePressures{});
  EXPECT_EQ(pressuresOf("nodefs.available<0%", {{Signal::NodefsAvailable, {0, 1000}}}),
            NodePressures{});
}

TEST(PressureTest, AConditionStaysForFiveMinutes) {
  PressureWatch watch(*parseEvictionHard("memory.available<1Mi"));
  const SignalReadings low{{Signal::MemoryAvailable, {0, kMebibyte}}};
  const SignalReadings well{{Signal::MemoryAvailable, {2 * kMebibyte, 4 * kMebibyte}}};
  EXPECT_FALSE(watch.observe(well, SteadyTime(1h)).memory);
  EXPECT_TRUE(watch.observe(low, SteadyTime(2h)).memory);
  EXPECT_TRUE(watch.observe(well, SteadyTime(2h + 299s)).memory);
  EXPECT_FALSE(watch.observe(well, SteadyTime(2h + 300s)).memory);
}

TEST(PressureTest, WhatIsNoThresholdIsRefused) {
  for (const char* text :
       {"memory.available", "memory.free<1Gi", "memory.available<", "memory.available<-1",
        "memory.available<101%", "memory.available<x%", "memory.available<1Gi, ", "<1",
        "memory.available<0", "pid.available<0Gi"}) {
    const auto parsed = parseEvictionHard(text);
    EXPECT_FALSE(parsed) << text;
  }
  EXPECT_THAT(parseEvictionHard("a<1").error().message, HasSubstr("\"a<1\": unknown signal"));
}

TEST(PressureTest, TheFormatIsKubelets) {
  const SignalReadings signals{{Signal::MemoryAvailable, {5, 10}}, {Signal::PidAvailable, {5, 10}}};
  const struct {
    const char* text;
    NodePressures expected;
  } rows[] = {
      {"memory.available<6,,", {.memory = true}},
      {",,", {}},
      {" memory.available < 6 , pid.available\t<60% ", {.memory = true, .pid = true}},
      {"memory.available<6,pid.available<6,memory.available<5", {.pid = true}},
      {"memory.available<x,memory.available<60%", {.memory = true}},
      {"memory.available<6,memory.available<100%", {}},
  };
  for (const auto& row : rows) {
    const auto parsed = parseEvictionHard(row.text);
    ASSERT_TRUE(parsed) << row.text;
    EXPECT_EQ(pressuresOf(row.text, signals), row.expected) << row.text;
  }
}

TEST(PressureTest, AFolderThatDoesNotExistHasNoReadableDisk) {
  EXPECT_TRUE(hasReadableDisk("/proc"));
  EXPECT_FALSE(hasReadableDisk("/proc/none"));
  EXPECT_FALSE(hasReadableDisk(""));
}

TEST(PressureTest, TheLowerLimitOfTasksCounts) {
  const struct {
    const char *pidMax, *threadsMax, *loadavg;
    std::optional<std::pair<std::int64_t, std::int64_t>> expected;  // available, capacity
  } rows[] = {
      {"32768\n", "1000\n", "0.50 0.43 0.40 2/345 6789\n", {{655, 1000}}},
      {"1000\n", "32768\n", "0.50 0.43 0.40 2/345 6789\n", {{655, 1000}}},
      {"", "1000\n", "0.50 0.43 0.40 2/345 6789\n", {{655, 1000}}},
      {"1000\n", "", "0.50 0.43 0.40 2/345 6789\n", {{655, 1000}}},
      {"", "", "0.50 0.43 0.40 2/345 6789\n", {}},
      {"1000\n", "1000\n", "", {}},
  };
  for (const auto& row : rows) {
    const auto signal = pidSignal(row.pidMax, row.threadsMax, row.loadavg);
    ASSERT_EQ(signal.has_value(), row.expected.has_value());
    if (!signal) continue;
    EXPECT_EQ(signal->available, row.expected->first);
    EXPECT_EQ(signal->capacity, row.expected->second);
  }
}

TEST(PressureTest, FilesThatNobodyUsesAreAvailable) {
  const auto memory = memorySignal(
      "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:  500 kB\n"
      "Inactive:   300 kB\nInactive(file):   200 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->available, 300 * 1024);
  EXPECT_EQ(memory->capacity, 1000 * 1024);
  EXPECT_FALSE(memorySignal("MemTotal: x kB\n"));
}

TEST(PressureTest, ThisMachineHasAllSignals) {
  const auto signals = readSignals("/", "/");
  for (const auto signal : {Signal::MemoryAvailable, Signal::NodefsAvailable,
                            Signal::ImagefsAvailable, Signal::PidAvailable}) {
    ASSERT_TRUE(signals.contains(signal));
    EXPECT_GT(signals.at(signal).capacity, 0);
    EXPECT_LE(signals.at(signal).available, signals.at(signal).capacity);
  }
  EXPECT_FALSE(readSignals("/no/such/folder", "").contains(Signal::NodefsAvailable));
}

}  // namespace
}  // namespace koord::cluster
