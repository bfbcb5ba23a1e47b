#include "cluster/screen/row.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/screen/status.h"

namespace koord::cluster {

namespace {

constexpr std::int64_t kCells = 10;  // of a bar
// Quotas without a limit have nearly the largest number as theirs.
constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

std::string limitText(std::int64_t limit, std::string (*text)(std::int64_t)) {
  return limit >= kUnlimited ? "no limit" : text(limit);
}

Value valueOf(Value::Kind kind, std::optional<std::int64_t> number, std::int64_t whole = 0) {
  return {kind, number.has_value(), number.value_or(0), whole, {}};
}

}  // namespace

Value textValue(std::string text) {
  const bool known = !text.empty();
  return {Value::Kind::Text, known, 0, 0, std::move(text)};
}
Value numberValue(std::int64_t number) {
  return valueOf(Value::Kind::Number, number);
}
Value coresValue(std::optional<std::int64_t> milli) {
  return valueOf(Value::Kind::Cores, milli);
}
Value bytesValue(std::optional<std::int64_t> bytes) {
  return valueOf(Value::Kind::Bytes, bytes);
}
Value coresOfValue(std::optional<std::int64_t> milli, std::int64_t whole) {
  return valueOf(Value::Kind::CoresOf, milli, whole);
}
Value bytesOfValue(std::optional<std::int64_t> bytes, std::int64_t whole) {
  return valueOf(Value::Kind::BytesOf, bytes, whole);
}
Value barValue(std::optional<std::int64_t> part, std::int64_t whole) {
  return valueOf(Value::Kind::Bar, part, whole);
}
Value sinceValue(std::optional<WallTime> time) {
  if (!time) return valueOf(Value::Kind::Since, std::nullopt);
  return valueOf(Value::Kind::Since, time->time_since_epoch().count());
}

std::string textOf(const Value& value, WallTime now) {
  using Kind = Value::Kind;
  if (value.kind == Kind::CoresOf)
    return (value.known ? cores(value.number) : "-") + "/" + limitText(value.whole, cores);
  if (value.kind == Kind::BytesOf)
    return (value.known ? bytesText(value.number) : "-") + "/" + limitText(value.whole, bytesText);
  if (!value.known) return "-";
  switch (value.kind) {
    case Kind::Number:
      return std::to_string(value.number);
    case Kind::Cores:
      return cores(value.number);
    case Kind::Bytes:
      return bytesText(value.number);
    case Kind::Bar: {
      // Not by a product, which may be too large.
      const double share =
          value.whole <= 0 ? 0
                           : static_cast<double>(value.number) / static_cast<double>(value.whole);
      const auto full =
          static_cast<std::size_t>(std::clamp(share * kCells, 0.0, static_cast<double>(kCells)));
      return std::string(full, '#') + std::string(kCells - full, '.');
    }
    case Kind::Since:
      return ageText(now - WallTime(Duration(value.number)));
    default:
      return value.text;
  }
}

int compare(const Value& a, const Value& b) {
  if (a.known != b.known) return a.known ? -1 : 1;
  if (a.kind == Value::Kind::Text) return a.text.compare(b.text);
  if (a.kind == Value::Kind::Bar) {
    const auto share = [](const Value& value) {
      return value.whole <= 0
                 ? 0.0
                 : static_cast<double>(value.number) / static_cast<double>(value.whole);
    };
    return share(a) < share(b) ? -1 : share(a) > share(b) ? 1 : 0;
  }
  const auto order = a.number <=> b.number;
  const int sign = order < 0 ? -1 : order > 0 ? 1 : 0;
  return a.kind == Value::Kind::Since ? -sign : sign;
}

}  // namespace koord::cluster
