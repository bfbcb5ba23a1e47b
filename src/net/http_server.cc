#include "net/http_server.h"

#include <unistd.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "net/listen.h"
#include "net/server_thread.h"
#include "net/server_tls.h"

namespace koord::net {

// The acceptor lives on the first I/O thread and hands connections to all of them in turn.
class HttpServer::Impl {
 public:
  Impl(Executor& executor, ServerOptions options, Handler handler, TlsContext tls)
      : options_(std::make_shared<const ServerOptions>(std::move(options))),
        slot_(std::make_shared<HandlerSlot>(executor, std::move(handler))),
        tls_(std::move(tls)) {
    for (int i = 0; i < std::max(1, options_->threads); ++i) {
      threads_.push_back(
          std::make_shared<ServerThread>(options_, slot_, [this] { onConnectionClosed(); }));
    }
    retry_.emplace(first());
  }

  ~Impl() {
    slot_->active = false;
    for (const auto& thread : threads_) thread->stop();
    if (listener_ && !listener_->unixPath.empty()) ::unlink(listener_->unixPath.c_str());
  }

  Result<> listen() {
    auto listener = listenOn(first(), options_->listen);
    if (!listener) return fail(std::move(listener.error()));
    listener_.emplace(std::move(*listener));
    for (const auto& thread : threads_) thread->run();
    asio::post(first(), [this] { accept(); });
    return {};
  }

  void setTls(TlsContext tls) {
    std::lock_guard lock(tlsMutex_);
    tls_ = std::move(tls);
  }

  Task<void> shutdown(Duration grace) {
    auto [future, completer] = Future<bool>::make(slot_->executor);
    asio::post(first(), [this, grace, done = completer] {
      error_code ignored;
      listener_->acceptor.close(ignored);
      stopped_.push_back(done);
      retry_->expires_after(grace);
      retry_->async_wait([this](error_code ec) {
        if (!ec) eachThread([](ServerThread& thread) { thread.closeAll(); });
      });
      eachThread([](ServerThread& thread) { thread.shutdownAll(); });
      checkStopped();
    });
    co_await future;
  }

  const Listener& listener() const { return *listener_; }
  std::size_t connections() const { return connections_; }

 private:
  asio::io_context& first() { return threads_.front()->context(); }

  template <class Fn>
  void eachThread(Fn fn) {
    for (const auto& thread : threads_) {
      asio::post(thread->context(), [thread = thread.get(), fn] { fn(*thread); });
    }
  }

  // First I/O thread, as the rest but for onConnectionClosed.
  void accept() {
    if (!listener_->acceptor.is_open() || accepting_) return;
    if (connections_ >= options_->maxConnections) return;  // until one is closed
    accepting_ = true;
    ServerThread* const thread = threads_[next_++ % threads_.size()].get();
    listener_->acceptor.async_accept(
        thread->context(), peer_, [this, thread](error_code ec, Socket socket) {
          accepting_ = false;
          if (ec == asio::error::operation_aborted) return;
          if (ec) {
            log::warn("accept a connection on {}: {}", listener_->address, ec.message());
            acceptLater();
            return;
          }
          take(*thread, std::move(socket));
          accept();
        });
  }

  // Out of file descriptors, most likely: some may be closed soon.
  void acceptLater() {
    retry_->expires_after(std::chrono::milliseconds(100));
    retry_->async_wait([this](error_code ec) {
      if (!ec) accept();
    });
  }

  void take(ServerThread& thread, Socket socket) {
    error_code ignored;
    if (listener_->unixPath.empty()) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    ++connections_;
    TlsContext tls;
    {
      std::lock_guard lock(tlsMutex_);
      tls = tls_;
    }
    asio::post(thread.context(), [&thread, socket = std::move(socket), tls = std::move(tls),
                                  remote = describe(peer_)]() mutable {
      thread.add(std::move(socket), std::move(tls), std::move(remote));
    });
  }

  // On the connection's thread.
  void onConnectionClosed() {
    --connections_;
    asio::post(first(), [this] {
      accept();
      checkStopped();
    });
  }

  void checkStopped() {
    if (connections_ > 0 || listener_->acceptor.is_open()) return;
    retry_->cancel();
    for (const auto& done : std::exchange(stopped_, {})) done.complete(true);
  }

  std::shared_ptr<const ServerOptions> options_;
  std::shared_ptr<HandlerSlot> slot_;
  std::vector<std::shared_ptr<ServerThread>> threads_;
  std::optional<Listener> listener_;
  asio::generic::stream_protocol::endpoint peer_;
  bool accepting_ = false;
  std::size_t next_ = 0;
  std::atomic<std::size_t> connections_ = 0;
  std::optional<asio::steady_timer>
      retry_;  // the next try to accept; later, the end of the grace time
  std::vector<Completer<bool>> stopped_;  // shutdowns to report

  std::mutex tlsMutex_;
  TlsContext tls_;  // guarded by tlsMutex_
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(Executor& executor, ServerOptions options,
                                                      Handler handler) {
  TlsContext tls;
  if (options.tls) {
    auto context = makeTlsContext(*options.tls);
    if (!context) return fail(std::move(context.error()));
    tls = std::move(*context);
  }
  auto impl =
      std::make_unique<Impl>(executor, std::move(options), std::move(handler), std::move(tls));
  if (auto listening = impl->listen(); !listening) return fail(std::move(listening.error()));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

Task<void> HttpServer::shutdown(Duration grace) {
  return impl_->shutdown(grace);
}

Result<> HttpServer::setTls(const ServerTls& tls) {
  auto context = makeTlsContext(tls);
  if (!context) return fail(std::move(context.error()));
  impl_->setTls(std::move(*context));
  return {};
}

std::string HttpServer::address() const {
  return impl_->listener().address;
}
std::uint16_t HttpServer::port() const {
  return impl_->listener().port;
}
std::size_t HttpServer::connections() const {
  return impl_->connections();
}

}  // namespace koord::net
