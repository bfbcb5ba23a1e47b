#include "cluster/containerd/cri_command.h"

#include <gtest/gtest.h>

namespace koord::cluster {
namespace {

TEST(CriCommand, TheExitCodeIsInTheCausesOfTheStatus) {
  EXPECT_EQ(exitCodeOf(R"({"metadata":{},"status":"Success"})").value(), 0);
  EXPECT_EQ(
      exitCodeOf(R"({"status":"Failure","message":"command terminated","reason":"NonZeroExitCode",
                          "details":{"causes":[{"reason":"ExitCode","message":"42"}]}})")
          .value(),
      42);
}

TEST(CriCommand, AFailureWithoutACodeIsAnError) {
  const auto failed = exitCodeOf(
      R"({"status":"Failure","message":"Internal error occurred: no such file","code":500})");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no such file");
  EXPECT_FALSE(exitCodeOf(""));
  EXPECT_FALSE(exitCodeOf("garbage"));
  EXPECT_FALSE(exitCodeOf(
      R"({"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"x"}]}})"));
}

}  // namespace
}  // namespace koord::cluster
