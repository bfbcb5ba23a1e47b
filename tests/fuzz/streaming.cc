// Bytes of an upgraded connection: WebSocket frames and SPDY frames. However they are cut, the same
// is read.

#include "fuzz.h"
#include "net/streaming/spdy.h"
#include "net/streaming/websocket.h"

namespace koord::fuzz {
namespace {

std::string readWebSocket(std::string_view input, std::size_t step) {
  std::string read;
  net::WebSocketReader reader(true);
  for (std::size_t at = 0; at < input.size(); at += step) {
    const auto fed = reader.feed(input.substr(at, step), [&](const net::WebSocketPiece& piece) {
      read += piece.bytes;
      if (piece.last) read += "\n";
    });
    if (!fed) return read + fed.error().message;
  }
  return read;
}

std::string readSpdy(std::string_view input, std::size_t step) {
  std::string read;
  net::SpdySession* running = nullptr;
  net::SpdySession session(false,
                           {[&](std::string bytes) { read += bytes; },
                            [&](std::uint32_t stream, const net::SpdyHeaders& headers, bool) {
                              for (const auto& [name, value] : headers) read += name + "=" + value;
                              running->accept(stream);
                            },
                            [&](std::uint32_t, std::string_view bytes, bool fin) {
                              read += bytes;
                              if (fin) read += "\n";
                            },
                            [&](std::uint32_t) { read += "reset"; }, [&] { read += "away"; }});
  running = &session;
  for (std::size_t at = 0; at < input.size(); at += step)
    if (const auto fed = session.feed(input.substr(at, step)); !fed)
      return read + fed.error().message;
  return read;
}

}  // namespace

void webSocket(std::string_view input) {
  check(readWebSocket(input, 1) == readWebSocket(input, input.size() + 1),
        "a WebSocket's bytes read the same in one piece and in many");
}

void spdy(std::string_view input) {
  check(readSpdy(input, 1) == readSpdy(input, input.size() + 1),
        "SPDY's bytes read the same in one piece and in many");
}

}  // namespace koord::fuzz
