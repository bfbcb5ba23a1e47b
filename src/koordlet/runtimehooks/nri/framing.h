#pragma once

// The framing below NRI's messages: two byte streams on one socket, with ttrpc frames in each.
//
//   socket:  [stream u32][length u32] payload ...     all numbers big-endian
//   stream:  [length u32][call u32][type u8][flags u8] data ...
//
// A ttrpc frame may span several socket frames, and a socket frame may hold parts of several ttrpc
// frames. Readers take bytes as they arrive and return complete frames.

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

// Encodes a frame for the socket, in pieces of at most 4,096 bytes, because the runtime (Go) reads
// a piece into a buffer of that size.
std::string encode(std::uint32_t stream, const TtrpcFrame& frame);

class FrameReader {
 public:
  struct Arrived {
    std::uint32_t stream = 0;
    TtrpcFrame frame;
  };
  void add(std::string_view bytes) { input_ += bytes; }
  // Returns the next complete frame; nullopt if more bytes are needed. An error means that the
  // bytes do not follow the protocol, and the rest of the stream cannot be read.
  Result<std::optional<Arrived>> next();

 private:
  Result<bool> takePiece();

  std::string input_;
  std::map<std::uint32_t, std::string> streams_;  // bytes of incomplete frames
};

}  // namespace koord::koordlet::nri
