// Times and durations that are accepted print to text that means the same.

#include "base/time.h"

#include "fuzz.h"

namespace koord::fuzz {

void time(std::string_view input) {
  if (const auto duration = parseDuration(input))
    check(parseDuration(formatDuration(*duration)) == *duration, "durations survive printing");
  const auto time = parseTime(input);
  // The microsecond that the earliest time falls in begins before it.
  if (!time || *time == WallTime::min()) return;
  const auto again = parseTime(formatMicroTime(*time));
  check(again && *again <= *time && *time - *again < std::chrono::microseconds(1),
        "times survive printing but for less than a microsecond");
}

}  // namespace koord::fuzz
