#include "net/listen.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <charconv>
#include <cstring>

namespace koord::net {
namespace {

using Generic = asio::generic::stream_protocol;
using Tcp = asio::ip::tcp;

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

Result<HostPort> splitHostPort(const std::string& address) {
  const auto colon = address.rfind(':');
  HostPort parts;
  const char* const end = address.data() + address.size();
  if (colon != address.npos) {
    parts.host = address.substr(0, colon);
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, parts.port);
    if (error == std::errc() && stop == end) {
      if (parts.host.starts_with('[') && parts.host.ends_with(']')) {
        parts.host = parts.host.substr(1, parts.host.size() - 2);
      } else if (parts.host.find(':') != parts.host.npos) {
        return fail(
            ErrorCode::Invalid,
            fmt::format("listen on {}: an IPv6 address goes in brackets, as [::1]:8080", address));
      }
      return parts;
    }
  }
  return fail(ErrorCode::Invalid,
              fmt::format("listen on \"{}\": must be ADDRESS:PORT with a port from 0 to 65535, or "
                          "unix:/path",
                          address));
}

Error listenError(const std::string& address, const error_code& ec) {
  Error error = errnoError("listen on " + address, ec.value());
  error.message = fmt::format("listen on {}: {}", address, ec.message());
  if (ec == asio::error::address_in_use) {
    error.message = fmt::format(
        "listen on {}: address already in use; stop the program that uses it or choose another "
        "address",
        address);
  }
  return error;
}

Result<Listener> listenTcp(asio::io_context& context, const std::string& address) {
  auto parts = splitHostPort(address);
  if (!parts) return fail(std::move(parts.error()));
  error_code ec;
  asio::ip::address ip;
  const bool any = parts->host.empty();
  if (any) {
    ip = asio::ip::address_v6::any();
  } else if (parts->host == "localhost") {
    ip = asio::ip::address_v4::loopback();
  } else {
    ip = asio::ip::make_address(parts->host, ec);
    if (ec) {
      return fail(ErrorCode::Invalid,
                  fmt::format("listen on {}: \"{}\" is not an IP address of this host", address,
                              parts->host));
    }
  }

  Acceptor acceptor(context);
  Tcp::endpoint endpoint(ip, parts->port);
  acceptor.open(Generic(endpoint.protocol()), ec);
  if (any && (ec == asio::error::address_family_not_supported)) {  // a kernel without IPv6
    endpoint = Tcp::endpoint(asio::ip::address_v4::any(), parts->port);
    acceptor.open(Generic(endpoint.protocol()), ec);
  }
  if (!ec) acceptor.set_option(Acceptor::reuse_address(true), ec);
  if (!ec && any && endpoint.protocol() == Tcp::v6()) {
    acceptor.set_option(asio::ip::v6_only(false), ec);
  }
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(Acceptor::max_listen_connections, ec);
  if (ec) return fail(listenError(address, ec));

  Tcp::endpoint local;
  const auto bound = acceptor.local_endpoint(ec);
  local.resize(bound.size());
  std::memcpy(local.data(), bound.data(), bound.size());
  const auto port = local.port();
  return Listener{std::move(acceptor),
                  address.substr(0, address.rfind(':') + 1) + std::to_string(port), port, ""};
}

// A socket file without a listener is left from a program that was killed.
bool isStale(asio::io_context& context, const asio::local::stream_protocol::endpoint& endpoint) {
  asio::local::stream_protocol::socket probe(context);
  error_code ec;
  probe.connect(endpoint, ec);
  return ec == asio::error::connection_refused;
}

Result<Listener> listenUnix(asio::io_context& context, const std::string& address,
                            const std::string& path) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::Invalid,
                fmt::format("listen on {}: the path must have 1 to {} characters", address,
                            sizeof(sockaddr_un::sun_path) - 1));
  }
  const asio::local::stream_protocol::endpoint endpoint(path);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) && isStale(context, endpoint)) {
    ::unlink(path.c_str());
  }
  error_code ec;
  Acceptor acceptor(context);
  acceptor.open(Generic(endpoint.protocol()), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  // Before listen(), so that no client can connect earlier.
  if (!ec && ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) {
    ec = error_code(errno, boost::system::system_category());
  }
  if (!ec) acceptor.listen(Acceptor::max_listen_connections, ec);
  if (ec) return fail(listenError(address, ec));
  return Listener{std::move(acceptor), address, 0, path};
}

}  // namespace

Result<Listener> listenOn(asio::io_context& context, const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  if (address.starts_with(kUnix)) {
    return listenUnix(context, address, address.substr(kUnix.size()));
  }
  return listenTcp(context, address);
}

namespace {

bool isTcp(const Generic::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  return family == AF_INET || family == AF_INET6;
}

Tcp::endpoint tcpOf(const Generic::endpoint& endpoint) {
  Tcp::endpoint tcp;
  tcp.resize(endpoint.size());
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return tcp;
}

asio::ip::address addressOf(const Tcp::endpoint& endpoint) {
  auto ip = endpoint.address();
  if (ip.is_v6() && ip.to_v6().is_v4_mapped())
    ip = asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6());
  return ip;
}

}  // namespace

std::string clientOf(const Generic::endpoint& endpoint, int socket) {
  if (!isTcp(endpoint)) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "unix";
    return fmt::format("user {}", peer.uid);
  }
  const auto ip = addressOf(tcpOf(endpoint));
  if (ip.is_loopback()) return "127.0.0.0/8";
  if (ip.is_v4()) return ip.to_string();
  auto bytes = ip.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return asio::ip::address_v6(bytes).to_string() + "/64";
}

std::string describe(const Generic::endpoint& endpoint) {
  if (!isTcp(endpoint)) return "unix";
  const auto tcp = tcpOf(endpoint);
  const auto ip = addressOf(tcp);
  return fmt::format(fmt::runtime(ip.is_v6() ? "[{}]:{}" : "{}:{}"), ip.to_string(), tcp.port());
}

}  // namespace koord::net
