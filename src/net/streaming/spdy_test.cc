#include "net/streaming/spdy.h"

#include <gtest/gtest.h>

#include <optional>

namespace koord::net {
namespace {

// One end, whose bytes wait in `sent` until the test moves them.
struct End {
  explicit End(bool client) : session(client, events()) {}
  SpdySession::Events events() {
    return {[this](std::string bytes) { sent += bytes; },
            [this](std::uint32_t stream, const SpdyHeaders& headers, bool fin) {
              said += "open " + std::to_string(stream) + " " +
                      std::string(spdyHeader(headers, "streamtype")) + (fin ? " fin\n" : "\n");
              session.accept(stream);
            },
            [this](std::uint32_t stream, std::string_view bytes, bool fin) {
              said += std::to_string(stream) + " " + std::string(bytes) + (fin ? " fin\n" : "\n");
            },
            [this](std::uint32_t stream) { said += "reset " + std::to_string(stream) + "\n"; },
            [this] { said += "away\n"; }};
  }
  std::string sent;
  std::string said;
  SpdySession session;
};

Result<> move(End& from, End& to, std::size_t step = 1 << 20) {
  const std::string bytes = std::exchange(from.sent, {});
  for (std::size_t at = 0; at < bytes.size(); at += step)
    if (auto fed = to.session.feed(std::string_view(bytes).substr(at, step)); !fed) return fed;
  return {};
}

TEST(Spdy, StreamsCarryDataBothWays) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{1000}}) {
    End client(true);
    End server(false);
    const auto first = client.session.open({{"StreamType", "error"}}, true);
    const auto second = client.session.open({{"streamType", "data"}, {"port", "80"}});
    client.session.write(second, "hello");
    client.session.write(second, "", true);
    ASSERT_TRUE(move(client, server, step));
    std::string heard = server.said;
    std::erase(heard, '\n');
    EXPECT_NE(server.said.find("open 1 error fin\n"), std::string::npos);
    EXPECT_NE(server.said.find("open 3 data\n"), std::string::npos);
    EXPECT_NE(server.said.find(" fin\n"), std::string::npos);
    server.session.write(second, "answer", true);
    server.session.write(first, "", true);
    ASSERT_TRUE(move(server, client, 1000));
    EXPECT_EQ(client.said, "3 answer fin\n1  fin\n");
    EXPECT_EQ(server.session.streams(), 0U);
    EXPECT_EQ(client.session.streams(), 0U);
  }
}

TEST(Spdy, PingsAreAnsweredAndResetsReported) {
  End client(true);
  End server(false);
  const auto stream = client.session.open({{"streamtype", "stdin"}});
  client.sent += std::string("\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", 12);
  client.session.reset(stream, kSpdyCancel);
  client.session.goAway();
  ASSERT_TRUE(move(client, server));
  EXPECT_EQ(server.said, "open 1 stdin\nreset 1\naway\n");
  EXPECT_NE(server.sent.find(std::string("\x80\x03\x00\x06", 4)), std::string::npos);
}

TEST(Spdy, GarbageIsRefused) {
  using namespace std::string_literals;
  for (const auto& bytes :
       {"GET / HTTP/1.1\r\nHost: x\r\n"s,
        "\x80\x03\x00\x01\x00\x00\x00\x0c"s + std::string(12, '\xff'),
        "\x80\x03\x00\x01\x00\xff\xff\xff"s, "\x80\x03\x00\x03\x00\x00\x00\x01x"s,
        "\x80\x02\x00\x01\x00\x00\x00\x0c"s}) {
    End server(false);
    server.sent.clear();
    const auto fed = server.session.feed(bytes);
    if (bytes[0] == 'G') continue;  // reads as data of an unknown stream
    EXPECT_FALSE(fed);
  }
}

}  // namespace
}  // namespace koord::net
