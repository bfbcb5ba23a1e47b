#include "cluster/streaming/upgrade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/log.h"
#include "base/split.h"

namespace koord::cluster {

namespace {

const net::Headers kPlain = {{"Content-Type", "text/plain; charset=utf-8"}};

// Elements of all headers of this name.
std::vector<std::string> elementsOf(const net::Headers& headers, std::string_view name) {
  std::vector<std::string> elements;
  for (const auto& header : headers)
    if (net::sameHeaderName(header.name, name))
      for (const auto& element : splitWords(header.value, ','))
        elements.emplace_back(trim(element));
  return elements;
}

bool hasElement(const net::Headers& headers, std::string_view name, std::string_view wanted) {
  for (const auto& element : elementsOf(headers, name))
    if (lowered(element) == wanted) return true;
  return false;
}

bool wantsUpgrade(const net::ServerRequest& request, std::string_view protocol) {
  return hasElement(request.headers, "Connection", "upgrade") &&
         hasElement(request.headers, "Upgrade", protocol);
}

}  // namespace

bool wantsWebSocket(const net::ServerRequest& request) {
  return wantsUpgrade(request, "websocket");
}

std::optional<std::string> negotiate(const net::ServerRequest& request, net::Responder& responder,
                                     const std::vector<std::string>& known) {
  const bool webSocket = wantsWebSocket(request);
  if (!webSocket && !wantsUpgrade(request, "spdy/3.1")) {
    responder.respond(400, kPlain,
                      std::string("unable to upgrade: Connection: Upgrade and Upgrade: websocket "
                                  "or SPDY/3.1 are needed\n"));
    return std::nullopt;
  }
  const auto wanted = elementsOf(
      request.headers, webSocket ? "Sec-WebSocket-Protocol" : "X-Stream-Protocol-Version");
  for (const auto& name : wanted)
    if (std::ranges::find(known, name) != known.end()) return name;
  if (wanted.empty() && std::ranges::find(known, "") != known.end()) return std::string();
  responder.respond(403, kPlain,
                    fmt::format("unable to upgrade: unable to negotiate protocol: client supports "
                                "[{}], server accepts {}\n",
                                fmt::join(wanted, ", "), fmt::join(known, ", ")));
  return std::nullopt;
}

std::shared_ptr<WebSocketLink> WebSocketLink::accept(const net::ServerRequest& request,
                                                     ResponderPtr responder,
                                                     const std::string& protocol, OnPiece onPiece) {
  const auto key = net::headerOf(request.headers, "Sec-WebSocket-Key");
  if (key.empty() || net::headerOf(request.headers, "Sec-WebSocket-Version") != "13") {
    responder->respond(400, kPlain,
                       std::string("not a WebSocket of version 13: Sec-WebSocket-Key and "
                                   "Sec-WebSocket-Version: 13 are needed\n"));
    return nullptr;
  }
  const std::shared_ptr<WebSocketLink> link(new WebSocketLink(responder, std::move(onPiece)));
  responder->onClosed([weak = std::weak_ptr(link)] {
    if (const auto self = weak.lock()) self->lost();
  });
  net::Headers headers{{"Upgrade", "websocket"},
                       {"Sec-WebSocket-Accept", net::webSocketAccept(key)}};
  if (!protocol.empty()) headers.push_back({"Sec-WebSocket-Protocol", protocol});
  responder->upgrade(std::move(headers), [weak = std::weak_ptr(link)](std::string bytes) {
    if (const auto self = weak.lock()) self->input(bytes);
  });
  return link;
}

void WebSocketLink::input(std::string_view bytes) {
  if (closed_) return responder_->consumed(bytes.size());
  const auto self = shared_from_this();
  std::size_t kept = 0;
  bool ends = false;
  auto read = reader_.feed(bytes, [&](const net::WebSocketPiece& piece) {
    if (piece.op == net::WebSocketOp::Ping) {
      // Not for a client that sends pings but does not read.
      if (queuedBytes() <= kMaxUnsent) send(net::WebSocketOp::Pong, piece.bytes);
    } else if (piece.op == net::WebSocketOp::Close) {
      ends = true;
    } else if (piece.op != net::WebSocketOp::Pong && !ends && !closed_) {
      kept += onPiece_(piece);
    }
  });
  if (kept < bytes.size()) responder_->consumed(bytes.size() - kept);
  if (!read) {
    log::v(1, "{}", read.error().message);
    close(1002, read.error().message);
    lost();
  } else if (ends) {
    close(1000, "");
    lost();
  }
}

void WebSocketLink::send(net::WebSocketOp op, std::string_view payload) {
  if (closed_) return;
  responder_->write(std::make_shared<const std::string>(net::webSocketFrame(op, payload)));
}

void WebSocketLink::close(std::uint16_t code, std::string_view reason) {
  if (std::exchange(closed_, true)) return;
  responder_->write(std::make_shared<const std::string>(net::webSocketClose(code, reason)));
  responder_->end();
}

void WebSocketLink::lost() {
  closed_ = true;
  if (auto fn = std::exchange(onClosed_, nullptr)) fn();
}

SpdyLink::SpdyLink(std::weak_ptr<Handler> handler) : handler_(std::move(handler)) {
  net::SpdySession::Events events;
  events.send = [this](std::string bytes) {
    if (closed_) return;
    sent_ += bytes.size();
    if (tunnel_) return tunnel_->send(net::WebSocketOp::Binary, bytes);
    responder_->write(std::make_shared<const std::string>(std::move(bytes)));
  };
  events.onStream = [this](std::uint32_t stream, const net::SpdyHeaders& headers, bool fin) {
    if (const auto handler = handler_.lock()) handler->onStream(stream, headers, fin);
  };
  events.onData = [this](std::uint32_t stream, std::string_view bytes, bool fin) {
    if (const auto handler = handler_.lock()) kept_ += handler->onData(stream, bytes, fin);
  };
  events.onReset = [this](std::uint32_t stream) {
    if (const auto handler = handler_.lock()) handler->onReset(stream);
  };
  events.onGoAway = [] {};
  session_ = std::make_unique<net::SpdySession>(false, std::move(events));
}

std::shared_ptr<SpdyLink> SpdyLink::accept(ResponderPtr responder, const std::string& protocol,
                                           std::weak_ptr<Handler> handler) {
  const std::shared_ptr<SpdyLink> link(new SpdyLink(std::move(handler)));
  link->responder_ = responder;
  responder->onClosed([weak = std::weak_ptr(link)] {
    if (const auto self = weak.lock()) self->lost();
  });
  responder->upgrade({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", protocol}},
                     [weak = std::weak_ptr(link)](std::string bytes) {
                       const auto self = weak.lock();
                       if (!self) return;
                       const std::size_t kept = self->input(bytes);
                       if (kept < bytes.size()) self->consumed(bytes.size() - kept);
                     });
  return link;
}

std::shared_ptr<SpdyLink> SpdyLink::acceptTunnel(const net::ServerRequest& request,
                                                 ResponderPtr responder,
                                                 const std::string& protocol,
                                                 std::weak_ptr<Handler> handler) {
  const std::shared_ptr<SpdyLink> link(new SpdyLink(std::move(handler)));
  link->tunnel_ = WebSocketLink::accept(
      request, std::move(responder), protocol,
      [weak = std::weak_ptr(link)](const net::WebSocketPiece& piece) -> std::size_t {
        const auto self = weak.lock();
        return self ? self->input(piece.bytes) : 0;
      });
  if (!link->tunnel_) return nullptr;
  link->tunnel_->onClosed([weak = std::weak_ptr(link)] {
    if (const auto self = weak.lock()) self->lost();
  });
  return link;
}

std::size_t SpdyLink::input(std::string_view bytes) {
  if (closed_) return 0;
  const auto self = shared_from_this();
  kept_ = 0;
  const std::size_t before = sent_;
  auto read = session_->feed(bytes);
  answers_ = queuedBytes() > kMaxUnsent ? answers_ + sent_ - before : 0;
  if (read && answers_ > kMaxUnsent)
    read = fail(ErrorCode::Invalid, "a client asks for answers but does not read them");
  if (!read) {
    log::v(1, "{}", read.error().message);
    close();
    lost();
  }
  return std::min(kept_, bytes.size());
}

void SpdyLink::consumed(std::size_t bytes) {
  if (tunnel_) return tunnel_->consumed(bytes);
  responder_->consumed(bytes);
}

std::size_t SpdyLink::queuedBytes() const {
  return tunnel_ ? tunnel_->queuedBytes() : responder_->queuedBytes();
}

void SpdyLink::close() {
  if (std::exchange(closed_, true)) return;
  if (tunnel_) {
    tunnel_->close(1000, "");
  } else {
    responder_->end();
  }
}

void SpdyLink::lost() {
  closed_ = true;
  if (auto fn = std::exchange(onClosed_, nullptr)) fn();
}

}  // namespace koord::cluster
