// Fields of timestamps and durations: getFullYear and so on.

#include <fmt/format.h>

#include "cel/library/standard.h"
#include "cel/time_text.h"

namespace koord::cel {

namespace {

using FieldOf = std::int64_t (*)(const CalendarTime& at, const Timestamp& time);

struct TimeField {
  std::string_view function;
  std::string_view id;
  FieldOf field;
};

constexpr TimeField kTimeFields[] = {
    {"getFullYear", "timestamp_to_year",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.year; }},
    {"getMonth", "timestamp_to_month",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.month - 1; }},
    {"getDayOfYear", "timestamp_to_day_of_year",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.dayOfYear; }},
    {"getDayOfMonth", "timestamp_to_day_of_month",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.day - 1; }},
    {"getDate", "timestamp_to_day_of_month_1_based",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.day; }},
    {"getDayOfWeek", "timestamp_to_day_of_week",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.dayOfWeek; }},
    {"getHours", "timestamp_to_hours",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.hour; }},
    {"getMinutes", "timestamp_to_minutes",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.minute; }},
    {"getSeconds", "timestamp_to_seconds",
     [](const CalendarTime& at, const Timestamp&) -> std::int64_t { return at.second; }},
    {"getMilliseconds", "timestamp_to_milliseconds",
     [](const CalendarTime&, const Timestamp& time) -> std::int64_t {
       return time.nanoseconds / 1'000'000;
     }},
};

struct DurationPart {
  std::string_view function;
  std::string_view id;
  std::int64_t unit;  // nanoseconds
  std::int64_t modulus;
};

constexpr DurationPart kDurationParts[] = {
    {"getHours", "duration_to_hours", 3'600'000'000'000, 0},
    {"getMinutes", "duration_to_minutes", 60'000'000'000, 0},
    {"getSeconds", "duration_to_seconds", 1'000'000'000, 0},
    {"getMilliseconds", "duration_to_milliseconds", 1'000'000, 1000},
};

}  // namespace

void addTimes(Library& library) {
  const Type t = Type::timestamp(), s = Type::string(), i = Type::integer();
  for (const TimeField& each : kTimeFields) {
    const FieldOf field = each.field;
    const std::string zoned = each.function == "getSeconds" ? "timestamp_to_seconds_tz"
                                                            : fmt::format("{}_with_tz", each.id);
    library.add(each.function,
                {memberOverload(std::string(each.id), {t}, i,
                                [field](Arguments x) {
                                  const Timestamp time = x[0].asTimestamp();
                                  return Value::integer(field(calendarOf(time, 0), time));
                                }),
                 memberOverload(zoned, {t, s}, i, [field](Arguments x) {
                   const Timestamp time = x[0].asTimestamp();
                   const auto offset = offsetOfZone(x[1].text(), time);
                   if (!offset) return Value::error(offset.error().message);
                   return Value::integer(field(calendarOf(time, *offset), time));
                 })});
  }
  for (const DurationPart& each : kDurationParts) {
    const std::int64_t unit = each.unit, modulus = each.modulus;
    library.add(each.function, {memberOverload(std::string(each.id), {Type::duration()}, i,
                                               [unit, modulus](Arguments x) {
                                                 const std::int64_t n = x[0].asDuration() / unit;
                                                 return Value::integer(modulus ? n % modulus : n);
                                               })});
  }
}

}  // namespace koord::cel
