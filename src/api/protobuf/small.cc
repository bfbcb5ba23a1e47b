#include "api/protobuf/small.h"

namespace koord::api::wire {
namespace {

constexpr std::int64_t kYear1 = -62135596800, kYear1678 = -9214560000, kYear2262 = 9214646400;

}  // namespace

Result<Small> Small::read(const Field& field) {
  if (field.type != Type::Bytes) return fail(ErrorCode::BadRequest, "expected a message");
  Small out;
  Reader reader(field.bytes);
  Field next;
  while (reader.next(next))
    if (next.number < out.fields.size()) out.fields[next.number] = next;
  if (reader.broken()) return fail(reader.error());
  return out;
}

bool isInRange(const Small& time) {
  return time.number(1) >= kYear1678 && time.number(1) < kYear2262;
}

Result<std::optional<WallTime>> timeOf(const Small& message, bool micro) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  const auto seconds = message.number(1);
  const auto nanos = message.number(2);
  if (nanos < 0 || nanos >= kNanos)
    return fail(ErrorCode::BadRequest, "expected a time with less than a second of nanoseconds");
  if (seconds == 0 && nanos < (micro ? 1'000 : kNanos)) return std::nullopt;
  if (seconds == kYear1 && nanos == 0) return std::nullopt;
  const std::chrono::seconds held(std::clamp(seconds, kYear1678, kYear2262 - 1));
  const std::chrono::nanoseconds below(micro ? nanos / 1'000 * 1'000 : 0);
  return WallTime{std::chrono::duration_cast<WallTime::duration>(held + below)};
}

void putTime(std::string& out, WallTime time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::chrono::nanoseconds below = since - seconds;
  putNumber(out, 1, static_cast<std::uint64_t>(seconds.count()));
  putNumber(out, 2, static_cast<std::uint64_t>(below.count()));
}

}  // namespace koord::api::wire
