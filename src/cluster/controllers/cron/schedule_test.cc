#include "cluster/controllers/cron/schedule.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace koord::cluster {
namespace {

TEST(CronScheduleTest, TheNextTimeIsTheFirstThatMatches) {
  const struct {
    const char* schedule;
    const char* zone;
    const char* after;
    const char* next;  // "" = never
  } cases[] = {
      {"* * * * *", "", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"},
      {"*/15 * * * *", "", "2026-01-01T00:46:10Z", "2026-01-01T01:00:00Z"},
      {"5/20 * * * *", "", "2026-01-01T00:06:00Z", "2026-01-01T00:25:00Z"},
      {"30 4 1,15 * 5", "", "2026-01-01T04:30:00Z", "2026-01-02T04:30:00Z"},  // a Friday
      {"0 0 29 2 *", "", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
      {"0 0 31 4 *", "", "2026-01-01T00:00:00Z", ""},
      {"0 9 * jan-mar MON", "", "2026-03-30T09:00:00Z", "2027-01-04T09:00:00Z"},
      {"0 0 * * 7", "", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"},
      {"0 0 * * 5-7", "", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"},
      {"10-20/2147483647 * * * *", "", "2026-01-01T00:00:00Z", "2026-01-01T00:10:00Z"},
      {"@hourly", "", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"},
      {"@yearly", "", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
      {"0 12 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", "2026-01-01T11:00:00Z"},
      {"0 12 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-01T10:00:00Z"},
      // 02:30 does not exist on the day when daylight saving time begins ...
      {"30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", "2026-03-30T00:30:00Z"},
      // ... and occurs twice on the day when it ends.
      {"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
      {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
  };
  for (const auto& test : cases) {
    const auto schedule = CronSchedule::parse(test.schedule, test.zone);
    ASSERT_TRUE(schedule) << schedule.error().message;
    const auto next = schedule->next(*parseTime(test.after));
    EXPECT_EQ(next ? formatTime(*next) : "", test.next) << test.schedule << " after " << test.after;
  }
}

TEST(CronScheduleTest, ABrokenScheduleIsRefused) {
  for (const char* text : {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *",
                           "* * * 13 *", "* * * * 8", "a * * * *", "5-1 * * * *", "*/0 * * * *",
                           "1/2/3 * * * *", "1-2-3 * * * *", "@often", "1, * * * *"})
    EXPECT_FALSE(CronSchedule::parse(text)) << text;
  EXPECT_FALSE(CronSchedule::parse("* * * * *", "Mars/Olympus"));
}

TEST(CronScheduleTest, TimesAreShownInTheirZone) {
  EXPECT_EQ(
      CronSchedule::parse("@daily", "Europe/Berlin")->format(*parseTime("2026-07-01T10:00:00Z")),
      "2026-07-01T12:00:00+02:00");
}

}  // namespace
}  // namespace koord::cluster
