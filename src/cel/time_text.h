#pragma once

// Timestamps and durations as text, and their calendar fields. CEL's timestamps reach from year 1
// to 9999, further than koord::WallTime does.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cel/value.h"

namespace koord::cel {

inline constexpr std::int64_t kMinSeconds = -62'135'596'800;  // 0001-01-01T00:00:00Z
inline constexpr std::int64_t kMaxSeconds = 253'402'300'799;  // 9999-12-31T23:59:59Z

// RFC 3339 with any offset and up to nine digits of a second (more are cut). BadRequest for other
// texts and years.
Result<Timestamp> parseTimestamp(std::string_view text);
// "2009-02-13T23:31:30.5Z", with as many digits as are needed.
std::string formatTimestamp(Timestamp time);
// "1.5s", as CEL's string(duration) writes it.
std::string formatSeconds(std::int64_t nanoseconds);

// time + nanoseconds; nullopt outside the range of timestamps.
std::optional<Timestamp> addNanoseconds(Timestamp time, std::int64_t nanoseconds);
// a - b in nanoseconds; nullopt if they need more than 64 bits.
std::optional<std::int64_t> nanosecondsBetween(Timestamp a, Timestamp b);

struct CalendarTime {
  int year = 0;
  int month = 0;      // 1 to 12
  int day = 0;        // 1 to 31
  int dayOfYear = 0;  // from 0
  int dayOfWeek = 0;  // 0 is Sunday
  int hour = 0;
  int minute = 0;
  int second = 0;
};
// The calendar at an offset from UTC in seconds.
CalendarTime calendarOf(Timestamp time, std::int64_t offset);

// The offset from UTC, in seconds, at that time. `zone` is "UTC", a name of the system's time zone
// database ("Europe/Berlin") or an offset ("+01:30", "-08:00", "01:30"). BadRequest if there is no
// such zone.
Result<std::int64_t> offsetOfZone(std::string_view zone, Timestamp time);

}  // namespace koord::cel
