#include "koordlet/runtimehooks/nri/framing.h"

#include <fmt/format.h>

#include <algorithm>

namespace koord::koordlet::nri {
namespace {

constexpr std::size_t kPieceHead = 8;
constexpr std::size_t kFrameHead = 10;
constexpr std::size_t kMaxData = 4 << 20;
constexpr std::size_t kMaxPiece = kMaxData + kFrameHead;
constexpr std::size_t kMaxPieceToGo = 4096;

std::uint32_t numberAt(std::string_view bytes, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return number;
}

void putNumber(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

}  // namespace

std::string encode(std::uint32_t stream, const TtrpcFrame& frame) {
  std::string body;
  body.reserve(kFrameHead + frame.data.size());
  putNumber(body, static_cast<std::uint32_t>(frame.data.size()));
  putNumber(body, frame.call);
  body += static_cast<char>(frame.type);
  body += static_cast<char>(frame.flags);
  body += frame.data;
  std::string out;
  for (std::size_t at = 0; at < body.size(); at += kMaxPieceToGo) {
    const auto piece = std::string_view(body).substr(at, kMaxPieceToGo);
    putNumber(out, stream);
    putNumber(out, static_cast<std::uint32_t>(piece.size()));
    out += piece;
  }
  return out;
}

// Moves one frame of the socket to its stream; false if it is incomplete.
Result<bool> FrameReader::takePiece() {
  if (input_.size() < kPieceHead) return false;
  const std::uint32_t stream = numberAt(input_, 0);
  const std::size_t size = numberAt(input_, 4);
  if (size > kMaxPiece)
    return fail(ErrorCode::BadRequest,
                fmt::format("a fragment of {} bytes on stream {}; the limit is {}", size, stream,
                            kMaxPiece));
  if (input_.size() < kPieceHead + size) return false;
  // Data of unknown streams is dropped.
  if (stream == kPluginStream || stream == kRuntimeStream)
    streams_[stream].append(input_, kPieceHead, size);
  input_.erase(0, kPieceHead + size);
  return true;
}

Result<std::optional<FrameReader::Arrived>> FrameReader::next() {
  for (;;) {
    for (auto& [stream, bytes] : streams_) {
      if (bytes.size() < kFrameHead) continue;
      const std::size_t size = numberAt(bytes, 0);
      if (size > kMaxData)
        return fail(ErrorCode::BadRequest,
                    fmt::format("a ttrpc message of {} bytes; the limit is {}", size, kMaxData));
      if (bytes.size() < kFrameHead + size) continue;
      Arrived arrived{stream,
                      {numberAt(bytes, 4), static_cast<std::uint8_t>(bytes[8]),
                       static_cast<std::uint8_t>(bytes[9]), bytes.substr(kFrameHead, size)}};
      bytes.erase(0, kFrameHead + size);
      return std::optional(std::move(arrived));
    }
    auto taken = takePiece();
    if (!taken) return fail(std::move(taken.error()));
    if (!*taken) return std::nullopt;
  }
}

}  // namespace koord::koordlet::nri
