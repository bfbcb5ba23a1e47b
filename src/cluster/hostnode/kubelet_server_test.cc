#include "cluster/hostnode/kubelet_server.h"

#include <gtest/gtest.h>

namespace koord::cluster {
namespace {

TEST(LogTest, TheTailIsCountedInLines) {
  EXPECT_EQ(tailOf("a\nb\nc\n", 2), "b\nc\n");
  EXPECT_EQ(tailOf("a\nb\nc", 2), "b\nc");
  EXPECT_EQ(tailOf("a\nb\n", 9), "a\nb\n");
  EXPECT_EQ(tailOf("a\nb\n", 0), "");
  EXPECT_EQ(tailOf("a\n", -1), "a\n");
  EXPECT_EQ(tailOf("", 3), "");
}

TEST(LogTest, ThePrefixOfCriRuntimesIsTakenOff) {
  EXPECT_EQ(plainLog("2026-01-02T03:04:05.123456789+00:00 stdout F hello\n"
                     "2026-01-02T03:04:06.123456789+00:00 stderr P a long \n"
                     "2026-01-02T03:04:06.123456789+00:00 stderr F line\n"),
            "hello\na long line\n");
}

TEST(LogTest, OtherLogsStayAsTheyAre) {
  EXPECT_EQ(plainLog("hello\nworld\n"), "hello\nworld\n");
  EXPECT_EQ(plainLog(""), "");
  EXPECT_EQ(plainLog("x stdout F y\n"), "x stdout F y\n");
}

}  // namespace
}  // namespace koord::cluster
