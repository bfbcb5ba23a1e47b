#pragma once

// Deadlines a number of seconds after a time. Users give the seconds, so any 64-bit number is
// possible. A negative number counts as zero.

#include <algorithm>
#include <limits>

#include "base/executor.h"

namespace koord::cluster {

inline std::chrono::seconds boundedSeconds(std::int64_t seconds) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMost));
}
// WallTime::max(), which means never, if the result exceeds the range of WallTime.
inline WallTime secondsAfter(WallTime time, std::int64_t seconds) {
  const auto wait = boundedSeconds(seconds);
  return time > WallTime::max() - wait ? WallTime::max() : time + wait;
}
inline WallTime secondsBefore(WallTime time, std::int64_t seconds) {
  const auto ago = boundedSeconds(seconds);
  return time < WallTime::min() + ago ? WallTime::min() : time - ago;
}

}  // namespace koord::cluster
