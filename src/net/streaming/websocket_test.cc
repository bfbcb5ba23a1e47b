#include "net/streaming/websocket.h"

#include <gtest/gtest.h>

namespace koord::net {
namespace {

struct Taken {
  std::string text;  // pieces in brackets; "!" after the last one of a message
  std::string controls;
  Result<> feed(WebSocketReader& reader, std::string_view bytes) {
    return reader.feed(bytes, [this](const WebSocketPiece& piece) {
      if (piece.op >= WebSocketOp::Close) {
        controls += std::to_string(static_cast<int>(piece.op)) + ":" + std::string(piece.bytes);
        return;
      }
      if (piece.first) text += "[";
      text += piece.bytes;
      if (piece.last) text += "]";
    });
  }
};

TEST(WebSocket, AcceptIsThatOfTheStandard) {
  EXPECT_EQ(webSocketAccept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocket, ReadsWhatItWrites) {
  for (const std::size_t size : {0, 1, 125, 126, 65'535, 65'536, 200'000}) {
    const std::string payload(size, 'x');
    const auto frame = webSocketFrame(WebSocketOp::Binary, payload, 0x12345678);
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, frame.size()}) {
      WebSocketReader reader(true);
      Taken taken;
      for (std::size_t at = 0; at < frame.size(); at += step)
        ASSERT_TRUE(taken.feed(reader, std::string_view(frame).substr(at, step)));
      EXPECT_EQ(taken.text, "[" + payload + "]") << size << " in steps of " << step;
    }
  }
}

TEST(WebSocket, ControlFramesMayStandWithinAMessage) {
  std::string bytes = webSocketFrame(WebSocketOp::Binary, "one ", 7);
  bytes[0] = static_cast<char>(bytes[0] & 0x7F);  // more of it follows
  bytes += webSocketFrame(WebSocketOp::Ping, "p", 7);
  bytes += webSocketFrame(WebSocketOp::Continuation, "two", 7);
  WebSocketReader reader(true);
  Taken taken;
  ASSERT_TRUE(taken.feed(reader, bytes));
  EXPECT_EQ(taken.text, "[one two]");
  EXPECT_EQ(taken.controls, "9:p");
}

TEST(WebSocket, InvalidFramesAreRefused) {
  std::string reserved = webSocketFrame(WebSocketOp::Binary, "x", 7);
  reserved[0] = static_cast<char>(reserved[0] | 0x40);
  for (const auto& bytes : {webSocketFrame(WebSocketOp::Binary, "not masked"), reserved,
                            webSocketFrame(WebSocketOp::Continuation, "of nothing", 7),
                            webSocketFrame(WebSocketOp::Close, std::string(126, 'x'), 7),
                            webSocketFrame(static_cast<WebSocketOp>(11), "", 7)}) {
    WebSocketReader reader(true);
    Taken taken;
    EXPECT_FALSE(taken.feed(reader, bytes));
  }
}

}  // namespace
}  // namespace koord::net
