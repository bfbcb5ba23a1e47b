#include "cluster/hostnode/machine.h"

#include <gtest/gtest.h>

namespace koord::cluster {
namespace {

TEST(MachineTest, LinesOfMeminfoAreReadInBytes) {
  EXPECT_EQ(meminfoLine("MemTotal:       24684096 kB\nMemFree: 1 kB\n", "MemTotal"),
            std::int64_t{24684096} * 1024);
  EXPECT_EQ(meminfoLine("Inactive:   3 kB\nInactive(file):   2 kB", "Inactive(file)"), 2048);
  EXPECT_EQ(meminfoLine("MemFree: 1 kB\n", "MemTotal"), std::nullopt);
  EXPECT_EQ(meminfoLine("MemTotal:\n", "MemTotal"), std::nullopt);
}

}  // namespace
}  // namespace koord::cluster
