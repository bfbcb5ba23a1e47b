#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/ascii.h"
#include "base/utf8.h"

namespace koord {
namespace {

using Wide = __int128;  // nanoseconds outside what Duration holds, before they are checked

constexpr std::int64_t kSecond = 1'000'000'000;

std::unexpected<Error> textError(std::string_view text, std::string_view what,
                                 std::string_view why) {
  return fail(ErrorCode::BadRequest,
              fmt::format("\"{}\" is not a {}: {}", shortened(text, 64), what, why));
}

// Takes pieces off the front of a text; every step fails once one has failed.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  int digits(std::size_t count) {
    int number = 0;
    if (rest_.size() < count) good_ = false;
    for (std::size_t i = 0; good_ && i < count; ++i) {
      if (!isDigit(rest_[i])) good_ = false;
      number = number * 10 + (rest_[i] - '0');
    }
    if (good_) rest_.remove_prefix(count);
    return number;
  }

  void expect(char c) {
    if (!take(c)) good_ = false;
  }

  bool take(char c) {
    if (!good_ || !rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Digits of a fraction of a second, in nanoseconds; those after the ninth are dropped.
  std::int64_t fraction() {
    std::int64_t nanos = 0;
    std::int64_t unit = kSecond / 10;
    const std::size_t before = rest_.size();
    while (!rest_.empty() && isDigit(rest_.front())) {
      nanos += unit * (rest_.front() - '0');
      unit /= 10;
      rest_.remove_prefix(1);
    }
    if (rest_.size() == before) good_ = false;
    return nanos;
  }

  bool atEnd() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

WallTime clampToRange(Wide nanos) {
  const Wide low = std::numeric_limits<std::int64_t>::min();
  const Wide high = std::numeric_limits<std::int64_t>::max();
  return WallTime(Duration(static_cast<std::int64_t>(std::clamp(nanos, low, high))));
}

std::string formatSeconds(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  std::string out = "0000-00-00T00:00:00";  // by hand: every object and event has times
  const auto put = [&](std::size_t end, std::int64_t value) {
    for (; value > 0; value /= 10) out[--end] = static_cast<char>('0' + value % 10);
  };
  put(4, static_cast<int>(date.year()));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, clock.hours().count());
  put(16, clock.minutes().count());
  put(19, clock.seconds().count());
  return out;
}

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};

constexpr Unit kUnits[] = {
    {"ns", 1},         {"us", 1'000},  {"\u00b5s", 1'000},  {"\u03bcs", 1'000},
    {"ms", 1'000'000}, {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond},
};

// "1.5", "15.", ".5"; an integer part near the limit of 64 bits or beyond becomes some number near
// it.
struct DecimalNumber {
  Wide integer = 0;
  std::int64_t fraction = 0;
  std::int64_t fractionScale = 1;
  bool any = false;
};

DecimalNumber takeNumber(std::string_view& text) {
  DecimalNumber number;
  constexpr std::int64_t kManyDigits = 100'000'000'000'000'000;  // times 10 is still 64 bits
  while (!text.empty() && isDigit(text.front())) {
    number.any = true;
    number.integer = std::min(number.integer, Wide{kManyDigits} * 1000) * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  if (!text.starts_with('.')) return number;
  text.remove_prefix(1);
  while (!text.empty() && isDigit(text.front())) {
    number.any = true;
    // Digits far below a nanosecond do not count.
    if (number.fractionScale < kManyDigits) {
      number.fraction = number.fraction * 10 + (text.front() - '0');
      number.fractionScale *= 10;
    }
    text.remove_prefix(1);
  }
  return number;
}

// nanos / unit with its fraction and no zeros at the end: "1.5".
std::string fractional(std::uint64_t nanos, std::uint64_t unit) {
  std::string text = std::to_string(nanos / unit);
  const std::uint64_t rest = nanos % unit;
  if (rest == 0) return text;
  std::string digits = std::to_string(rest + unit).substr(1);
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + '.' + digits;
}

}  // namespace

Result<WallTime> parseTime(std::string_view text) {
  Cursor at(text);
  const int year = at.digits(4);
  at.expect('-');
  const int month = at.digits(2);
  at.expect('-');
  const int day = at.digits(2);
  at.expect('T');
  const int hour = at.digits(2);
  at.expect(':');
  const int minute = at.digits(2);
  at.expect(':');
  const int second = at.digits(2);
  const std::int64_t nanos = at.take('.') ? at.fraction() : 0;
  int offsetMinutes = 0;
  if (!at.take('Z')) {
    const bool west = at.take('-');
    if (!west) at.expect('+');
    const int offsetHour = at.digits(2);
    at.expect(':');
    const int offsetMinute = at.digits(2);
    if (offsetHour > 23 || offsetMinute > 59) {
      return textError(text, "time", "the offset from UTC is out of range");
    }
    offsetMinutes = (west ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  }
  if (!at.atEnd()) {
    return textError(text, "time", "must be as in RFC 3339, for example 2026-01-31T08:00:00Z");
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return textError(text, "time", "there is no such day");
  if (hour > 23 || minute > 59 || second > 59) {
    return textError(text, "time", "the time of day is out of range");
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = ((days * 24 + hour) * 60 + minute - offsetMinutes) * 60 + second;
  return clampToRange(Wide{seconds} * kSecond + nanos);
}

std::string formatTime(WallTime time) {
  return formatSeconds(time) + 'Z';
}

std::string formatMicroTime(WallTime time) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(time);
  const auto rest = micros - std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("{}.{:06}Z", formatSeconds(time), rest.count());
}

Result<Duration> parseDuration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration(0);
  if (rest.empty()) return textError(text, "duration", "must be like 1h30m, 1.5s or 250ms");

  Wide total = 0;
  const Wide limit = Wide{std::numeric_limits<std::int64_t>::max()} + (negative ? 1 : 0);
  while (!rest.empty()) {
    const DecimalNumber number = takeNumber(rest);
    if (!number.any) return textError(text, "duration", "must be like 1h30m, 1.5s or 250ms");
    const std::string_view name = rest.substr(0, rest.find_first_of(".0123456789"));
    if (name.empty()) return textError(text, "duration", "missing unit; use ns, us, ms, s, m or h");
    const auto unit = std::ranges::find(kUnits, name, &Unit::name);
    if (unit == std::end(kUnits)) {
      return textError(text, "duration",
                       fmt::format("unknown unit \"{}\"; use ns, us, ms, s, m or h", name));
    }
    rest.remove_prefix(name.size());
    total +=
        number.integer * unit->nanos + Wide{number.fraction} * unit->nanos / number.fractionScale;
    if (total > limit) return textError(text, "duration", "longer than 292 years");
  }
  return Duration(static_cast<std::int64_t>(negative ? -total : total));
}

std::string formatDuration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  const std::int64_t count = duration.count();
  const auto bits = static_cast<std::uint64_t>(count);
  const std::uint64_t nanos = count < 0 ? 0 - bits : bits;
  const std::string sign = count < 0 ? "-" : "";
  if (nanos < 1'000) return fmt::format("{}{}ns", sign, nanos);
  if (nanos < 1'000'000) return sign + fractional(nanos, 1'000) + "\u00b5s";
  if (nanos < kSecond) return sign + fractional(nanos, 1'000'000) + "ms";

  const std::uint64_t minutes = nanos / kSecond / 60;
  std::string text = sign;
  if (minutes >= 60) text += fmt::format("{}h", minutes / 60);
  if (minutes > 0) text += fmt::format("{}m", minutes % 60);
  return text + fractional(nanos - minutes * 60 * kSecond, kSecond) + 's';
}

}  // namespace koord
