#pragma once

// The WebSocket protocol (RFC 6455), version 13, without sockets: frames from bytes, bytes of
// frames. Extensions are not supported.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::net {

// The value of Sec-WebSocket-Accept for a client's Sec-WebSocket-Key.
std::string webSocketAccept(std::string_view key);

enum class WebSocketOp : std::uint8_t {
  Continuation = 0,
  Text = 1,
  Binary = 2,
  Close = 8,
  Ping = 9,
  Pong = 10
};

// One whole frame. Clients mask what they send; servers do not.
std::string webSocketFrame(WebSocketOp op, std::string_view payload,
                           std::optional<std::uint32_t> mask = {});
// The frame that ends a connection. The reason is cut to the length of a control frame.
std::string webSocketClose(std::uint16_t code, std::string_view reason = {});

// A part of a message, or a control frame. Messages are not collected, so that their length does
// not matter.
struct WebSocketPiece {
  WebSocketOp op = WebSocketOp::Binary;  // Text, Binary, Close, Ping or Pong
  bool first = false;                    // of its message
  bool last = false;
  std::string_view bytes;  // valid during the call
};

class WebSocketReader {
 public:
  using OnPiece = std::function<void(const WebSocketPiece& piece)>;

  // masked: frames must be masked, as those of a client, or must not be.
  explicit WebSocketReader(bool masked) : masked_(masked) {}

  // Takes the next bytes of the connection and calls onPiece for what they complete. Invalid: they
  // are not a WebSocket's; the reader must not be used again.
  Result<> feed(std::string_view bytes, const OnPiece& onPiece);

 private:
  Result<> readHead();
  void readPayload(std::string_view& bytes, const OnPiece& onPiece);
  bool isControl() const { return op_ >= WebSocketOp::Close; }

  bool masked_;
  std::string head_;     // of the frame, until it is complete
  std::string control_;  // payload of a control frame, until it is complete
  bool inPayload_ = false;
  bool fin_ = false;
  bool first_ = false;  // nothing of the message was reported
  WebSocketOp op_ = WebSocketOp::Binary;
  std::optional<WebSocketOp> message_;  // of the unfinished message
  std::uint64_t left_ = 0;              // of the payload
  std::uint8_t mask_[4] = {};
  std::size_t maskAt_ = 0;
};

}  // namespace koord::net
