#pragma once

// The study counts in cores and GiB; the API and koordlet in milli-cores and bytes.

#include <cstdint>

namespace koord::koordctl::colocation {

inline constexpr double kGib = 1 << 30;
// No node has more. Amounts that users and nodes report are bounded by them, so that sums and bytes
// do not overflow.
inline constexpr double kMostCores = 1e5, kMostGib = 1 << 20;

inline std::int64_t bytesOf(double gib) {
  return static_cast<std::int64_t>(gib * kGib);
}
inline std::int64_t milliOf(double cores) {
  return static_cast<std::int64_t>(cores * 1000);
}

}  // namespace koord::koordctl::colocation
