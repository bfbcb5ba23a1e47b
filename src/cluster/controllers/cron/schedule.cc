#include "cluster/controllers/cron/schedule.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/split.h"

// A field is a set of numbers, as bits. next() goes day by day from the given time, and within a
// matching day hour by hour and minute by minute, and converts each wall-clock time to a time with
// the zone. That is slower than arithmetic on fields, but correct where arithmetic is not: a time
// that daylight saving time skips does not occur, and a repeated time occurs twice.
//
// A day matches if month, day of month and day of week match. If both kinds of days are restricted,
// either suffices: "0 0 13 * 5" is every 13th and every Friday. A schedule without a time within
// five years ("0 0 30 2 *") never runs. Rules: robfig/cron/v3, which the CronJob controller uses.

namespace koord::cluster {

struct CronSchedule::Zone {
  absl::TimeZone zone;
};

namespace {

constexpr int kSearchDays = 5 * 366;

struct Bounds {
  const char* name;
  int low;
  int high;
  const char* names;  // of three letters each, from `low` on
};
constexpr Bounds kBounds[] = {
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"day of month", 1, 31, ""},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of week", 0, 6, "sunmontuewedthufrisat"},
};

struct Descriptor {
  const char* name;
  const char* schedule;
};
constexpr Descriptor kDescriptors[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

std::optional<int> numberOf(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<int> valueOf(std::string_view text, const Bounds& bounds) {
  if (const auto number = numberOf(text)) return number;
  if (text.size() != 3) return std::nullopt;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  const auto at = std::string_view(bounds.names).find(lower);
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return bounds.low + static_cast<int>(at / 3);
}

absl::Time toAbsl(WallTime time) {
  return absl::FromUnixNanos(time.time_since_epoch().count());
}
WallTime fromAbsl(absl::Time time) {
  return WallTime(Duration(absl::ToUnixNanos(time)));
}

}  // namespace

Result<CronSchedule::Field> CronSchedule::parseField(std::string_view text, int index) {
  const Bounds& bounds = kBounds[index];
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::Invalid, fmt::format("{} \"{}\": {}", bounds.name, text, why));
  };
  Field field;
  for (const auto item : splitAll(text, ',')) {
    const auto parts = splitAll(item, '/');
    if (parts.size() > 2) return wrong("too many slashes");
    int low = bounds.low, high = bounds.high, step = 1;
    const bool star = parts[0] == "*" || parts[0] == "?";
    if (!star) {
      const auto ends = splitAll(parts[0], '-');
      if (ends.size() > 2) return wrong("too many hyphens");
      const auto from = valueOf(ends[0], bounds);
      if (!from) return wrong("expected a number");
      low = *from;
      // "5/15" starts at 5 and has no end.
      if (parts.size() == 1) high = low;
      if (ends.size() == 2) {
        const auto to = valueOf(ends[1], bounds);
        if (!to) return wrong("expected a number");
        high = *to;
      }
    }
    if (parts.size() == 2) {
      const auto every = numberOf(parts[1]);
      if (!every || *every == 0) return wrong("the step must be a positive number");
      step = std::min(*every, 60);  // beyond every field
    }
    // Sunday is 0, and 7 as the end of a week.
    const int most = index == 4 ? 7 : bounds.high;
    if (low < bounds.low) return wrong(fmt::format("{} is below {}", low, bounds.low));
    if (high > most || low > most)
      return wrong(fmt::format("{} is above {}", std::max(low, high), bounds.high));
    if (low > high) return wrong("the range ends before it begins");
    if (star && step == 1) field.any = true;
    for (int value = low; value <= high; value += step)
      field.bits |= std::uint64_t{1} << (index == 4 ? value % 7 : value);
  }
  return field;
}

Result<CronSchedule> CronSchedule::parse(std::string_view text, const std::string& timeZone) {
  for (const auto& descriptor : kDescriptors)
    if (text == descriptor.name) text = descriptor.schedule;
  const auto words = splitWords(text, ' ');
  if (words.size() != 5)
    return fail(ErrorCode::Invalid,
                fmt::format("expected exactly 5 fields, found {}: [{}]", words.size(), text));
  CronSchedule schedule;
  for (int i = 0; i < 5; ++i) {
    auto field = parseField(words[static_cast<std::size_t>(i)], i);
    if (!field) return fail(std::move(field.error()));
    schedule.fields_[static_cast<std::size_t>(i)] = *field;
  }
  auto zone = std::make_shared<Zone>(Zone{absl::UTCTimeZone()});
  if (!timeZone.empty() && !absl::LoadTimeZone(timeZone, &zone->zone))
    return fail(ErrorCode::NotFound, fmt::format("unknown time zone {}", timeZone));
  schedule.zone_ = std::move(zone);
  return schedule;
}

bool CronSchedule::matchesDay(int month, int day, int weekday) const {
  if (!fields_[3].has(month)) return false;
  const bool byMonth = fields_[2].has(day);
  const bool byWeek = fields_[4].has(weekday);
  return fields_[2].any || fields_[4].any ? byMonth && byWeek : byMonth || byWeek;
}

std::optional<WallTime> CronSchedule::next(WallTime time) const {
  const absl::Time after = toAbsl(time);
  absl::CivilDay day = absl::ToCivilDay(after, zone_->zone);
  for (int i = 0; i < kSearchDays; ++i, ++day) {
    // absl counts weekdays from Monday.
    const int weekday = (static_cast<int>(absl::GetWeekday(day)) + 1) % 7;
    if (!matchesDay(day.month(), day.day(), weekday)) continue;
    std::optional<absl::Time> first;
    const auto consider = [&](absl::Time candidate) {
      if (candidate > after && (!first || candidate < *first)) first = candidate;
    };
    for (int hour = 0; hour < 24; ++hour) {
      if (!fields_[1].has(hour)) continue;
      for (int minute = 0; minute < 60; ++minute) {
        if (!fields_[0].has(minute)) continue;
        const auto found =
            zone_->zone.At(absl::CivilSecond(day.year(), day.month(), day.day(), hour, minute, 0));
        if (found.kind == absl::TimeZone::TimeInfo::SKIPPED) continue;
        consider(found.pre);
        if (found.kind == absl::TimeZone::TimeInfo::REPEATED) consider(found.post);
      }
      // Later hours of a day come later, except for a repeated hour.
      if (first && hour > absl::ToCivilHour(*first, zone_->zone).hour()) break;
    }
    if (first) return fromAbsl(*first);
  }
  return std::nullopt;
}

std::string CronSchedule::format(WallTime time) const {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%S%Ez", toAbsl(time), zone_->zone);
}

}  // namespace koord::cluster
