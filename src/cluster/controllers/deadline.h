#pragma once

// Moments so many seconds from another, where users give the seconds: any number of 64 bits. A
// negative one counts as none.

#include <algorithm>
#include <limits>

#include "base/executor.h"

namespace koord::cluster {

inline std::chrono::seconds boundedSeconds(std::int64_t seconds) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMost));
}
// WallTime::max() when it is beyond what a WallTime can hold: never.
inline WallTime secondsAfter(WallTime time, std::int64_t seconds) {
  const auto wait = boundedSeconds(seconds);
  return time > WallTime::max() - wait ? WallTime::max() : time + wait;
}
inline WallTime secondsBefore(WallTime time, std::int64_t seconds) {
  const auto ago = boundedSeconds(seconds);
  return time < WallTime::min() + ago ? WallTime::min() : time - ago;
}

}  // namespace koord::cluster
