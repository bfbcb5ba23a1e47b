#include "koordctl/shadow/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::koordctl {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kReport = R"({
  "kind": "ShadowReport", "incumbent": "default-scheduler", "since": "2026-01-02T03:04:05Z",
  "compared": 200, "agreed": 198, "agreedOnNearbyState": 3, "open": 1,
  "results": {"sameNode": 150, "equalScore": 45, "nearbyState": 3, "worseScore": 1,
              "onlyShadowPlaces": 1},
  "skipped": {"unseen": 2}, "refusedWrites": {},
  "latency": {"incumbent": {"count": 9, "meanSeconds": 0.25, "p50Seconds": 0.2, "p99Seconds": 2.5},
              "shadow": {"count": 200, "meanSeconds": 0.00004, "p50Seconds": 0.00003,
                         "p99Seconds": 0.0012}},
  "gains": {"placements": 1, "largestFreeCpuCores": 2.5, "largestFreeGpus": 0, "wholeFreeGpus": 1,
            "spreadPercentPoints": 1.25, "preemptionsAvoided": 1},
  "differences": [
    {"time": "2026-01-02T03:05:00Z", "pod": "shop/web", "result": "worseScore",
     "incumbent": {"outcome": "place", "node": "a"}, "shadow": {"outcome": "place", "node": "b"},
     "scores": {"incumbent": 410, "shadow": 460,
                "plugins": [{"plugin": "NodeResourcesFit", "incumbent": 40, "shadow": 90}]}},
    {"time": "2026-01-02T03:04:30Z", "pod": "shop/big", "result": "onlyShadowPlaces",
     "incumbent": {"outcome": "preempt", "node": "a", "message": "0/2 nodes are available"},
     "shadow": {"outcome": "place", "node": "b"}}]})";

TEST(ShadowText, shows_agreement_latency_gains_and_differences_with_both_reasons) {
  const std::string text = shadowText(parseJson(kReport).value(), 10);
  EXPECT_THAT(text, HasSubstr("agreement  99.00 % of 200 decisions, 3 of them a moment earlier"));
  EXPECT_THAT(text, HasSubstr("150  sameNode"));
  EXPECT_THAT(text, HasSubstr("not compared: 2 unseen"));
  EXPECT_THAT(text, Not(HasSubstr("writes that were refused")));
  EXPECT_THAT(text, HasSubstr("250.0 ms"));
  EXPECT_THAT(text, HasSubstr("40 us"));
  EXPECT_THAT(text, HasSubstr("-1.25 percentage points"));
  EXPECT_THAT(text, HasSubstr("preemptions   1 avoided"));
  EXPECT_THAT(text, HasSubstr("score      410 < 460: NodeResourcesFit 40, 90"));
  EXPECT_THAT(text, HasSubstr("incumbent  preempt on a: 0/2 nodes are available"));
}

TEST(ShadowText, shows_no_more_differences_than_asked) {
  const std::string text = shadowText(parseJson(kReport).value(), 1);
  EXPECT_THAT(text, HasSubstr("shop/web"));
  EXPECT_THAT(text, Not(HasSubstr("shop/big")));
}

TEST(ShadowText, says_that_the_shadow_fell_behind) {
  const json::value report =
      parseJson(
          R"({"incumbent": "x", "compared": 1, "agreed": 1, "skipped": {"behind": 7, "late": 3}})")
          .value();
  EXPECT_THAT(shadowText(report, 10), HasSubstr("it fell behind: 7 decisions are not compared"));
  EXPECT_THAT(shadowText(report, 10), HasSubstr("3 decisions arrived late and are not compared"));
}

TEST(ShadowText, survives_reports_of_another_shape) {
  for (const char* odd :
       {"{}", "[]", "null", R"({"results": 7, "latency": [], "gains": "", "differences": {}})",
        R"({"compared": "x", "differences": [1, null, {"scores": {"plugins": [0]}}]})",
        R"({"compared": 1e300, "agreed": -1.5, "results": {"sameNode": 1e99}})"})
    EXPECT_THAT(shadowText(parseJson(odd).value(), 10), HasSubstr("shadow of")) << odd;
}

}  // namespace
}  // namespace koord::koordctl
