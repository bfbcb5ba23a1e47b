#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace koord {
namespace {

using namespace std::chrono_literals;

TEST(TimeTest, ReadsAnyOffsetAndFractionAndWritesUtc) {
  struct Case {
    const char* in;
    const char* seconds;
    const char* micros;
  };
  const Case cases[] = {
      {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"},
      {"2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z"},
      {"2026-01-01T01:00:00+02:30", "2025-12-31T22:30:00Z", "2025-12-31T22:30:00.000000Z"},
      {"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"},
      {"2024-02-29T00:00:00-00:01", "2024-02-29T00:01:00Z", "2024-02-29T00:01:00.000000Z"},
  };
  for (const auto& c : cases) {
    const auto time = parseTime(c.in);
    ASSERT_TRUE(time) << c.in << ": " << time.error().message;
    EXPECT_EQ(formatTime(*time), c.seconds);
    EXPECT_EQ(formatMicroTime(*time), c.micros);
  }
}

TEST(TimeTest, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "yesterday", "2026-01-02", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z",
        "2026-01-02T24:00:00Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Zx",
        "2026-01-02T03:04:05+25:00", "0001-01-01T00:00:00Z", "2026-01-02 03:04:05Z"})
    EXPECT_FALSE(parseTime(text)) << text;
}

TEST(DurationTest, ReadsAndWritesAsGo) {
  struct Case {
    const char* in;
    Duration value;
    const char* out;
  };
  const Case cases[] = {
      {"0", 0s, "0s"},
      {"5m", 5min, "5m0s"},
      {"24h", 24h, "24h0m0s"},
      {"1h2m3.5s", 1h + 2min + 3500ms, "1h2m3.5s"},
      {"1.5h", 90min, "1h30m0s"},
      {"250ms", 250ms, "250ms"},
      {"1.5us", 1500ns, "1.5\u00b5s"},
      {"1\u00b5s", 1us, "1\u00b5s"},
      {"7ns", 7ns, "7ns"},
      {"-1m30s", -90s, "-1m30s"},
      {".5s", 500ms, "500ms"},
      {"+1s", 1s, "1s"},
      {"2562047h47m16.854775807s", Duration::max(), "2562047h47m16.854775807s"},
      {"-2562047h47m16.854775808s", Duration::min(), "-2562047h47m16.854775808s"},
  };
  for (const auto& c : cases) {
    const auto duration = parseDuration(c.in);
    ASSERT_TRUE(duration) << c.in << ": " << duration.error().message;
    EXPECT_EQ(*duration, c.value) << c.in;
    EXPECT_EQ(formatDuration(*duration), c.out) << c.in;
  }
}

TEST(DurationTest, RefusesWhatGoRefuses) {
  for (const char* text : {"", "-", "5", "s", ".s", "1d", "1h 2m", "3000000h", "99999999999999999999s",
                           "2562047h47m16.854775808s", "10sx"})
    EXPECT_FALSE(parseDuration(text)) << text;
}

}  // namespace
}  // namespace koord
