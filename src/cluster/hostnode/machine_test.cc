#include "cluster/hostnode/machine.h"

#include <gtest/gtest.h>

namespace koord::cluster {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

TEST(MachineTest, LinesOfMeminfoAreReadInBytes) {
  EXPECT_EQ(meminfoLine("MemTotal:       24684096 kB\nMemFree: 1 kB\n", "MemTotal"),
            std::int64_t{24684096} * 1024);
  EXPECT_EQ(meminfoLine("Inactive:   3 kB\nInactive(file):   2 kB", "Inactive(file)"), 2048);
  EXPECT_EQ(meminfoLine("MemFree: 1 kB\n", "MemTotal"), std::nullopt);
  EXPECT_EQ(meminfoLine("MemTotal:\n", "MemTotal"), std::nullopt);
}

TEST(MachineTest, EvictionThresholdsAreNotAllocatable) {
  Machine machine;
  machine.cpus = 4;
  machine.memoryBytes = 8 * kGibibyte;
  machine.diskBytes = 1000;
  const struct {
    const char* evictionHard;
    std::int64_t memory, disk;
  } rows[] = {
      {"", 8 * kGibibyte, 1000},
      {"memory.available<100Mi", 8 * kGibibyte - (100 << 20), 1000},
      {"memory.available<25%,nodefs.available<10%", 6 * kGibibyte, 900},
      {"nodefs.available<300", 8 * kGibibyte, 700},
      {"memory.available<9Gi,nodefs.available<1k", 0, 0},
      {"memory.available<100%,nodefs.available<0%", 8 * kGibibyte, 1000},
      // Kubelet withholds nothing for these.
      {"imagefs.available<15%,nodefs.inodesFree<5%,pid.available<10%", 8 * kGibibyte, 1000},
  };
  for (const auto& row : rows) {
    const auto allocatable = allocatableOf(machine, *parseEvictionHard(row.evictionHard));
    EXPECT_EQ(allocatable.at("memory").value(), row.memory) << row.evictionHard;
    EXPECT_EQ(allocatable.at("ephemeral-storage").value(), row.disk) << row.evictionHard;
    EXPECT_EQ(allocatable.at("cpu").value(), 4);
  }
}

}  // namespace
}  // namespace koord::cluster
