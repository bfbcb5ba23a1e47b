#include "net/http_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/file_limit.h"
#include "base/log.h"
#include "net/listen.h"
#include "net/server_thread.h"
#include "net/server_tls.h"

namespace koord::net {
namespace {

// Connections of all servers of the process. They may use three quarters of the descriptors; the
// rest is for files and outgoing connections.
std::atomic<std::size_t> openEverywhere = 0;

bool descriptorsAreShort() {
  return openEverywhere >= fileLimit() / 4 * 3;
}

}  // namespace

void Responder::upgrade(Headers, OnInput) {
  respond(501, {{"Content-Type", "text/plain; charset=utf-8"}},
          std::string("this connection cannot change its protocol\n"));
}

// The acceptor lives on the first I/O thread and hands connections to all of them in turn. It also
// counts them by client; a connection over the limit waits until another one is closed.
class HttpServer::Impl {
 public:
  Impl(Executor& executor, ServerOptions options, Handler handler, TlsContext tls)
      : options_(std::make_shared<const ServerOptions>(std::move(options))),
        slot_(std::make_shared<HandlerSlot>(executor, std::move(handler))),
        tls_(std::move(tls)) {
    for (int i = 0; i < std::max(1, options_->threads); ++i) {
      threads_.push_back(std::make_shared<ServerThread>(
          options_, slot_,
          [this](const Connection& connection) { onConnectionClosed(connection.client()); }));
    }
    retry_.emplace(first());
  }

  ~Impl() {
    slot_->active = false;
    for (const auto& thread : threads_) thread->stop();
    openEverywhere -= connections_;
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

  // First I/O thread, as all below except onConnectionClosed.
  void accept() {
    if (!listener_->acceptor.is_open() || accepting_) return;
    accepting_ = true;
    if (isFull()) return acceptInPlaceOf();
    ServerThread* const thread = threads_[next_++ % threads_.size()].get();
    listener_->acceptor.async_accept(thread->context(), peer_,
                                     [this, thread](error_code ec, Socket socket) {
                                       if (ec == asio::error::operation_aborted) {
                                         accepting_ = false;
                                       } else if (ec) {  // out of file descriptors, most likely
                                         warn(ec.message());
                                         makeRoom("", 0, [this](bool) { acceptLater(); });
                                       } else {
                                         accepting_ = false;
                                         take(*thread, std::move(socket));
                                         accept();
                                       }
                                     });
  }

  bool isFull() const { return connections_ >= options_->maxConnections || descriptorsAreShort(); }

  // The limit is reached: when a client connects, another connection must be closed.
  void acceptInPlaceOf() {
    listener_->acceptor.async_wait(Acceptor::wait_read, [this](error_code ec) {
      if (ec || !isFull()) {
        accepting_ = false;
        if (!ec) accept();
        return;
      }
      warn(fmt::format("{} connections are open, which is the limit", connections_.load()));
      makeRoom("", 0, [this](bool made) {
        if (!made) return acceptLater();
        accepting_ = false;
        accept();
      });
    });
  }

  void acceptLater() {
    if (!listener_->acceptor.is_open()) return;  // the timer belongs to the shutdown
    retry_->expires_after(std::chrono::milliseconds(100));
    retry_->async_wait([this](error_code ec) {
      accepting_ = false;
      if (!ec) accept();
    });
  }

  // Not more than once in ten seconds: this happens to a server that is flooded.
  void warn(std::string_view why) {
    const auto now = std::chrono::steady_clock::now();
    if (now < nextWarning_) return;
    nextWarning_ = now + std::chrono::seconds(10);
    log::warn("accept a connection on {}: {}; idle and unauthenticated connections are closed",
              listener_->address, why);
  }

  // Makes a thread close connections of the client ("" = of any), then calls `done` with true if
  // any was closed.
  using Done = std::move_only_function<void(bool)>;
  void makeRoom(std::string client, std::size_t asked, Done done) {
    if (asked == threads_.size()) return done(false);
    ServerThread* const thread = threads_[(next_ + asked) % threads_.size()].get();
    asio::post(thread->context(),
               [this, thread, client = std::move(client), asked, done = std::move(done)]() mutable {
                 const bool made = thread->evict(client);
                 asio::post(first(), [this, client = std::move(client), asked, made,
                                      done = std::move(done)]() mutable {
                   if (made) return done(true);
                   makeRoom(std::move(client), asked + 1, std::move(done));
                 });
               });
  }

  void take(ServerThread& thread, Socket socket) {
    error_code ignored;
    if (listener_->unixPath.empty()) socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    auto client = clientOf(peer_, socket.native_handle());
    if (clients_[client] < options_->maxConnectionsPerClient) {
      add(thread, std::move(socket), describe(peer_), std::move(client));
      return;
    }
    log::v(2, "{} has {} connections, which is the limit per client", client, clients_[client]);
    const auto place = waiting_.insert(waiting_.end(), std::move(socket));
    makeRoom(client, 0,
             [this, &thread, place, remote = describe(peer_), client](bool made) mutable {
               Socket taken = std::move(*place);
               waiting_.erase(place);
               if (made) add(thread, std::move(taken), std::move(remote), std::move(client));
             });
  }

  void add(ServerThread& thread, Socket socket, std::string remote, std::string client) {
    ++connections_;
    ++openEverywhere;
    ++clients_[client];
    TlsContext tls;
    {
      std::lock_guard lock(tlsMutex_);
      tls = tls_;
    }
    asio::post(
        thread.context(), [&thread, socket = std::move(socket), tls = std::move(tls),
                           remote = std::move(remote), client = std::move(client)]() mutable {
          thread.add(std::move(socket), std::move(tls), std::move(remote), std::move(client));
        });
  }

  // On the connection's thread.
  void onConnectionClosed(const std::string& client) {
    --connections_;
    --openEverywhere;
    asio::post(first(), [this, client] {
      if (const auto it = clients_.find(client); it != clients_.end() && --it->second == 0)
        clients_.erase(it);
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
  bool accepting_ = false;  // or about to
  std::size_t next_ = 0;
  std::unordered_map<std::string, std::size_t> clients_;  // connections of each
  // Accepted, waiting for capacity. Kept here because handlers may outlive the context that the
  // socket belongs to.
  std::list<Socket> waiting_;
  std::chrono::steady_clock::time_point nextWarning_;
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
