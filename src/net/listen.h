#pragma once

// Opens a listening socket for "127.0.0.1:8080", "[::1]:0", ":8080", "localhost:0" or
// "unix:/run/x.sock".

#include <boost/asio/basic_socket_acceptor.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "net/asio.h"

namespace koord::net {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;

struct Listener {
  Acceptor acceptor;
  std::string address;     // as in the options, with the port the kernel picked
  std::uint16_t port = 0;  // 0 for a unix socket
  std::string unixPath;    // removed at the end; "" for TCP
};

Result<Listener> listenOn(asio::io_context& context, const std::string& address);

// The client that a connection is counted for: "127.0.0.0/8", "10.1.2.3", "2001:db8:1:2::/64", or
// "user 1000" for the other end of a unix socket.
std::string clientOf(const asio::generic::stream_protocol::endpoint& endpoint, int socket);

// "127.0.0.1:50412", "unix"
std::string describe(const asio::generic::stream_protocol::endpoint& endpoint);

}  // namespace koord::net
