#pragma once

// A network device without a network: it gives the host a route to the range of cluster IPs, so
// that connections to them are made at all, also without a default route. The proxy translates them
// before they reach it. The kernel removes it with the process, also by kill -9.

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster::services {

inline constexpr const char* kServiceDevice = "koordctl0";

// The device exists as long as the descriptor is open. Fails without /dev/net/tun; then the
// host's default route has to do.
Result<Fd> openServiceDevice();

}  // namespace koord::cluster::services
