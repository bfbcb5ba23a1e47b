#include "base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Time, ReadsAndWritesRfc3339) {
  struct Row {
    std::string_view text;
    std::string_view seconds;
    std::string_view micros;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00.000000Z"},
           {"2026-01-31T08:00:00+08:00", "2026-01-31T00:00:00Z", "2026-01-31T00:00:00.000000Z"},
           {"2026-01-31T20:30:00-03:30", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00.000000Z"},
           {"2024-02-29T23:59:59.123456789Z", "2024-02-29T23:59:59Z",
            "2024-02-29T23:59:59.123456Z"},
           {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
           {"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"},
           {"2000-01-01T00:00:00.0000000001Z", "2000-01-01T00:00:00Z",
            "2000-01-01T00:00:00.000000Z"},
       }) {
    const auto time = parseTime(row.text);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_EQ(formatTime(*time), row.seconds);
    EXPECT_EQ(formatMicroTime(*time), row.micros);
  }
  EXPECT_EQ(parseTime("1970-01-02T00:00:01.000000002Z").value(), WallTime(24h + 1s + 2ns));
}

TEST(Time, HoldsFarTimesToWhatCanBeRepresented) {
  EXPECT_EQ(parseTime("0001-01-01T00:00:00Z").value(), WallTime::min());
  EXPECT_EQ(parseTime("9999-12-31T23:59:59Z").value(), WallTime::max());
  EXPECT_EQ(formatTime(WallTime::max()), "2262-04-11T23:47:16Z");
}

TEST(Time, RefusesWhatIsNoTime) {
  for (std::string_view text :
       {"", "2026-01-31", "2026-01-31 08:00:00Z", "2026-01-31T08:00:00", "2026-1-31T08:00:00Z",
        "2026-01-31T08:00:00Zx", "2026-01-31T08:00:00.Z", "2026-01-31T08:00:00+0800",
        "x026-01-31T08:00:00Z"}) {
    const auto time = parseTime(text);
    ASSERT_FALSE(time) << text;
    EXPECT_THAT(time.error().message, HasSubstr("RFC 3339")) << text;
  }
  EXPECT_THAT(parseTime("2026-02-29T08:00:00Z").error().message, HasSubstr("no such day"));
  EXPECT_THAT(parseTime("2026-02-28T24:00:00Z").error().message, HasSubstr("time of day"));
  EXPECT_THAT(parseTime("2026-02-28T08:00:00+24:00").error().message, HasSubstr("offset"));
}

TEST(Duration, ReadsAndWritesTheSyntaxOfGo) {
  struct Row {
    std::string_view text;
    Duration duration;
    std::string_view canonical;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"0", 0s, "0s"},
           {"-0", 0s, "0s"},
           {"0s", 0s, "0s"},
           {"1h2m3s", 1h + 2min + 3s, "1h2m3s"},
           {"5m", 5min, "5m0s"},
           {"24h", 24h, "24h0m0s"},
           {"1.5h", 90min, "1h30m0s"},
           {".5s", 500ms, "500ms"},
           {"1.s", 1s, "1s"},
           {"+90s", 90s, "1m30s"},
           {"-1m30.25s", -(90s + 250ms), "-1m30.25s"},
           {"1s1s", 2s, "2s"},
           {"1500us", 1500us, "1.5ms"},
           {"1\u00b5s", 1us, "1\u00b5s"},
           {"1\u03bcs", 1us, "1\u00b5s"},
           {"1.25us", 1250ns, "1.25\u00b5s"},
           {"7ns", 7ns, "7ns"},
           {"0.9ns", 0ns, "0s"},
           {"1h0.000000001s", 1h + 1ns, "1h0m0.000000001s"},
           {"0.33333333333333333333h", 20min - 1ns, "19m59.999999999s"},
           {"9223372036854775807ns", Duration::max(), "2562047h47m16.854775807s"},
           {"-9223372036854775808ns", Duration::min(), "-2562047h47m16.854775808s"},
       }) {
    const auto duration = parseDuration(row.text);
    ASSERT_TRUE(duration) << duration.error().message;
    EXPECT_EQ(*duration, row.duration) << row.text;
    EXPECT_EQ(formatDuration(*duration), row.canonical);
    EXPECT_EQ(parseDuration(formatDuration(*duration)).value(), *duration);
  }
}

TEST(Duration, RefusesWhatGoRefuses) {
  for (std::string_view text : {"", "-", "s", ".", "-.s", "abc", " 1s", "1h -1m"}) {
    EXPECT_FALSE(parseDuration(text)) << text;
  }
  EXPECT_THAT(parseDuration("3").error().message, HasSubstr("missing unit"));
  EXPECT_THAT(parseDuration("3d").error().message, HasSubstr("unknown unit \"d\""));
  EXPECT_THAT(parseDuration("1s ").error().message, HasSubstr("unknown unit \"s \""));
  for (std::string_view text : {"9223372036854775808ns", "-9223372036854775809ns", "2562048h",
                                "99999999999999999999999999999s", "1e9s"}) {
    EXPECT_FALSE(parseDuration(text)) << text;
  }
}

}  // namespace
}  // namespace koord
