#include "koordlet/qos/cpuburst/rules.h"

#include <gtest/gtest.h>

namespace koord::koordlet {
namespace {

TEST(CpuBurstStepTest, a_throttled_container_wants_more_if_it_may) {
  using cpuburst::QuotaStep;
  const api::CPUBurstStrategy on{.policy = "auto"}, off{.policy = "none"};
  EXPECT_EQ(cpuburst::wantedStep(on, true, 0.2), QuotaStep::Up);
  EXPECT_EQ(cpuburst::wantedStep(on, true, 0.0), QuotaStep::Remain);
  EXPECT_EQ(cpuburst::wantedStep(on, true, std::nullopt), QuotaStep::Remain);
  EXPECT_EQ(cpuburst::wantedStep(on, false, 0.2), QuotaStep::Down) << "no tokens are left";
  EXPECT_EQ(cpuburst::wantedStep(off, true, 0.2), QuotaStep::Reset);
}

}  // namespace
}  // namespace koord::koordlet
