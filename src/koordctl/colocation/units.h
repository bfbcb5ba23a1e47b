#pragma once

// The study counts in cores and GiB; the API and koordlet in milli-cores and bytes.

#include <cstdint>

namespace koord::koordctl::colocation {

inline constexpr double kGib = 1 << 30;

inline std::int64_t bytesOf(double gib) {
  return static_cast<std::int64_t>(gib * kGib);
}
inline std::int64_t milliOf(double cores) {
  return static_cast<std::int64_t>(cores * 1000);
}

}  // namespace koord::koordctl::colocation
