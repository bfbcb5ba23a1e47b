#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

namespace koord {
namespace {

using namespace std::chrono;

std::unexpected<Error> badTime(std::string_view text, std::string_view why) {
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a time such as 2026-01-31T08:00:00Z: {}", text.substr(0, 64), why));
}

// Reads exactly `digits` digits at the front.
std::optional<int> takeDigits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool takeChar(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// ".123" as nanoseconds; digits after the ninth are dropped.
std::optional<nanoseconds> takeFraction(std::string_view& text) {
  if (text.empty() || (text.front() != '.' && text.front() != ',')) return 0ns;
  text.remove_prefix(1);
  std::int64_t value = 0;
  int digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), ++digits)
    if (digits < 9) value = value * 10 + (text.front() - '0');
  if (digits == 0) return std::nullopt;
  for (int i = digits; i < 9; ++i) value *= 10;
  return nanoseconds(value);
}

std::optional<seconds> takeOffset(std::string_view& text) {
  if (takeChar(text, 'Z')) return 0s;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const bool west = text.front() == '-';
  text.remove_prefix(1);
  const auto hour = takeDigits(text, 2);
  if (!hour || !takeChar(text, ':')) return std::nullopt;
  const auto minute = takeDigits(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  const seconds offset = hours(*hour) + minutes(*minute);
  return west ? -offset : offset;
}

struct CivilTime {
  year_month_day date;
  hh_mm_ss<nanoseconds> clock;
};

CivilTime civil(WallTime time) {
  const auto day = floor<days>(time);
  return {year_month_day(day), hh_mm_ss<nanoseconds>(time - day)};
}

std::string formatDateAndClock(const CivilTime& t) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(t.date.year()),
                     static_cast<unsigned>(t.date.month()), static_cast<unsigned>(t.date.day()),
                     t.clock.hours().count(), t.clock.minutes().count(), t.clock.seconds().count());
}

struct Unit {
  std::string_view name;
  std::uint64_t nanos;
};
// Longer names first where one is the beginning of another.
constexpr std::array kUnits = {
    Unit{"ns", 1},          Unit{"us", 1'000},     Unit{"\u00b5s", 1'000},          Unit{"\u03bcs", 1'000},
    Unit{"ms", 1'000'000},  Unit{"s", 1'000'000'000}, Unit{"m", 60'000'000'000}, Unit{"h", 3'600'000'000'000},
};

constexpr std::uint64_t kMaxDuration = std::uint64_t{1} << 63;  // as a magnitude

std::unexpected<Error> badDuration(std::string_view text, std::string_view why) {
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a duration such as 1h30m or 500ms: {}", text.substr(0, 64), why));
}

}  // namespace

Result<WallTime> parseTime(std::string_view text) {
  std::string_view rest = text;
  const auto year = takeDigits(rest, 4);
  const bool dash1 = takeChar(rest, '-');
  const auto month = takeDigits(rest, 2);
  const bool dash2 = takeChar(rest, '-');
  const auto day = takeDigits(rest, 2);
  if (!year || !dash1 || !month || !dash2 || !day) return badTime(text, "the date is malformed");
  const year_month_day date{std::chrono::year(*year), std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return badTime(text, "there is no such day");

  const bool separator = takeChar(rest, 'T');
  const auto hour = takeDigits(rest, 2);
  const bool colon1 = takeChar(rest, ':');
  const auto minute = takeDigits(rest, 2);
  const bool colon2 = takeChar(rest, ':');
  const auto second = takeDigits(rest, 2);
  if (!separator || !hour || !colon1 || !minute || !colon2 || !second)
    return badTime(text, "the time of day is malformed");
  if (*hour > 23 || *minute > 59 || *second > 59) return badTime(text, "there is no such time of day");
  const auto fraction = takeFraction(rest);
  if (!fraction) return badTime(text, "digits are missing after the point");
  const auto offset = takeOffset(rest);
  if (!offset) return badTime(text, "the zone must be Z or an offset such as +02:00");
  if (!rest.empty()) return badTime(text, "there is something behind it");

  if (*year < 1678 || *year > 2261) return badTime(text, "the year is out of range");
  return WallTime(sys_days(date).time_since_epoch()) + hours(*hour) + minutes(*minute) + seconds(*second) +
         *fraction - *offset;
}

std::string formatTime(WallTime time) { return formatDateAndClock(civil(time)) + "Z"; }

std::string formatMicroTime(WallTime time) {
  const CivilTime t = civil(time);
  return fmt::format("{}.{:06}Z", formatDateAndClock(t), t.clock.subseconds().count() / 1000);
}

Result<Duration> parseDuration(std::string_view text) {
  std::string_view rest = text;
  bool negative = false;
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return badDuration(text, "it is empty");

  std::uint64_t total = 0;
  while (!rest.empty()) {
    std::uint64_t whole = 0;
    std::uint64_t fraction = 0;
    double scale = 1;
    bool anyDigit = false;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1)) {
      if (whole > kMaxDuration / 10) return badDuration(text, "it is too long");
      whole = whole * 10 + static_cast<std::uint64_t>(rest.front() - '0');
      anyDigit = true;
    }
    if (!rest.empty() && rest.front() == '.') {
      rest.remove_prefix(1);
      for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1)) {
        anyDigit = true;
        if (fraction > (kMaxDuration - 10) / 10) continue;  // more digits than can matter
        fraction = fraction * 10 + static_cast<std::uint64_t>(rest.front() - '0');
        scale *= 10;
      }
    }
    if (!anyDigit) return badDuration(text, "a number is missing");
    const Unit* unit = nullptr;
    for (const auto& candidate : kUnits)
      if (rest.starts_with(candidate.name)) {
        unit = &candidate;
        break;
      }
    if (!unit) return badDuration(text, "every number needs a unit: ns, us, ms, s, m or h");
    rest.remove_prefix(unit->name.size());
    // "10sx": a unit ends where the next number begins.
    if (!rest.empty() && rest.front() != '.' && (rest.front() < '0' || rest.front() > '9'))
      return badDuration(text, "every number needs a unit: ns, us, ms, s, m or h");
    if (whole > kMaxDuration / unit->nanos) return badDuration(text, "it is too long");
    std::uint64_t part = whole * unit->nanos;
    if (fraction > 0)
      part += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit->nanos) / scale));
    if (part > kMaxDuration - std::min(total, kMaxDuration)) return badDuration(text, "it is too long");
    total += part;
  }
  if (negative) return Duration(static_cast<std::int64_t>(0 - total));
  if (total == kMaxDuration) return badDuration(text, "it is too long");
  return Duration(static_cast<std::int64_t>(total));
}

std::string formatDuration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const bool negative = duration.count() < 0;
  const std::uint64_t nanos = negative ? 0 - static_cast<std::uint64_t>(duration.count())
                                       : static_cast<std::uint64_t>(duration.count());
  // A value with its fraction, without zeros at the end: 1500 of 1000 is "1.5".
  const auto decimal = [](std::uint64_t value, std::uint64_t unit) {
    std::string text = fmt::format("{}", value / unit);
    if (std::uint64_t rest = value % unit; rest > 0) {
      text += '.';
      for (unit /= 10; rest > 0; unit /= 10) {
        text += static_cast<char>('0' + rest / unit);
        rest %= unit;
      }
    }
    return text;
  };
  std::string text = negative ? "-" : "";
  if (nanos < 1'000) return text + fmt::format("{}ns", nanos);
  if (nanos < 1'000'000) return text + decimal(nanos, 1'000) + "\u00b5s";
  if (nanos < 1'000'000'000) return text + decimal(nanos, 1'000'000) + "ms";
  constexpr std::uint64_t kMinute = 60'000'000'000;
  const std::uint64_t minutes = nanos / kMinute;
  if (minutes >= 60) text += fmt::format("{}h", minutes / 60);
  if (minutes >= 1) text += fmt::format("{}m", minutes % 60);
  return text + decimal(nanos % kMinute, 1'000'000'000) + "s";
}

}  // namespace koord
