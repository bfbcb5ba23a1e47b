#include "runtimeproxy/docker/http_reader.h"

#include <gmock/gmock.h>

namespace koord::runtimeproxy {
namespace {

using Kind = HttpReader::Piece::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::vector<std::string> heads;
  std::vector<std::string> contents;  // of whole messages
  std::string raw;                    // all of it
  std::string error;
};

// However the bytes come.
Read readAll(HttpReader::Role role, const std::string& bytes, std::size_t step,
             std::string_view method = "GET") {
  HttpReader reader(role);
  reader.answers(method);
  Read read;
  std::string content;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.add(std::string_view(bytes).substr(at, step));
    for (;;) {
      auto next = reader.next();
      if (!next) {
        read.error = next.error().message;
        return read;
      }
      if (!*next) break;
      auto& piece = **next;
      if (piece.kind == Kind::Head) {
        const auto& head = piece.head;
        read.heads.push_back(role == HttpReader::Role::Request ? head.method + " " + head.target
                                                               : std::to_string(head.status));
        read.raw += head.text;
      } else if (piece.kind == Kind::Body) {
        read.raw += piece.raw;
        content += piece.content;
      } else {
        read.contents.push_back(std::exchange(content, {}));
      }
    }
  }
  if (reader.untilClose()) read.contents.push_back(content);
  return read;
}

TEST(HttpReaderTest, MessagesEndWhereTheySayInWhateverPiecesTheyCome) {
  const std::string requests =
      "GET /_ping HTTP/1.1\r\nHost: docker\r\n\r\n"
      "POST /containers/create?name=x HTTP/1.1\r\ncontent-length:  5 \r\n\r\nhello"
      "POST /images/load HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: x\r\n\r\n"
      "POST /build HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
  for (std::size_t step : {1, 2, 3, 7, 1000}) {
    const auto read = readAll(HttpReader::Role::Request, requests, step);
    EXPECT_THAT(read.heads, ElementsAre("GET /_ping", "POST /containers/create?name=x",
                                        "POST /images/load", "POST /build"));
    EXPECT_THAT(read.contents, ElementsAre("", "hello", "abc0123456789abcdef", ""));
    EXPECT_EQ(read.raw, requests);
  }
}

TEST(HttpReaderTest, AnswersWithoutBodiesHaveNone) {
  const auto codes = [](const std::string& bytes, std::string_view method) {
    const auto read = readAll(HttpReader::Role::Response, bytes, 1000, method);
    EXPECT_EQ(read.error, "");
    return read.heads;
  };
  const std::string next = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  EXPECT_THAT(codes("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + next, "HEAD"),
              ElementsAre("200", "200"));
  EXPECT_THAT(codes("HTTP/1.1 204 No Content\r\n\r\n" + next, "POST"), ElementsAre("204", "200"));
  EXPECT_THAT(codes("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" + next, "POST"),
              ElementsAre("304", "200"));
  EXPECT_THAT(codes("HTTP/1.1 100 Continue\r\n\r\n" + next, "POST"), ElementsAre("100", "200"));
}

TEST(HttpReaderTest, AStreamGoesOnUntilTheConnectionEnds) {
  for (const char* head :
       {"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"}) {
    const auto read =
        readAll(HttpReader::Role::Response, std::string(head) + "HTTP/1.1 x\r\n\r\n", 5);
    EXPECT_THAT(read.contents, ElementsAre("HTTP/1.1 x\r\n\r\n"));
  }
}

TEST(HttpReaderTest, WhatIsNoHttpIsAnError) {
  for (const char* bytes :
       {"PRI * HTTP/2.0\r\n\r\n", "hello\r\n\r\n", "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\nnonsense\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"}) {
    EXPECT_THAT(readAll(HttpReader::Role::Request, bytes, 1000).error, HasSubstr("no HTTP/1.1"))
        << bytes;
  }
  EXPECT_THAT(
      readAll(HttpReader::Role::Request, "GET /" + std::string(2 << 20, 'x'), 1 << 16).error,
      HasSubstr("mebibyte"));
}

}  // namespace
}  // namespace koord::runtimeproxy
