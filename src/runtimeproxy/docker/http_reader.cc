#include "runtimeproxy/docker/http_reader.h"

#include <fmt/format.h>

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>

#include "base/ascii.h"

namespace koord::runtimeproxy {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::uint32_t kMaxHead = 1 << 20;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

}  // namespace

class HttpReader::Message {
 public:
  virtual ~Message() = default;
  // Parses as many bytes as it can: a head, or a part of a body. Returns their number.
  virtual std::size_t put(std::string_view bytes, error_code& error) = 0;
  virtual bool headDone() const = 0;
  virtual bool done() const = 0;
  virtual bool untilClose() const = 0;

  HttpHead head;
  std::string content;  // of the body, since it was last taken
};

template <bool kRequest>
class HttpReader::Parsed final : public Message, private http::basic_parser<kRequest> {
  using Base = http::basic_parser<kRequest>;

 public:
  explicit Parsed(bool withoutBody) {
    Base::header_limit(kMaxHead);
    Base::body_limit(boost::none);
    Base::skip(withoutBody);
  }
  std::size_t put(std::string_view bytes, error_code& error) override {
    return Base::put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  }
  bool headDone() const override { return Base::is_header_done(); }
  bool done() const override { return Base::is_done(); }
  bool untilClose() const override { return Base::need_eof(); }

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int,
                       error_code&) override {
    head.method = method;
    head.target = target;
  }
  void on_response_impl(int code, string_view, int, error_code&) override { head.status = code; }
  void on_field_impl(http::field, string_view name, string_view value, error_code&) override {
    if (!trailer_) head.headers.emplace_back(lowered(std::string_view(name)), value);
  }
  void on_header_impl(error_code&) override { trailer_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return take(body); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    return take(body);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view body) {
    content.append(body.data(), body.size());
    return body.size();
  }

  bool trailer_ = false;
};

std::string_view HttpHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool HttpHead::closes() const {
  return lowered(header("connection")).find("close") != std::string::npos;
}

HttpReader::HttpReader(Role role) : role_(role) {}
HttpReader::HttpReader(HttpReader&&) noexcept = default;
HttpReader& HttpReader::operator=(HttpReader&&) noexcept = default;
HttpReader::~HttpReader() = default;

Result<std::optional<HttpReader::Piece>> HttpReader::next() {
  switch (state_) {
    case State::Head:
      return head();
    case State::Body:
      return body();
    case State::End:
      break;
    case State::UntilClose: {
      if (buffer_.empty()) return std::optional<Piece>();
      std::string all = takeRest();
      return Piece{Piece::Kind::Body, {}, all, all};
    }
  }
  state_ = State::Head;
  return Piece{};
}

namespace {

// Returns true if the parser only needs more bytes.
bool lacksBytes(const error_code& error) {
  return error == http::error::need_more;
}

std::unexpected<Error> noHttp(const error_code& error) {
  return fail(ErrorCode::Invalid, fmt::format("not HTTP/1.1: {}", error.message()));
}

}  // namespace

Result<std::optional<HttpReader::Piece>> HttpReader::head() {
  // Beast skips empty lines before a message, depending on how the bytes are split. Go refuses
  // them.
  if (buffer_.starts_with('\r') || buffer_.starts_with('\n'))
    return fail(ErrorCode::Invalid, "not HTTP/1.1: an empty line before a message");
  // The parser gets the whole head and nothing else, so that the result does not depend on how the
  // bytes are split.
  const auto end = buffer_.find(kHeadEnd);
  if (end == buffer_.npos) {
    if (buffer_.size() > kMaxHead)
      return fail(ErrorCode::Invalid, "not HTTP/1.1: a header of more than 1 MiB");
    return std::optional<Piece>();
  }
  const bool response = role_ == Role::Response;
  if (response) {
    message_ = std::make_unique<Parsed<false>>(method_ == "HEAD");
  } else {
    message_ = std::make_unique<Parsed<true>>(false);
  }
  HttpHead& head = message_->head;
  std::string_view rest = std::string_view(buffer_).substr(0, end + kHeadEnd.size());
  while (!message_->headDone()) {
    error_code error;
    const std::size_t taken = message_->put(rest, error);
    head.text += rest.substr(0, taken);
    rest.remove_prefix(taken);
    if (error && !(lacksBytes(error) && message_->headDone())) return noHttp(error);
  }
  buffer_.erase(0, head.text.size());
  Piece piece{Piece::Kind::Head, std::move(head), {}, {}};
  if (piece.head.status == 101 || (!message_->done() && message_->untilClose())) {
    state_ = State::UntilClose;
  } else if (response && piece.head.status < 200) {
    state_ = State::Head;  // the final answer follows
  } else {
    state_ = message_->done() ? State::End : State::Body;
  }
  if (state_ != State::Body) message_.reset();
  return piece;
}

Result<std::optional<HttpReader::Piece>> HttpReader::body() {
  if (buffer_.empty()) return std::optional<Piece>();
  error_code error;
  const std::size_t taken = message_->put(buffer_, error);
  if (error && !lacksBytes(error)) return noHttp(error);
  if (taken == 0 && buffer_.size() > kMaxHead)
    return fail(ErrorCode::Invalid, "not HTTP/1.1: a chunk size or trailer without an end");
  Piece piece{
      Piece::Kind::Body, {}, buffer_.substr(0, taken), std::exchange(message_->content, {})};
  buffer_.erase(0, taken);
  if (message_->done()) {
    state_ = State::End;
    message_.reset();
  } else if (taken == 0) {
    return std::optional<Piece>();
  }
  return piece;
}

}  // namespace koord::runtimeproxy
