#pragma once

// Takes the messages of one direction of an HTTP/1.1 connection apart, as far as a relay has to: where a
// head ends, where a body ends, and what a body says without its chunks. All bytes are handed on as
// they came. The parser is Boost.Beast's: what two readers could understand differently (two lengths, a blank
// before a colon) is refused. Not thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord::runtimeproxy {

struct HttpHead {
  std::string text;    // all of it, with the empty line
  std::string method;  // of a request
  std::string target;  // likewise: "/v1.39/containers/create?name=x"
  int status = 0;      // of a response
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  std::string_view header(std::string_view name) const;  // "" when there is none
  // Whether the connection is over after this message.
  bool closes() const;
};

class HttpReader {
 public:
  enum class Role { Request, Response };
  struct Piece {
    enum class Kind { Head, Body, End };
    Kind kind = Kind::End;
    HttpHead head;
    std::string raw;      // of a body, as it came
    std::string content;  // the same without chunks
  };

  explicit HttpReader(Role role);
  HttpReader(HttpReader&&) noexcept;
  HttpReader& operator=(HttpReader&&) noexcept;
  ~HttpReader();

  void add(std::string_view bytes) { buffer_ += bytes; }
  // Before a response's head: what it answers.
  void answers(std::string_view method) { method_ = method; }

  // nullopt: more bytes are needed. Invalid: this is no HTTP.
  Result<std::optional<Piece>> next();
  // The body has no end but that of the connection (or there are no messages any more: status 101).
  bool untilClose() const { return state_ == State::UntilClose; }
  // What has been added and not been taken.
  std::size_t waiting() const { return buffer_.size(); }
  std::string takeRest() { return std::exchange(buffer_, {}); }

 private:
  class Message;  // the one that is being read
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
