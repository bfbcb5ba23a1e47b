#include "net/transport.h"

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace koord::net {
namespace {

template <class Stream>
void readSome(Stream& stream, Transport::User user, asio::mutable_buffer into) {
  stream.async_read_some(
      into, [user = std::move(user)](error_code ec, std::size_t size) { user->onRead(ec, size); });
}

template <class Stream>
void writeSome(Stream& stream, Transport::User user, asio::const_buffer from) {
  stream.async_write_some(from, [user = std::move(user)](error_code ec, std::size_t size) {
    user->onWritten(ec, size);
  });
}

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(Socket socket) : socket_(std::move(socket)) {}

  void start(User user) override {
    asio::post(socket_.get_executor(), [user = std::move(user)] { user->onReady({}, {}); });
  }
  void read(User user, asio::mutable_buffer into) override {
    readSome(socket_, std::move(user), into);
  }
  void write(User user, asio::const_buffer from) override {
    writeSome(socket_, std::move(user), from);
  }
  void finish(User user) override {
    asio::post(socket_.get_executor(), [user = std::move(user)] { user->onFinished(); });
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

class TlsTransport final : public Transport {
 public:
  TlsTransport(Socket socket, TlsContext tls)
      : tls_(std::move(tls)), stream_(std::move(socket), *tls_) {}

  void start(User user) override {
    stream_.async_handshake(
        asio::ssl::stream_base::server, [this, user = std::move(user)](error_code ec) {
          user->onReady(ec, ec ? PeerCertificate{} : peerCertificateOf(stream_.native_handle()));
        });
  }
  void read(User user, asio::mutable_buffer into) override {
    readSome(stream_, std::move(user), into);
  }
  void write(User user, asio::const_buffer from) override {
    writeSome(stream_, std::move(user), from);
  }
  void finish(User user) override {
    // This sends the close notification at once, if the kernel's buffer has space, and then would
    // wait for the client's.
    stream_.async_shutdown([user](error_code) {});
    asio::post(stream_.get_executor(), [user = std::move(user)] { user->onFinished(); });
  }
  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  TlsContext tls_;  // declared before the stream that uses it
  asio::ssl::stream<Socket> stream_;
};

}  // namespace

std::unique_ptr<Transport> makeTransport(Socket socket, TlsContext tls) {
  if (tls) return std::make_unique<TlsTransport>(std::move(socket), std::move(tls));
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace koord::net
