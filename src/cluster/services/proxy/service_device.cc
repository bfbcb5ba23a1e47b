#include "cluster/services/proxy/service_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace koord::cluster::services {

namespace {

// Of 10.96.0.0/12, an address that the API server assigns to no service: the last byte is 255. It
// is not the last one of the network, which is its broadcast address.
constexpr const char* kAddress = "10.111.254.255";
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

}  // namespace

Result<Fd> openServiceDevice() {
  Fd device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device) return fail(errnoError("/dev/net/tun", errno));
  ifreq ifr = request();
  ifr.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(device.get(), TUNSETIFF, &ifr) != 0)
    return fail(errnoError("create the network device koordctl0", errno));
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(errnoError("socket", errno));
  if (!set(socket.get(), SIOCSIFADDR, kAddress) || !set(socket.get(), SIOCSIFNETMASK, kMask))
    return fail(errnoError("address of the network device koordctl0", errno));
  ifr = request();
  ifr.ifr_flags = IFF_UP | IFF_RUNNING | IFF_NOARP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &ifr) != 0)
    return fail(errnoError("start the network device koordctl0", errno));
  return device;
}

}  // namespace koord::cluster::services
