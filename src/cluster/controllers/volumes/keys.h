#pragma once

// Keys of claims and volumes in one work queue: a prefix, then "ns/name" or the name.

#include <string_view>

namespace koord::cluster {

inline constexpr std::string_view kClaimKey = "claim ";
inline constexpr std::string_view kVolumeKey = "volume ";

}  // namespace koord::cluster
