#pragma once

// Times and durations as the Kubernetes API writes them: RFC 3339 in UTC with whole seconds (Time)
// or six digits (MicroTime), and Go's duration syntax ("1h2m3s", "1.5h", "250ms").

#include <string>
#include <string_view>

#include "base/executor.h"
#include "base/result.h"

namespace koord {

// RFC 3339 with any offset and any number of fraction digits (nine are kept). A time outside the
// years that WallTime can hold (1678 to 2261) is clamped.
Result<WallTime> parseTime(std::string_view text);
// "2026-01-31T08:00:00Z"; drops fractions of a second.
std::string formatTime(WallTime time);
// "2026-01-31T08:00:00.000001Z"; drops fractions of a microsecond.
std::string formatMicroTime(WallTime time);

// Go's time.ParseDuration: a signed sequence of decimal numbers with the units ns, us (or a micro
// sign), ms, s, m, h; "0" needs no unit.
Result<Duration> parseDuration(std::string_view text);
// Go's Duration.String: "1h0m0s", "1.5s", "250ms", "0s".
std::string formatDuration(Duration duration);

}  // namespace koord
