#pragma once

// Which protocol a client wants for a stream, and the connection of it: SPDY/3.1, WebSocket
// messages, or SPDY/3.1 within a WebSocket.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "net/streaming/spdy.h"
#include "net/streaming/websocket.h"

namespace koord::cluster {

// Output waits while so many bytes are unsent, and looks again after the pause.
inline constexpr std::size_t kMaxUnsent = 1 << 20;
inline constexpr Duration kUnsentPause = std::chrono::milliseconds(5);

bool wantsWebSocket(const net::ServerRequest& request);

// Chooses the first of the client's protocols that is known; "" if the client names none and "" is
// known. Otherwise, and if the client wants neither a WebSocket nor SPDY/3.1, answers with an error
// and returns nullopt.
std::optional<std::string> negotiate(const net::ServerRequest& request, net::Responder& responder,
                                     const std::vector<std::string>& known);

// An upgraded connection as messages of a WebSocket. Answers pings and the client's close.
class WebSocketLink : public std::enable_shared_from_this<WebSocketLink> {
 public:
  using ResponderPtr = std::shared_ptr<net::Responder>;
  // What the session takes from a piece; the number of payload bytes that it keeps. The session
  // passes it to consumed() later.
  using OnPiece = std::function<std::size_t(const net::WebSocketPiece& piece)>;

  // Answers 101, or 400 and returns nullptr. onPiece gets Text and Binary only.
  static std::shared_ptr<WebSocketLink> accept(const net::ServerRequest& request,
                                               ResponderPtr responder, const std::string& protocol,
                                               OnPiece onPiece);

  void send(net::WebSocketOp op, std::string_view payload);
  void close(std::uint16_t code, std::string_view reason);
  void consumed(std::size_t bytes) { responder_->consumed(bytes); }
  std::size_t queuedBytes() const { return responder_->queuedBytes(); }
  void onClosed(Callback fn) { onClosed_ = std::move(fn); }

 private:
  WebSocketLink(ResponderPtr responder, OnPiece onPiece)
      : responder_(std::move(responder)), onPiece_(std::move(onPiece)) {}
  void input(std::string_view bytes);
  void lost();

  ResponderPtr responder_;
  OnPiece onPiece_;
  Callback onClosed_;
  net::WebSocketReader reader_{true};
  bool closed_ = false;
};

// A SPDY session on an upgraded connection.
class SpdyLink : public std::enable_shared_from_this<SpdyLink> {
 public:
  using ResponderPtr = std::shared_ptr<net::Responder>;
  // Called while it exists.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void onStream(std::uint32_t stream, const net::SpdyHeaders& headers, bool fin) = 0;
    // Returns the number of bytes that the handler keeps, for consumed().
    virtual std::size_t onData(std::uint32_t stream, std::string_view bytes, bool fin) = 0;
    virtual void onReset(std::uint32_t stream) = 0;
  };

  // protocol: the value of X-Stream-Protocol-Version.
  static std::shared_ptr<SpdyLink> accept(ResponderPtr responder, const std::string& protocol,
                                          std::weak_ptr<Handler> handler);
  // SPDY in the messages of a WebSocket. nullptr after an answer 400.
  static std::shared_ptr<SpdyLink> acceptTunnel(const net::ServerRequest& request,
                                                ResponderPtr responder, const std::string& protocol,
                                                std::weak_ptr<Handler> handler);

  net::SpdySession& session() { return *session_; }
  void consumed(std::size_t bytes);
  std::size_t queuedBytes() const;
  // Closes the connection after what was written.
  void close();
  void onClosed(Callback fn) { onClosed_ = std::move(fn); }

 private:
  explicit SpdyLink(std::weak_ptr<Handler> handler);
  std::size_t input(std::string_view bytes);
  void lost();

  std::weak_ptr<Handler> handler_;
  ResponderPtr responder_;
  std::shared_ptr<WebSocketLink> tunnel_;  // instead of the responder
  std::unique_ptr<net::SpdySession> session_;
  std::size_t kept_ = 0;
  std::size_t sent_ = 0;
  std::size_t answers_ = 0;  // bytes sent for the client's frames while it did not read
  Callback onClosed_;
  bool closed_ = false;
};

}  // namespace koord::cluster
