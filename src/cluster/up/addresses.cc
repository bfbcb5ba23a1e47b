#include "cluster/up/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "net/url.h"

namespace koord::cluster {

namespace {

// "" if it is none of the internet.
std::string textOf(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (!bytes || !::inet_ntop(address->sa_family, bytes, text.data(), text.size())) return {};
  return text.data();
}

bool isLinkLocal(const std::string& address) {
  return address.starts_with("169.254.") || address.starts_with("fe80:");
}

std::string withoutBrackets(const std::string& host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

bool isEveryAddress(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || withoutBrackets(host) == "::";
}

bool isLoopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || withoutBrackets(host) == "::1";
}

std::vector<std::string> interfaceAddresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<std::string> out;
  for (const auto* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || (one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::string text = textOf(one->ifa_addr);
    if (!text.empty() && !isLinkLocal(text) && std::ranges::find(out, text) == out.end())
      out.push_back(std::move(text));
  }
  std::ranges::stable_partition(
      out, [](const std::string& text) { return text.find(':') == std::string::npos; });
  return out;
}

std::string outsideUrl(const std::string& listen) {
  const auto colon = listen.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = listen.substr(0, colon);
  if (isEveryAddress(host)) {
    const auto all = interfaceAddresses();
    if (all.empty()) return {};
    host = all.front().find(':') == std::string::npos ? all.front() : "[" + all.front() + "]";
  }
  return isLoopback(host) ? std::string() : "https://" + host + listen.substr(colon);
}

Result<std::string> addressTowards(const std::string& url) {
  const auto parsed = net::parseUrl(url);
  if (!parsed) return fail(parsed.error());
  const std::string host = withoutBrackets(parsed->host);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  if (const int failed =
          ::getaddrinfo(host.c_str(), std::to_string(parsed->port).c_str(), &hints, &list);
      failed != 0)
    return fail(ErrorCode::NotFound, fmt::format("{}: {}", host, ::gai_strerror(failed)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  int problem = 0;
  for (const auto* one = list; one; one = one->ai_next) {
    // Connecting a datagram socket sends nothing: the kernel only chooses the route.
    const Fd fd(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* address = reinterpret_cast<sockaddr*>(&own);
    if (!fd || ::connect(fd.get(), one->ai_addr, one->ai_addrlen) != 0 ||
        ::getsockname(fd.get(), address, &size) != 0) {
      problem = errno;
      continue;
    }
    if (std::string text = textOf(address); !text.empty()) return text;
  }
  return fail(errnoError("find the route to " + host, problem));
}

}  // namespace koord::cluster
