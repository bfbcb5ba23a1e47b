#include "cluster/up/console_service.h"

#include <gtest/gtest.h>

namespace koord::cluster {

TEST(ConsoleServiceTest, TheConsoleListensOnLoopbackOnly) {
  for (const auto* address : {"", "off", "127.0.0.1:0", "localhost:6480", "[::1]:80"})
    EXPECT_TRUE(checkConsoleAddress(address)) << address;
  for (const auto* address : {":6480", "0.0.0.0:6480", "10.1.2.3:80", "[::]:80", "example.com:80"})
    EXPECT_FALSE(checkConsoleAddress(address)) << address;
}

}  // namespace koord::cluster
