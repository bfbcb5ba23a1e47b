#include "descheduler/migration/workload_limits.h"

#include <algorithm>
#include <charconv>

namespace koord::descheduler {

std::optional<NumberOrPercent> numberOrPercentOf(const json::value& value) {
  if (value.is_int64()) return NumberOrPercent{value.get_int64(), false};
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_string();
  if (!text.ends_with('%')) return std::nullopt;
  NumberOrPercent out{0, true};
  const char* end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, out.number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return out;
}

json::value documentOf(const NumberOrPercent& value) {
  if (!value.percent) return value.number;
  return json::value(std::to_string(value.number) + "%");
}

std::int64_t limitFor(std::int64_t replicas, const std::optional<NumberOrPercent>& configured) {
  if (replicas <= 0) return 0;
  std::int64_t limit = 1;
  if (configured) {
    limit =
        configured->percent
            ? static_cast<std::int64_t>(static_cast<__int128>(configured->number) * replicas / 100)
            : configured->number;
    limit = std::max<std::int64_t>(limit, 1);
  } else if (replicas >= 4) {
    limit = std::max<std::int64_t>(replicas > 10 ? replicas / 10 : 0, 2);
  }
  return std::min(limit, replicas);
}

}  // namespace koord::descheduler
