#include "runtimeproxy/docker/http_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::runtimeproxy {
namespace {

using Role = HttpReader::Role;
using Kind = HttpReader::Piece::Kind;

// The result of reading the bytes in pieces of this size: "METHOD TARGET|content|." for each
// message, and the raw bytes separately. An error's message ends it.
struct Taken {
  std::string messages;
  std::string raw;
};
Taken readAll(Role role, std::string_view bytes, std::size_t size, std::string_view answered) {
  HttpReader reader(role);
  reader.answers(answered);
  Taken taken;
  while (true) {
    const auto piece = reader.next();
    if (!piece) {
      taken.messages += piece.error().message;
      return taken;
    }
    if (!*piece) {
      if (bytes.empty()) return taken;
      reader.add(bytes.substr(0, size));
      bytes.remove_prefix(std::min(size, bytes.size()));
      continue;
    }
    const HttpReader::Piece& got = **piece;
    if (got.kind == Kind::Head) {
      taken.raw += got.head.text;
      taken.messages += role == Role::Request ? got.head.method + " " + got.head.target + "|"
                                              : std::to_string(got.head.status) + "|";
    }
    if (got.kind == Kind::Body) taken.raw += got.raw;
    taken.messages += got.content;
    if (got.kind == Kind::End) taken.messages += "|.";
  }
}

TEST(HttpReader, messages_are_the_same_however_their_bytes_come) {
  struct Row {
    Role role;
    const char* bytes;
    const char* messages;
    const char* answered = "GET";
  };
  for (const Row& row : {
           Row{Role::Request, "GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.0\r\n\r\n",
               "GET /a||.GET /b||."},
           Row{Role::Request,
               "POST /c HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.1\r\n\r\n",
               "POST /c|abc|.GET /d||."},
           Row{Role::Request,
               "POST /e HTTP/1.1\r\nTransfer-Encoding: "
               "chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n"
               "Trailer: t\r\n\r\nGET /f HTTP/1.1\r\n\r\n",
               "POST /e|abcde|.GET /f||."},
           Row{Role::Response,
               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 204 No\r\n\r\n",
               "200|ok|.204||."},
           Row{Role::Response, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "200||.", "HEAD"},
           Row{Role::Response, "HTTP/1.1 304 Same\r\nContent-Length: 2\r\n\r\n", "304||."},
           Row{Role::Response,
               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n",
               "100|201||."},
           Row{Role::Response, "HTTP/1.1 200 OK\r\n\r\nuntil the end", "200|until the end"},
           Row{Role::Response, "HTTP/1.1 101 Up\r\nUpgrade: tcp\r\n\r\nany\r\n\r\nbytes",
               "101|any\r\n\r\nbytes"},
       }) {
    for (const std::size_t size : {1u, 2u, 7u, 10'000u}) {
      const Taken taken = readAll(row.role, row.bytes, size, row.answered);
      EXPECT_EQ(taken.messages, row.messages) << size;
      EXPECT_EQ(taken.raw, row.bytes) << "all bytes are handed on as they came";
    }
  }
}

TEST(HttpReader, what_two_readers_could_understand_differently_is_refused) {
  const std::string head = "POST / HTTP/1.1\r\n";
  for (const std::string& odd : {
           head + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
           head + "Content-Length : 3\r\n\r\nabc",
           head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           head + "Content-Length: -1\r\n\r\n",
           head + "Content-Length: 99999999999999999999\r\n\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
           head + "no colon\r\n\r\n",
           head + "a: b\nc: d\r\n\r\n",
           std::string("POST  / HTTP/1.1\r\n\r\n"),
           std::string("POST / HTTP/2.0\r\n\r\n"),
           "\r\n" + head + "\r\n",
           head + "a: " + std::string(1 << 20, 'x') + "\r\n\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\n3;" + std::string(2 << 20, 'x'),
       }) {
    for (const std::size_t size : {1000u, 10'000'000u})
      EXPECT_THAT(readAll(Role::Request, odd, size, "").messages,
                  ::testing::HasSubstr("not HTTP/1.1: "))
          << odd.substr(0, 80);
  }
}

}  // namespace
}  // namespace koord::runtimeproxy
