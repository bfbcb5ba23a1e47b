#pragma once

// Asio as the server uses it; for the .cc files of this folder. Its implementation is compiled
// once, in asio.cc, because it is large.

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

namespace koord::net {

namespace asio = boost::asio;
using boost::system::error_code;

// TCP and unix sockets alike.
using Socket = asio::generic::stream_protocol::socket;

}  // namespace koord::net
