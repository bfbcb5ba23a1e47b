#include "cluster/streaming/port_forward.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "cluster/streaming/byte_queue.h"
#include "cluster/streaming/upgrade.h"

namespace koord::cluster {

namespace {

using ResponderPtr = std::shared_ptr<net::Responder>;

constexpr const char* kProtocol = "portforward.k8s.io";
constexpr const char* kTunnel = "SPDY/3.1+portforward.k8s.io";

// One connection of the client.
struct Forwarded {
  explicit Forwarded(Executor& executor) : input(executor) {}
  std::optional<std::uint32_t> data;
  std::optional<std::uint32_t> error;
  std::uint16_t port = 0;
  ByteQueue input;
  std::size_t kept = 0;              // bytes of the client that are not consumed
  std::shared_ptr<FdStream> socket;  // to the port, once it is connected
  bool reset = false;
};
using ForwardedPtr = std::shared_ptr<Forwarded>;

class PortForward final : public SpdyLink::Handler,
                          public std::enable_shared_from_this<PortForward> {
 public:
  PortForward(Executor& executor, StreamIo& io, std::string pod)
      : executor_(executor), io_(io), pod_(std::move(pod)) {}

  bool open(const net::ServerRequest& request, ResponderPtr responder) {
    if (wantsWebSocket(request)) {
      const auto protocol = negotiate(request, *responder, {kTunnel});
      if (!protocol) return false;
      link_ = SpdyLink::acceptTunnel(request, std::move(responder), *protocol, weak_from_this());
      return link_ != nullptr;
    }
    const auto protocol = negotiate(request, *responder, {kProtocol});
    if (!protocol) return false;
    link_ = SpdyLink::accept(std::move(responder), *protocol, weak_from_this());
    return true;
  }

  Task<void> untilClosed() {
    auto [closed, done] = Future<bool>::make(executor_);
    link_->onClosed([done = done] { done.complete(true); });
    co_await closed;
  }

 private:
  void onStream(std::uint32_t stream, const net::SpdyHeaders& headers, bool fin) override {
    const auto type = net::spdyHeader(headers, "streamtype");
    const auto text = net::spdyHeader(headers, "port");
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    const bool valid = error == std::errc{} && end == text.data() + text.size() && port > 0;
    if (!valid || (type != "data" && type != "error"))
      return link_->session().reset(stream, net::kSpdyProtocolError);
    std::string id(net::spdyHeader(headers, "requestid"));
    // Without an id the two streams follow each other.
    if (id.empty()) id = fmt::format("stream {}", type == "error" ? stream : stream - 2);
    auto& pair = waiting_[id];
    if (!pair) pair = std::make_shared<Forwarded>(executor_);
    auto& place = type == "data" ? pair->data : pair->error;
    if (place) return link_->session().reset(stream, net::kSpdyProtocolError);
    place = stream;
    if (type == "data") {
      byStream_[stream] = pair;
      pair->port = port;
      if (fin) pair->input.end();
    }
    link_->session().accept(stream);
    if (!pair->data || !pair->error) return;
    connections_.spawn(forward(this, pair));
    waiting_.erase(id);
  }

  std::size_t onData(std::uint32_t stream, std::string_view bytes, bool fin) override {
    const auto found = byStream_.find(stream);
    if (found == byStream_.end()) return 0;
    const std::size_t kept = found->second->input.push(bytes);
    found->second->kept += kept;
    if (fin) found->second->input.end();
    return kept;
  }

  void onReset(std::uint32_t stream) override {
    const auto found = byStream_.find(stream);
    if (found == byStream_.end()) return;
    found->second->reset = true;
    found->second->input.end();
    if (found->second->socket) found->second->socket->endWhenEmpty();
  }

  void consumed(Forwarded& pair, std::size_t bytes) {
    pair.kept -= bytes;
    link_->consumed(bytes);
  }

  static Task<void> forward(PortForward* self, ForwardedPtr pair) {
    auto& session = self->link_->session();
    auto connecting = self->io_.connectLoopback(pair->port);
    auto connected = co_await connecting;
    if (!connected) {
      session.write(*pair->error,
                    fmt::format("error forwarding port {} to pod {}: {}", pair->port, self->pod_,
                                connected.error().message),
                    true);
      session.write(*pair->data, "", true);
    } else {
      const std::shared_ptr<FdStream> socket = self->io_.open(*std::move(connected));
      pair->socket = socket;
      if (pair->reset) socket->endWhenEmpty();
      TaskGroup copies;
      copies.spawn(toPod(self, pair, socket));
      for (;;) {
        auto reading = socket->read();
        const auto bytes = co_await reading;
        if (!bytes || pair->reset) break;
        session.write(*pair->data, *bytes);
        while (self->link_->queuedBytes() > kMaxUnsent) {
          auto pause = sleepFor(self->executor_, kUnsentPause);
          co_await pause;
        }
      }
      session.write(*pair->data, "", true);
      session.write(*pair->error, "", true);
    }
    // What the client has sent meanwhile does not reach anyone.
    self->consumed(*pair, pair->kept);
    self->byStream_.erase(*pair->data);
  }

  static Task<void> toPod(PortForward* self, ForwardedPtr pair, std::shared_ptr<FdStream> socket) {
    for (;;) {
      auto taking = pair->input.next();
      auto bytes = co_await taking;
      if (!bytes) break;
      const std::size_t size = bytes->size();
      auto writing = socket->write(*std::move(bytes));
      co_await writing;
      self->consumed(*pair, size);
    }
    socket->closeWrites();
  }

  Executor& executor_;
  StreamIo& io_;
  std::string pod_;
  std::shared_ptr<SpdyLink> link_;
  std::map<std::string, ForwardedPtr> waiting_;  // for their other stream, by request id
  std::map<std::uint32_t, ForwardedPtr> byStream_;
  TaskGroup connections_;
};

}  // namespace

Task<void> servePortForward(Executor* executor, StreamIo* io, net::ServerRequest request,
                            std::shared_ptr<net::Responder> responder, std::string pod) {
  const auto session = std::make_shared<PortForward>(*executor, *io, std::move(pod));
  if (!session->open(request, std::move(responder))) co_return;
  auto closing = session->untilClosed();
  co_await closing;
}

}  // namespace koord::cluster
