#pragma once

// A network device without a network: it gives the host a route to the range of cluster IPs, so
// that connections to them are made at all, also without a default route. The proxy translates them
// before they reach it. The kernel removes it with the process, also by kill -9.

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace koord::cluster::services {

inline constexpr const char* kServiceDevice = "koordctl0";
// The address of the device, in 10.96.0.0/12. The API server assigns it to no service, because its
// last byte is 255. It is not the last address of the network, which is for broadcasts. Connections
// to cluster IPs begin with it, unless their program chooses another one.
inline constexpr const char* kServiceDeviceAddress = "10.111.254.255";

// The name servers that the device would hide: all of a resolv.conf, if they are in the range of
// cluster IPs and no narrower route leads to them. "" if one remains. `routes` is the text of
// /proc/net/route.
std::string hiddenNameservers(std::string_view resolvConf, std::string_view routes);

// The device exists as long as the descriptor is open. Fails without /dev/net/tun; then the
// host's default route has to do.
Result<Fd> openServiceDevice();

}  // namespace koord::cluster::services
