#pragma once

// Splits one direction of an HTTP/1.1 connection into messages, for a relay: finds the end of heads
// and bodies, and decodes chunked bodies. All bytes are also passed on unchanged. The parser is
// Boost.Beast's: ambiguous input (two lengths, a blank before a colon) is refused. Not thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::runtimeproxy {

struct HttpHead {
  std::string text;    // the whole head, with the empty line
  std::string method;  // of a request
  std::string target;  // likewise: "/v1.39/containers/create?name=x"
  int status = 0;      // of a response
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  std::string_view header(std::string_view name) const;  // "" if there is none
  // Returns true if the connection ends after this message.
  bool closes() const;
};

class HttpReader {
 public:
  enum class Role { Request, Response };
  struct Piece {
    enum class Kind { Head, Body, End };
    Kind kind = Kind::End;
    HttpHead head;
    std::string raw;      // of a body, as received
    std::string content;  // the same without chunk framing
  };

  explicit HttpReader(Role role);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  void add(std::string_view bytes) { buffer_ += bytes; }
  // Call before a response's head, with the method of its request.
  void answers(std::string_view method) { method_ = method; }

  // nullopt: more bytes are needed. Invalid: this is not HTTP.
  Result<std::optional<Piece>> next();
  // True if the body ends only with the connection, or the connection was upgraded (status 101).
  bool untilClose() const { return state_ == State::UntilClose; }
  // The bytes that were added and not yet taken.
  std::size_t waiting() const { return buffer_.size(); }
  std::string takeRest() { return std::exchange(buffer_, {}); }

 private:
  class Message;  // the current message
  template <bool kRequest>
  class Parsed;
  enum class State { Head, Body, End, UntilClose };
  Result<std::optional<Piece>> head();
  Result<std::optional<Piece>> body();

  Role role_;
  State state_ = State::Head;
  std::string buffer_;
  std::string method_;
  std::unique_ptr<Message> message_;
};

}  // namespace koord::runtimeproxy
