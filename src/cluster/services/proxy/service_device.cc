#include "cluster/services/proxy/service_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <vector>

#include "cluster/services/proxy/rules.h"
#include "net/dns/server.h"

namespace koord::cluster::services {

namespace {

constexpr const char* kMask = "255.240.0.0";

ifreq request() {
  ifreq ifr{};
  std::strncpy(ifr.ifr_name, kServiceDevice, IFNAMSIZ - 1);
  return ifr;
}

bool set(int socket, unsigned long call, const char* address) {
  ifreq ifr = request();
  sockaddr_in in{};
  in.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &in.sin_addr);
  std::memcpy(&ifr.ifr_addr, &in, sizeof(in));
  return ::ioctl(socket, call, &ifr) == 0;
}

constexpr int kServiceBits = 12;

struct Route {
  in_addr_t network = 0;
  in_addr_t mask = 0;
};

// Narrower ones than the device's.
std::vector<Route> narrowRoutes(std::string_view text) {
  std::vector<Route> routes;
  std::istringstream lines{std::string(text)};
  std::string line;
  std::getline(lines, line);  // the names of the columns
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string device;
    std::string skipped;
    Route route;
    words >> device >> std::hex >> route.network >> skipped >> skipped >> skipped >> skipped >>
        skipped >> route.mask;
    if (words && std::popcount(route.mask) > kServiceBits && device != kServiceDevice)
      routes.push_back(route);
  }
  return routes;
}

}  // namespace

std::string hiddenNameservers(std::string_view resolvConf, std::string_view routes) {
  const auto narrow = narrowRoutes(routes);
  std::string hidden;
  for (const auto& server : net::dns::nameserversIn(resolvConf)) {
    in_addr address{};
    if (!isClusterIp(server) || ::inet_pton(AF_INET, server.c_str(), &address) != 1) return {};
    for (const auto& route : narrow)
      if ((address.s_addr & route.mask) == route.network) return {};
    hidden += (hidden.empty() ? "" : ", ") + server;
  }
  return hidden;
}

Result<Fd> openServiceDevice() {
  Fd device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device) return fail(errnoError("/dev/net/tun", errno));
  ifreq ifr = request();
  ifr.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device.get(), TUNSETIFF, &ifr) != 0)
    return fail(errnoError("create the network device koordctl0", errno));
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errnoError("socket", errno));
  if (!set(socket.get(), SIOCSIFADDR, kServiceDeviceAddress) ||
      !set(socket.get(), SIOCSIFNETMASK, kMask))
    return fail(errnoError("address of the network device koordctl0", errno));
  ifr = request();
  ifr.ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &ifr) != 0)
    return fail(errnoError("start the network device koordctl0", errno));
  return device;
}

}  // namespace koord::cluster::services
