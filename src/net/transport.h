#pragma once

// A connected byte stream of the server, with or without TLS. I/O thread only. At most one read and
// one write at a time; each keeps its user alive until it ends.

#include <memory>

#include "net/asio.h"
#include "net/http_server.h"
#include "net/server_tls.h"

namespace koord::net {

class TransportUser {
 public:
  virtual void onReady(error_code ec, PeerCertificate peer) = 0;
  virtual void onRead(error_code ec, std::size_t size) = 0;
  virtual void onWritten(error_code ec, std::size_t size) = 0;
  virtual void onFinished() = 0;

 protected:
  ~TransportUser() = default;
};

class Transport {
 public:
  using User = std::shared_ptr<TransportUser>;

  virtual ~Transport() = default;
  // Performs the handshake, if there is one, then calls onReady.
  virtual void start(User user) = 0;
  virtual void read(User user, asio::mutable_buffer into) = 0;
  // Writes a part of it, then calls onWritten with its size.
  virtual void write(User user, asio::const_buffer from) = 0;
  // After the last write: sends the protocol's close notification if it has one, then calls
  // onFinished.
  virtual void finish(User user) = 0;
  // Makes pending reads and writes end with an error.
  virtual void close() = 0;
};

// tls: nullptr means no TLS.
std::unique_ptr<Transport> makeTransport(Socket socket, TlsContext tls);

}  // namespace koord::net
