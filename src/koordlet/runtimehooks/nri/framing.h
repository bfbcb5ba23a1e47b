#pragma once

// What lies below NRI's messages: two byte streams on one socket, with the frames of ttrpc in each.
//
//   socket:  [stream u32][length u32] payload ...     all numbers big-endian
//   stream:  [length u32][call u32][type u8][flags u8] data ...
//
// A ttrpc frame may be spread over several frames of the socket, and these may hold parts of
// several. Readers take bytes as they come and give out what is whole.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace koord::koordlet::nri {

// Streams of the socket.
inline constexpr std::uint32_t kPluginStream = 1;   // the runtime calls us
inline constexpr std::uint32_t kRuntimeStream = 2;  // we call the runtime

inline constexpr std::uint8_t kTtrpcRequest = 1;
inline constexpr std::uint8_t kTtrpcResponse = 2;

struct TtrpcFrame {
  std::uint32_t call = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::string data;
  bool operator==(const TtrpcFrame&) const = default;
};

// A frame as it goes to the socket: in pieces of at most 4,096 bytes, since Go's end reads a piece
// into a buffer of that size.
std::string encode(std::uint32_t stream, const TtrpcFrame& frame);

class FrameReader {
 public:
  struct Arrived {
    std::uint32_t stream = 0;
    TtrpcFrame frame;
  };
  void add(std::string_view bytes) { input_ += bytes; }
  // The next frame that is whole; nullopt when more bytes are needed. An error: what came cannot be
  // the protocol, and nothing after it can be read.
  Result<std::optional<Arrived>> next();

 private:
  Result<bool> takePiece();

  std::string input_;
  std::map<std::uint32_t, std::string> streams_;  // bytes of frames that are not whole
};

}  // namespace koord::koordlet::nri
