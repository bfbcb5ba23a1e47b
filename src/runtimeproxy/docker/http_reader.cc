#include "runtimeproxy/docker/http_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace koord::runtimeproxy {
namespace {

constexpr std::size_t kMaxHead = 1 << 20;
constexpr std::size_t kMaxLine = 8 << 10;
constexpr std::size_t kLineEnd = 2;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class Number>
std::optional<Number> numberOf(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::unexpected<Error> noHttp(std::string_view what) {
  return fail(ErrorCode::Invalid, fmt::format("no HTTP/1.1: {}", what));
}

bool startLine(std::string_view line, HttpReader::Role role, HttpHead& head) {
  const auto first = line.find(' ');
  if (first == line.npos) return false;
  if (role == HttpReader::Role::Response) {
    const auto status = numberOf<int>(line.substr(first + 1, 3));
    if (!line.starts_with("HTTP/1.") || !status || *status < 100) return false;
    head.status = *status;
    return true;
  }
  const auto second = line.find(' ', first + 1);
  if (second == line.npos || !line.substr(second + 1).starts_with("HTTP/1.")) return false;
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, second - first - 1);
  return true;
}

}  // namespace

std::string_view HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool HttpHead::closes() const {
  return lowered(header("connection")).find("close") != std::string::npos;
}

Result<std::optional<HttpReader::Piece>> HttpReader::next() {
  switch (state_) {
    case State::Start:
      return head();
    case State::Length:
      if (buffer_.empty()) return std::optional<Piece>();
      return body(left_);
    case State::ChunkSize:
      return chunkSize();
    case State::ChunkData:
      if (buffer_.empty()) return std::optional<Piece>();
      return body(left_);
    case State::Trailer: {
      const auto text = line();
      if (!text && buffer_.size() > kMaxLine) return noHttp("a trailer without an end");
      if (!text) return std::optional<Piece>();
      if (*text == "\r\n") state_ = State::End;
      return Piece{Piece::Kind::Body, {}, *text, {}};
    }
    case State::UntilClose: {
      if (buffer_.empty()) return std::optional<Piece>();
      std::string all = takeRest();
      return Piece{Piece::Kind::Body, {}, all, all};
    }
    case State::End:
      break;
  }
  state_ = State::Start;
  return Piece{};
}

Result<std::optional<HttpReader::Piece>> HttpReader::head() {
  const auto end = buffer_.find(kHeadEnd);
  if (end == buffer_.npos) {
    if (buffer_.size() > kMaxHead) return noHttp("a head of more than a mebibyte");
    return std::optional<Piece>();
  }
  Piece piece{Piece::Kind::Head, {}, {}, {}};
  HttpHead& head = piece.head;
  head.text = buffer_.substr(0, end + kHeadEnd.size());
  buffer_.erase(0, head.text.size());
  std::string_view rest = std::string_view(head.text).substr(0, end + kLineEnd);
  for (bool first = true; !rest.empty(); first = false) {
    const auto length = rest.find("\r\n");
    const std::string_view text = rest.substr(0, length);
    rest.remove_prefix(length + kLineEnd);
    if (first) {
      if (!startLine(text, role_, head)) return noHttp(text.substr(0, 80));
      continue;
    }
    const auto colon = text.find(':');
    if (colon == text.npos) return noHttp(text.substr(0, 80));
    head.headers.emplace_back(lowered(text.substr(0, colon)), trimmed(text.substr(colon + 1)));
  }
  if (auto known = bodyFollows(head); !known) return fail(std::move(known.error()));
  return piece;
}

// Which state the head leads to.
Result<> HttpReader::bodyFollows(const HttpHead& head) {
  const bool response = role_ == Role::Response;
  if (response && head.status == 101) {
    state_ = State::UntilClose;
  } else if (response && head.status < 200) {
    state_ = State::Start;  // the answer proper follows
  } else if (response && (method_ == "HEAD" || head.status == 204 || head.status == 304)) {
    state_ = State::End;
  } else if (lowered(head.header("transfer-encoding")).ends_with("chunked")) {
    state_ = State::ChunkSize;
  } else if (const auto text = head.header("content-length"); !text.empty()) {
    const auto length = numberOf<std::size_t>(text);
    if (!length) return noHttp(fmt::format("Content-Length: {}", text));
    left_ = *length;
    state_ = left_ > 0 ? State::Length : State::End;
  } else {
    state_ = response ? State::UntilClose : State::End;
  }
  return {};
}

HttpReader::Piece HttpReader::body(std::size_t most) {
  Piece piece{Piece::Kind::Body, {}, buffer_.substr(0, most), {}};
  buffer_.erase(0, piece.raw.size());
  piece.content = piece.raw;
  left_ -= piece.raw.size();
  if (state_ == State::ChunkData) {
    // The line end after the chunk is no content; it may come in two pieces.
    const std::size_t kept = left_ < kLineEnd
                                 ? piece.raw.size() - std::min(piece.raw.size(), kLineEnd - left_)
                                 : piece.raw.size();
    piece.content.resize(kept);
    if (left_ == 0) state_ = State::ChunkSize;
  } else if (left_ == 0) {
    state_ = State::End;
  }
  return piece;
}

std::optional<std::string> HttpReader::line() {
  const auto end = buffer_.find("\r\n");
  if (end == buffer_.npos) return std::nullopt;
  std::string text = buffer_.substr(0, end + kLineEnd);
  buffer_.erase(0, text.size());
  return text;
}

Result<std::optional<HttpReader::Piece>> HttpReader::chunkSize() {
  const auto text = line();
  if (!text && buffer_.size() > kMaxLine) return noHttp("a chunk without a size");
  if (!text) return std::optional<Piece>();
  const std::string_view digits = std::string_view(*text).substr(0, text->find_first_of(";\r \t"));
  const auto size = numberOf<std::size_t>(digits, 16);
  if (!size || *size > (std::size_t{1} << 48)) return noHttp("chunk size " + text->substr(0, 40));
  left_ = *size + kLineEnd;
  state_ = *size > 0 ? State::ChunkData : State::Trailer;
  return Piece{Piece::Kind::Body, {}, *text, {}};
}

}  // namespace koord::runtimeproxy
