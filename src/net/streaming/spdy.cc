#include "net/streaming/spdy.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <stdexcept>

#include "base/ascii.h"
#include "net/streaming/spdy_dictionary.h"

namespace koord::net {

namespace {

constexpr std::size_t kMaxControl = 64 << 10;
constexpr std::size_t kMaxHeaders = 256 << 10;  // decompressed
constexpr std::size_t kMaxStreams = 4'096;
constexpr std::size_t kMaxData = 0xFFFFFF;
constexpr int kFin = 1;
enum Type { kSynStream = 1, kSynReply = 2, kRstStream = 3, kPing = 6, kGoAway = 7, kHeaders = 8 };

std::uint32_t number(std::string_view text, std::size_t at, int bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint8_t>(text[at++]);
  return value;
}

void add(std::string& out, std::uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

Error broken(std::string what) {
  return {ErrorCode::Invalid, "not a valid SPDY/3.1 frame: " + std::move(what), {}};
}

Bytef* bytesOf(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

std::string_view spdyHeader(const SpdyHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

// The compression of all header blocks of one direction is one stream.
struct SpdySession::Zlib {
  z_stream in{};
  z_stream out{};

  Zlib() {
    const auto& dictionary = spdyDictionary();
    if (::inflateInit(&in) != Z_OK || ::deflateInit(&out, Z_BEST_SPEED) != Z_OK ||
        ::deflateSetDictionary(&out, bytesOf(dictionary), static_cast<uInt>(dictionary.size())) !=
            Z_OK)
      throw std::runtime_error("zlib cannot be used");
  }
  ~Zlib() {
    ::inflateEnd(&in);
    ::deflateEnd(&out);
  }

  Result<std::string> inflate(std::string_view block) {
    const auto& dictionary = spdyDictionary();
    std::string text;
    char buffer[8 << 10];
    in.next_in = bytesOf(block);
    in.avail_in = static_cast<uInt>(block.size());
    for (;;) {
      in.next_out = reinterpret_cast<Bytef*>(buffer);
      in.avail_out = sizeof buffer;
      int status = ::inflate(&in, Z_SYNC_FLUSH);
      if (status == Z_NEED_DICT) {
        status =
            ::inflateSetDictionary(&in, bytesOf(dictionary), static_cast<uInt>(dictionary.size()));
        if (status == Z_OK) continue;
      }
      text.append(buffer, sizeof buffer - in.avail_out);
      if (text.size() > kMaxHeaders) return fail(broken("its headers are too long"));
      if (status == Z_BUF_ERROR) return text;  // all of it is read
      if (status != Z_OK) return fail(broken("its headers cannot be decompressed"));
      if (in.avail_in == 0 && in.avail_out > 0) return text;
    }
  }

  std::string deflate(std::string_view text) {
    std::string block;
    char buffer[4 << 10];
    out.next_in = bytesOf(text);
    out.avail_in = static_cast<uInt>(text.size());
    do {
      out.next_out = reinterpret_cast<Bytef*>(buffer);
      out.avail_out = sizeof buffer;
      ::deflate(&out, Z_SYNC_FLUSH);
      block.append(buffer, sizeof buffer - out.avail_out);
    } while (out.avail_out == 0);
    return block;
  }
};

SpdySession::SpdySession(bool client, Events events)
    : client_(client),
      events_(std::move(events)),
      zlib_(std::make_unique<Zlib>()),
      next_(client ? 1 : 2) {}

SpdySession::~SpdySession() = default;

Result<> SpdySession::feed(std::string_view bytes) {
  while (!bytes.empty() || (inFrame_ && left_ == 0)) {
    if (!inFrame_) {
      const auto part = bytes.substr(0, 8 - head_.size());
      head_ += part;
      bytes.remove_prefix(part.size());
      if (head_.size() < 8) return {};
      if (auto read = readHead(); !read) return read;
      head_.clear();
    } else if (!isControl_) {
      readData(bytes);
    } else {
      const auto part = bytes.substr(0, left_);
      body_ += part;
      bytes.remove_prefix(part.size());
      left_ -= part.size();
      if (left_ > 0) return {};
      inFrame_ = false;
      auto read = readControl();
      body_.clear();
      if (!read) return read;
    }
  }
  return {};
}

Result<> SpdySession::readHead() {
  const std::uint32_t first = number(head_, 0, 4);
  isControl_ = first >> 31 != 0;
  flags_ = static_cast<int>(number(head_, 4, 1));
  left_ = number(head_, 5, 3);
  type_ = isControl_ ? first & 0xFFFF : first;
  if (isControl_ && (first >> 16 & 0x7FFF) != 3) return fail(broken("another version"));
  if (isControl_ && left_ > kMaxControl) return fail(broken("it is too long"));
  inFrame_ = true;
  return {};
}

void SpdySession::readData(std::string_view& bytes) {
  const auto part = bytes.substr(0, left_);
  bytes.remove_prefix(part.size());
  left_ -= part.size();
  inFrame_ = left_ > 0;
  const std::uint32_t stream = type_;
  const bool fin = !inFrame_ && (flags_ & kFin) != 0;
  const auto found = streams_.find(stream);
  // Data of a stream that this end has reset may still be on its way.
  if (found == streams_.end() || !found->second.there) return;
  if (!part.empty() || fin) events_.onData(stream, part, fin);
  if (fin) ended(stream, false);
}

Result<> SpdySession::readControl() {
  const std::string body = std::move(body_);
  const auto stream = [&] { return number(body, 0, 4) & 0x7FFFFFFF; };
  const auto has = [&](std::size_t size) { return body.size() >= size; };
  switch (type_) {
    case kSynStream:
      return readSynStream(body);
    case kSynReply:
    case kHeaders: {
      if (!has(4)) return fail(broken("it is too short"));
      // The block must be read, since it belongs to the compression of all.
      auto headers = readHeaders(std::string_view(body).substr(4));
      if (!headers) return fail(std::move(headers.error()));
      if ((flags_ & kFin) != 0 && streams_.contains(stream())) {
        events_.onData(stream(), {}, true);
        ended(stream(), false);
      }
      return {};
    }
    case kRstStream:
      if (!has(8)) return fail(broken("it is too short"));
      if (streams_.erase(stream()) > 0) events_.onReset(stream());
      return {};
    case kPing:
      if (!has(4)) return fail(broken("it is too short"));
      // Answers come back with the number of this end, which sends no pings.
      if ((number(body, 0, 4) % 2 == 0) == client_) control(kPing, 0, body.substr(0, 4));
      return {};
    case kGoAway:
      events_.onGoAway();
      return {};
    default:
      return {};  // settings, windows and what is unknown
  }
}

Result<> SpdySession::readSynStream(std::string_view body) {
  if (body.size() < 10) return fail(broken("it is too short"));
  const std::uint32_t stream = number(body, 0, 4) & 0x7FFFFFFF;
  auto headers = readHeaders(body.substr(10));
  if (!headers) return fail(std::move(headers.error()));
  if ((stream % 2 == 1) == client_ || stream <= lastTheirs_)
    return fail(broken(fmt::format("stream {} cannot be opened", stream)));
  lastTheirs_ = stream;
  if (streams_.size() >= kMaxStreams) {
    reset(stream, kSpdyRefusedStream);
    return {};
  }
  const bool fin = (flags_ & kFin) != 0;
  streams_[stream] = {true, !fin};
  events_.onStream(stream, *headers, fin);
  return {};
}

Result<SpdyHeaders> SpdySession::readHeaders(std::string_view block) {
  auto text = zlib_->inflate(block);
  if (!text) return fail(std::move(text.error()));
  std::string_view rest = *text;
  const auto take = [&](std::string_view& into) {
    if (rest.size() < 4) return false;
    const std::size_t size = number(rest, 0, 4);
    if (rest.size() - 4 < size) return false;
    into = rest.substr(4, size);
    rest.remove_prefix(4 + size);
    return true;
  };
  if (rest.size() < 4) return fail(broken("its headers are incomplete"));
  const std::uint32_t count = number(rest, 0, 4);
  rest.remove_prefix(4);
  SpdyHeaders headers;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string_view name;
    std::string_view value;
    if (!take(name) || !take(value)) return fail(broken("its headers are incomplete"));
    headers.emplace_back(lowered(name), value);
  }
  return headers;
}

std::string SpdySession::headerBlock(const SpdyHeaders& headers) {
  std::string text;
  add(text, static_cast<std::uint32_t>(headers.size()), 4);
  for (const auto& [name, value] : headers) {
    for (const auto* part : {&name, &value}) {
      add(text, static_cast<std::uint32_t>(part->size()), 4);
      text += *part;
    }
  }
  return zlib_->deflate(text);
}

void SpdySession::control(int type, int flags, std::string_view body) {
  std::string frame;
  add(frame, 0x80030000U | static_cast<std::uint32_t>(type), 4);
  add(frame, static_cast<std::uint32_t>(flags), 1);
  add(frame, static_cast<std::uint32_t>(body.size()), 3);
  events_.send(frame.append(body));
}

std::uint32_t SpdySession::open(const SpdyHeaders& headers, bool fin) {
  const std::uint32_t stream = std::exchange(next_, next_ + 2);
  streams_[stream] = {!fin, true};
  std::string body;
  add(body, stream, 4);
  body.append(6, '\0');  // no associated stream, the highest priority
  control(kSynStream, fin ? kFin : 0, body + headerBlock(headers));
  return stream;
}

void SpdySession::accept(std::uint32_t stream) {
  std::string body;
  add(body, stream, 4);
  control(kSynReply, 0, body + headerBlock({}));
}

void SpdySession::reset(std::uint32_t stream, std::uint32_t status) {
  streams_.erase(stream);
  std::string body;
  add(body, stream, 4);
  add(body, status, 4);
  control(kRstStream, 0, body);
}

void SpdySession::write(std::uint32_t stream, std::string_view bytes, bool fin) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !found->second.here) return;
  do {
    const auto part = bytes.substr(0, kMaxData);
    bytes.remove_prefix(part.size());
    std::string frame;
    frame.reserve(part.size() + 8);
    add(frame, stream, 4);
    add(frame, fin && bytes.empty() ? kFin : 0, 1);
    add(frame, static_cast<std::uint32_t>(part.size()), 3);
    events_.send(frame.append(part));
  } while (!bytes.empty());
  if (fin) ended(stream, true);
}

void SpdySession::goAway() {
  std::string body;
  add(body, lastTheirs_, 4);
  add(body, 0, 4);
  control(kGoAway, 0, body);
}

void SpdySession::ended(std::uint32_t stream, bool here) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  (here ? found->second.here : found->second.there) = false;
  if (!found->second.here && !found->second.there) streams_.erase(found);
}

}  // namespace koord::net
