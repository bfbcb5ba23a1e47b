#include "cel/time_text.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <limits>

namespace koord::cel {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

// Reads a fixed form: digits and separators.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}
  std::optional<int> digits(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!isDigit(rest_[i])) return std::nullopt;
      number = number * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  bool skip(std::string_view any) {
    if (rest_.empty() || any.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  std::string_view rest() const { return rest_; }
  // ".5": in nanoseconds.
  std::optional<std::uint32_t> fraction() {
    std::uint32_t value = 0, unit = 100'000'000;
    if (!isDigit(next())) return std::nullopt;
    while (isDigit(next())) {
      value += unit * static_cast<std::uint32_t>(next() - '0');
      unit /= 10;
      rest_.remove_prefix(1);
    }
    return value;
  }

 private:
  std::string_view rest_;
};

std::optional<std::int64_t> readOffset(TimeReader& in) {
  if (in.skip("Zz")) return 0;
  const bool negative = in.next() == '-';
  if (!in.skip("+-")) return std::nullopt;
  const auto hours = in.digits(2);
  if (!hours || !in.skip(":")) return std::nullopt;
  const auto minutes = in.digits(2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const std::int64_t seconds = *hours * 3600LL + *minutes * 60LL;
  return negative ? -seconds : seconds;
}

std::optional<Timestamp> readTimestamp(TimeReader in) {
  using namespace std::chrono;
  const auto y = in.digits(4);
  if (!y || !in.skip("-")) return std::nullopt;
  const auto m = in.digits(2);
  if (!m || !in.skip("-")) return std::nullopt;
  const auto d = in.digits(2);
  if (!d || !in.skip("Tt")) return std::nullopt;
  const auto hour = in.digits(2);
  if (!hour || *hour > 23 || !in.skip(":")) return std::nullopt;
  const auto minute = in.digits(2);
  if (!minute || *minute > 59 || !in.skip(":")) return std::nullopt;
  const auto second = in.digits(2);
  if (!second || *second > 59) return std::nullopt;
  std::uint32_t nanoseconds = 0;
  if (in.skip(".")) {
    const auto fraction = in.fraction();
    if (!fraction) return std::nullopt;
    nanoseconds = *fraction;
  }
  const auto offset = readOffset(in);
  if (!offset || !in.rest().empty()) return std::nullopt;
  const year_month_day date{year(*y), month(static_cast<unsigned>(*m)),
                            day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 86400 + *hour * 3600 + *minute * 60 + *second - *offset;
  if (seconds < kMinSeconds || seconds > kMaxSeconds) return std::nullopt;
  return Timestamp{seconds, nanoseconds};
}

}  // namespace

Result<Timestamp> parseTimestamp(std::string_view text) {
  const auto time = readTimestamp(TimeReader(text));
  if (time) return *time;
  return fail(ErrorCode::BadRequest,
              fmt::format("invalid timestamp \"{}\": RFC 3339 is expected", text));
}

std::string formatTimestamp(Timestamp time) {
  const CalendarTime at = calendarOf(time, 0);
  std::string text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", at.year, at.month, at.day,
                                 at.hour, at.minute, at.second);
  if (time.nanoseconds != 0) {
    std::string fraction = fmt::format(".{:09}", time.nanoseconds);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += fraction;
  }
  return text + "Z";
}

std::string formatSeconds(std::int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const std::uint64_t amount = negative ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                        : static_cast<std::uint64_t>(nanoseconds);
  std::string text = fmt::format("{}{}", negative ? "-" : "", amount / kSecond);
  if (amount % kSecond != 0) {
    std::string fraction = fmt::format(".{:09}", amount % kSecond);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += fraction;
  }
  return text + "s";
}

std::optional<Timestamp> addNanoseconds(Timestamp time, std::int64_t nanoseconds) {
  std::int64_t seconds = time.seconds + nanoseconds / kSecond;
  std::int64_t rest = static_cast<std::int64_t>(time.nanoseconds) + nanoseconds % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  } else if (rest >= kSecond) {
    rest -= kSecond;
    ++seconds;
  }
  if (seconds < kMinSeconds || seconds > kMaxSeconds) return std::nullopt;
  return Timestamp{seconds, static_cast<std::uint32_t>(rest)};
}

std::optional<std::int64_t> nanosecondsBetween(Timestamp a, Timestamp b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a.seconds - b.seconds, kSecond, &result)) return std::nullopt;
  const std::int64_t rest =
      static_cast<std::int64_t>(a.nanoseconds) - static_cast<std::int64_t>(b.nanoseconds);
  if (__builtin_add_overflow(result, rest, &result)) return std::nullopt;
  return result;
}

CalendarTime calendarOf(Timestamp time, std::int64_t offset) {
  using namespace std::chrono;
  const sys_seconds local{seconds(time.seconds + offset)};
  const auto midnight = floor<days>(local);
  const year_month_day date(midnight);
  const hh_mm_ss clock(local - midnight);
  CalendarTime result;
  result.year = static_cast<int>(date.year());
  result.month = static_cast<int>(static_cast<unsigned>(date.month()));
  result.day = static_cast<int>(static_cast<unsigned>(date.day()));
  result.dayOfYear = static_cast<int>((midnight - sys_days(date.year() / January / 1)).count());
  result.dayOfWeek = static_cast<int>(weekday(midnight).c_encoding());
  result.hour = static_cast<int>(clock.hours().count());
  result.minute = static_cast<int>(clock.minutes().count());
  result.second = static_cast<int>(clock.seconds().count());
  return result;
}

}  // namespace koord::cel
