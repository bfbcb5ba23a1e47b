#include "net/streaming/websocket.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/base64.h"

namespace koord::net {

namespace {

constexpr std::string_view kKeySuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kLongestControl = 125;

std::uint8_t byteAt(std::string_view text, std::size_t at) {
  return static_cast<std::uint8_t>(text[at]);
}

Error badFrame(std::string what) {
  return {ErrorCode::Invalid, "not a valid WebSocket frame: " + std::move(what), {}};
}

}  // namespace

std::string webSocketAccept(std::string_view key) {
  const std::string text = std::string(key).append(kKeySuffix);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ::EVP_Digest(text.data(), text.size(), digest, &size, ::EVP_sha1(), nullptr);
  return base64Encode({reinterpret_cast<const char*>(digest), size});
}

std::string webSocketFrame(WebSocketOp op, std::string_view payload,
                           std::optional<std::uint32_t> mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(0x80 | static_cast<unsigned>(op));
  const unsigned flag = mask ? 0x80 : 0;
  int lengthBytes = 0;
  if (payload.size() <= kLongestControl) {
    frame += static_cast<char>(flag | payload.size());
  } else {
    lengthBytes = payload.size() <= 0xFFFF ? 2 : 8;
    frame += static_cast<char>(flag | (lengthBytes == 2 ? 126U : 127U));
  }
  for (int i = lengthBytes - 1; i >= 0; --i)
    frame += static_cast<char>(std::uint64_t{payload.size()} >> (8 * i));
  if (!mask) return frame.append(payload);
  char key[4];
  for (int i = 0; i < 4; ++i) key[i] = static_cast<char>(*mask >> (24 - 8 * i));
  frame.append(key, 4);
  for (std::size_t i = 0; i < payload.size(); ++i)
    frame += static_cast<char>(payload[i] ^ key[i % 4]);
  return frame;
}

std::string webSocketClose(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code)};
  payload += reason.substr(0, kLongestControl - 2);
  return webSocketFrame(WebSocketOp::Close, payload);
}

Result<> WebSocketReader::readHead() {
  inPayload_ = false;
  const unsigned first = byteAt(head_, 0);
  const unsigned second = byteAt(head_, 1);
  fin_ = (first & 0x80) != 0;
  if ((first & 0x70) != 0) return fail(badFrame("reserved bits are set"));
  op_ = static_cast<WebSocketOp>(first & 0x0F);
  if (((second & 0x80) != 0) != masked_)
    return fail(badFrame(masked_ ? "it is not masked" : "it is masked"));
  left_ = second & 0x7F;
  if (isControl()) {
    if (op_ > WebSocketOp::Pong) return fail(badFrame("unknown operation"));
    if (!fin_ || left_ > kLongestControl)
      return fail(badFrame("a control frame in parts or too long"));
  } else {
    if (op_ > WebSocketOp::Binary) return fail(badFrame("unknown operation"));
    if ((op_ == WebSocketOp::Continuation) != message_.has_value())
      return fail(badFrame(message_ ? "a message within another" : "nothing to continue"));
    if (!message_) {
      message_ = op_;
      first_ = true;
    }
  }
  std::size_t at = 2;
  const int lengthBytes = left_ == 126 ? 2 : left_ == 127 ? 8 : 0;
  if (lengthBytes > 0) left_ = 0;
  for (int i = 0; i < lengthBytes; ++i) left_ = left_ << 8 | byteAt(head_, at++);
  if (left_ >> 63 != 0) return fail(badFrame("its length is negative"));
  for (int i = 0; masked_ && i < 4; ++i) mask_[i] = byteAt(head_, at++);
  maskAt_ = 0;
  control_.clear();
  inPayload_ = true;
  return {};
}

void WebSocketReader::readPayload(std::string_view& bytes, const OnPiece& onPiece) {
  std::string text(bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(text.size());
  left_ -= text.size();
  if (masked_)
    for (char& c : text) c = static_cast<char>(c ^ static_cast<char>(mask_[maskAt_++ % 4]));
  inPayload_ = left_ > 0;
  if (isControl()) {
    control_ += text;
    if (!inPayload_) onPiece({op_, true, true, control_});
    return;
  }
  const bool last = !inPayload_ && fin_;
  const WebSocketPiece piece{*message_, std::exchange(first_, false), last, text};
  if (last) message_.reset();
  // Parts without bytes say nothing, except at the ends of a message.
  if (!text.empty() || piece.first || piece.last) onPiece(piece);
}

Result<> WebSocketReader::feed(std::string_view bytes, const OnPiece& onPiece) {
  while (!bytes.empty() || (inPayload_ && left_ == 0)) {
    if (inPayload_) {
      readPayload(bytes, onPiece);
      continue;
    }
    head_ += bytes.front();
    bytes.remove_prefix(1);
    if (head_.size() < 2) continue;
    const unsigned length = byteAt(head_, 1) & 0x7F;
    // A frame of the other end's kind is refused at once.
    const bool wrong = ((byteAt(head_, 1) & 0x80) != 0) != masked_;
    const std::size_t size = wrong ? 2U
                                   : 2U +
                                         (length == 126   ? 2U
                                          : length == 127 ? 8U
                                                          : 0U) +
                                         (masked_ ? 4U : 0U);
    if (head_.size() < size) continue;
    auto read = readHead();
    head_.clear();
    if (!read) return read;
  }
  return {};
}

}  // namespace koord::net
