#include "cluster/streaming/remote_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/virtual_loop.h"
#include "net/fake_responder.h"
#include "net/streaming/spdy.h"
#include "net/streaming/websocket.h"

namespace koord::cluster {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Op = net::WebSocketOp;

// Echoes its input until that ends, then exits with 3.
class EchoCommand final : public StreamedCommand {
 public:
  explicit EchoCommand(Executor& executor) : out_(executor), err_(executor), end_(executor) {}
  Task<std::optional<std::string>> readOut() override { return out_.next(); }
  Task<std::optional<std::string>> readErr() override { return err_.next(); }
  Task<bool> write(std::string bytes) override {
    out_.push(bytes);
    co_return true;
  }
  void closeInput() override {
    err_.push("over");
    out_.end();
    err_.end();
    end_.end();
  }
  void resize(TerminalSize size) override { sizes.push_back(size.columns * 1000 + size.rows); }
  Task<Result<int>> ended() override {
    auto waiting = end_.next();
    co_await waiting;
    co_return 3;
  }
  void hangUp() override { hungUp = true; }

  std::vector<int> sizes;
  bool hungUp = false;

 private:
  ByteQueue out_;
  ByteQueue err_;
  ByteQueue end_;
};

Task<void> serve(Executor* executor, std::shared_ptr<CommandConnection> client,
                 std::shared_ptr<StreamedCommand> command) {
  auto opening = client->ready();
  if (!co_await opening) co_return;
  auto serving = serveCommand(executor, client, command);
  co_await serving;
}

class RemoteCommandTest : public testing::Test {
 protected:
  std::shared_ptr<CommandConnection> accept(net::Headers headers, CommandStreams streams) {
    headers.push_back({"Connection", "Upgrade"});
    request.headers = std::move(headers);
    auto client = CommandConnection::accept(loop, request, responder, streams);
    if (client) tasks.spawn(serve(&loop, client, command));
    loop.advance(std::chrono::milliseconds(50));
    return client;
  }
  std::shared_ptr<CommandConnection> webSocket(const std::string& protocol,
                                               CommandStreams streams = {true, true, true, false}) {
    return accept({{"Upgrade", "websocket"},
                   {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
                   {"Sec-WebSocket-Version", "13"},
                   {"Sec-WebSocket-Protocol", protocol}},
                  streams);
  }
  void send(Op op, std::string_view payload) {
    responder->input(net::webSocketFrame(op, payload, 7));
    loop.advance(std::chrono::milliseconds(50));
  }
  // The messages since the last call.
  std::vector<std::string> messages() {
    std::vector<std::string> found;
    net::WebSocketReader reader(false);
    EXPECT_TRUE(reader.feed(std::exchange(responder->body, {}), [&](const auto& piece) {
      found.push_back(piece.op == Op::Close ? "close" : std::string(piece.bytes));
    }));
    return found;
  }

  VirtualLoop loop;
  std::shared_ptr<net::FakeResponder> responder = std::make_shared<net::FakeResponder>();
  std::shared_ptr<EchoCommand> command = std::make_shared<EchoCommand>(loop);
  net::ServerRequest request;
  TaskGroup tasks;
};

TEST_F(RemoteCommandTest, TheNewestWebSocketCanEndItsInputAndGetsAStatus) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io, v4.channel.k8s.io"));
  EXPECT_EQ(responder->status, 101);
  EXPECT_EQ(net::headerOf(responder->headers, "Sec-WebSocket-Protocol"), "v5.channel.k8s.io");
  EXPECT_THAT(messages(), ElementsAre("\x01"s));
  send(Op::Binary, "\0hello"s);
  EXPECT_THAT(messages(), ElementsAre("\x01hello"s));
  EXPECT_EQ(responder->taken, net::webSocketFrame(Op::Binary, "\0hello"s, 7).size());
  send(Op::Binary, "\xff\0"s);
  EXPECT_THAT(messages(),
              ElementsAre("\x02over"s, HasSubstr(R"("reason":"ExitCode","message":"3")"), "close"));
  EXPECT_TRUE(responder->ended);
  EXPECT_EQ(tasks.size(), 0U);
}

TEST_F(RemoteCommandTest, Base64AndOldWebSocketsGetTexts) {
  ASSERT_TRUE(webSocket("base64.channel.k8s.io"));
  messages();
  send(Op::Text, "0" + base64Encode("words"));
  EXPECT_THAT(messages(), ElementsAre("1" + base64Encode("words")));
  command->closeInput();
  loop.advance(std::chrono::milliseconds(50));
  const auto last = messages();
  ASSERT_EQ(last.size(), 3U);
  EXPECT_EQ(base64Decode(last[1].substr(1)).value(),
            "command terminated with non-zero exit code: 3");
}

TEST_F(RemoteCommandTest, Base64InSmallPiecesIsConsumedOnce) {
  ASSERT_TRUE(webSocket("base64.channel.k8s.io"));
  const auto frame = net::webSocketFrame(Op::Text, "0" + base64Encode("some words"), 7);
  for (const char c : frame) responder->input(std::string(1, c));
  loop.advance(std::chrono::milliseconds(50));
  EXPECT_EQ(responder->taken, frame.size());
}

TEST_F(RemoteCommandTest, InputAfterItsEndIsConsumed) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io"));
  responder->queued = 2 << 20;  // the connection stays
  send(Op::Binary, "\0one"s);
  send(Op::Binary, "\xff\0"s);
  send(Op::Binary, "\0two"s);
  const auto size = [](std::string_view payload) {
    return net::webSocketFrame(Op::Binary, payload, 7).size();
  };
  EXPECT_EQ(responder->taken, size("\0one"s) + size("\xff\0"s) + size("\0two"s));
}

TEST_F(RemoteCommandTest, ATerminalHasSizesAndOneOutput) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io", {true, true, false, true}));
  send(Op::Binary, "\x04{\"Width\":120,\"Height\":40}"s);
  send(Op::Binary, "\x04 nonsense"s);
  send(Op::Binary, "\x04{\"Width\":-1,\"Height\":99999999999}"s);
  EXPECT_THAT(command->sizes, ElementsAre(120'040));
}

TEST_F(RemoteCommandTest, AClientThatVanishesHangsUp) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io"));
  responder->closed();
  loop.advance(std::chrono::milliseconds(50));
  EXPECT_TRUE(command->hungUp);
  EXPECT_EQ(tasks.size(), 0U);
}

TEST_F(RemoteCommandTest, PingsOfAClientThatDoesNotReadAreNotCollected) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io"));
  messages();
  send(Op::Ping, "one");
  EXPECT_THAT(messages(), ElementsAre("one"));
  responder->queued = 2 << 20;
  send(Op::Ping, "two");
  EXPECT_THAT(messages(), ElementsAre());
}

TEST_F(RemoteCommandTest, GarbageEndsTheConnection) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io"));
  responder->input("\x82\x01x");  // not masked
  loop.advance(std::chrono::milliseconds(50));
  EXPECT_TRUE(responder->ended);
  EXPECT_TRUE(command->hungUp);
}

TEST_F(RemoteCommandTest, UnknownProtocolsAreRefusedBeforeTheUpgrade) {
  EXPECT_FALSE(webSocket("v9.channel.k8s.io"));
  EXPECT_EQ(responder->status, 403);
  EXPECT_THAT(responder->body, HasSubstr("server accepts v5.channel.k8s.io"));
  EXPECT_FALSE(accept({{"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}},
                      {true, true, true, false}));
  EXPECT_EQ(responder->status, 400);
  EXPECT_FALSE(accept({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v1"}},
                      {true, true, true, false}));
  EXPECT_EQ(responder->status, 403);
  EXPECT_FALSE(accept({{"Upgrade", "other"}, {"X-Stream-Protocol-Version", "v4.channel.k8s.io"}},
                      {true, true, true, false}));
  EXPECT_EQ(responder->status, 400);
}

TEST_F(RemoteCommandTest, SpdyHasAStreamForEachChannel) {
  ASSERT_TRUE(accept({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v4.channel.k8s.io"}},
                     {true, true, true, false}));
  EXPECT_EQ(net::headerOf(responder->headers, "X-Stream-Protocol-Version"), "v4.channel.k8s.io");
  std::map<std::uint32_t, std::string> got;
  net::SpdySession client(
      true, {[&](std::string bytes) { responder->input(std::move(bytes)); },
             [](std::uint32_t, const net::SpdyHeaders&, bool) {},
             [&](std::uint32_t stream, std::string_view bytes, bool) { got[stream] += bytes; },
             [](std::uint32_t) {}, [] {}});
  const auto status = client.open({{"streamtype", "error"}});
  const auto in = client.open({{"streamtype", "stdin"}});
  const auto out = client.open({{"streamtype", "stdout"}});
  const auto err = client.open({{"streamtype", "stderr"}});
  loop.advance(std::chrono::milliseconds(50));
  client.write(in, "hello");
  client.write(in, "", true);
  loop.advance(std::chrono::milliseconds(50));
  ASSERT_TRUE(client.feed(responder->body));
  EXPECT_EQ(got[out], "hello");
  EXPECT_EQ(got[err], "over");
  EXPECT_THAT(got[status], HasSubstr(R"("message":"3")"));
  EXPECT_TRUE(responder->ended);
}

TEST_F(RemoteCommandTest, ASpdyClientThatOpensNoStreamsIsNotWaitedForWithoutLimit) {
  ASSERT_TRUE(accept({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v4.channel.k8s.io"}},
                     {true, true, true, false}));
  loop.advance(std::chrono::seconds(31));
  EXPECT_EQ(tasks.size(), 0U);
}

TEST_F(RemoteCommandTest, ASpdyClientThatAsksButDoesNotReadIsLeft) {
  ASSERT_TRUE(accept({{"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v4.channel.k8s.io"}},
                     {true, true, true, false}));
  std::string pings;
  for (int i = 0; i < 1'000; ++i) pings += "\x80\x03\0\x06\0\0\0\x04\0\0\0\x01"s;
  for (int i = 0; i < 200; ++i) responder->input(pings);
  EXPECT_FALSE(responder->ended);
  responder->queued = 2 << 20;
  for (int i = 0; i < 200; ++i) responder->input(pings);
  EXPECT_TRUE(responder->ended);
}

TEST_F(RemoteCommandTest, OutputWaitsForAClientThatDoesNotRead) {
  ASSERT_TRUE(webSocket("v5.channel.k8s.io"));
  responder->queued = 2 << 20;
  send(Op::Binary, "\0one"s);
  send(Op::Binary, "\0two"s);
  EXPECT_THAT(messages(), ElementsAre("\x01"s, "\x01one"s));
  responder->queued = 0;
  loop.advance(std::chrono::milliseconds(50));
  EXPECT_THAT(messages(), ElementsAre("\x01two"s));
}

TEST(CommandStreams, ATerminalHasNoSecondOutput) {
  const auto streams =
      commandStreamsOf(*net::parseTarget("/x?stdin=true&stdout=true&stderr=true&tty=true"));
  ASSERT_TRUE(streams);
  EXPECT_TRUE(streams->in && streams->out && streams->terminal);
  EXPECT_FALSE(streams->err);
  EXPECT_FALSE(commandStreamsOf(*net::parseTarget("/x?tty=true")));
}

}  // namespace
}  // namespace koord::cluster
