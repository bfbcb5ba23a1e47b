#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "net/rpc/grpc_channel.h"
#include "net/rpc/grpc_server.h"
#include "net/rpc/stream_testing.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;

std::string socketIn(const std::string& name) {
  return fmt::format("{}rpc-{}.sock", testing::TempDir(), name);
}

GrpcReply refusal(GrpcCode code, std::string message) {
  return std::unexpected(GrpcStatus{code, std::move(message)});
}

// Runs the loop until the call is answered.
class RpcTest : public testing::Test {
 protected:
  static Task<void> store(Future<GrpcReply> future, std::optional<GrpcReply>* into, IoLoop* loop) {
    auto reply = co_await future;
    *into = std::move(reply);
    loop->stop();
  }
  GrpcReply ask(GrpcChannel& channel, const std::string& method, std::string_view message,
                Duration timeout = 30s) {
    std::optional<GrpcReply> reply;
    TaskGroup tasks;
    tasks.spawn(store(channel.call(method, message, timeout), &reply, &loop_));
    loop_.run();
    return *std::move(reply);
  }
  std::unique_ptr<GrpcServer> serve(const std::string& path, GrpcServer::Handler handler,
                                    GrpcServer::StreamHandlers conversations = {}) {
    auto server = GrpcServer::start(loop_, path, std::move(handler), std::move(conversations));
    EXPECT_TRUE(server) << server.error().message;
    return *std::move(server);
  }

  IoLoop loop_;
};

TEST_F(RpcTest, AMessageOfSixteenMebibytesGoesThereAndBack) {
  const std::string path = socketIn("large");
  std::optional<Duration> timeout;
  const auto server = serve(path, [&](GrpcRequest request, GrpcAnswer answer) {
    timeout = request.timeout;
    answer(request.method + request.message);
  });
  GrpcChannel channel(loop_, path);
  const std::string large((16 << 20) - 100, 'x');
  const auto reply = ask(channel, "/a.B/C", large, 20s);
  ASSERT_TRUE(reply) << reply.error().text();
  EXPECT_TRUE(*reply == "/a.B/C" + large);
  EXPECT_EQ(timeout, Duration(20s));
  EXPECT_EQ(ask(channel, "/a.B/D", "").value(), "/a.B/D");
}

TEST_F(RpcTest, AnErrorKeepsItsCodeAndItsWords) {
  const std::string path = socketIn("error");
  const auto server = serve(path, [](GrpcRequest, GrpcAnswer answer) {
    answer(refusal(GrpcCode::NotFound, "100% gone: \"ü\"\n"));
  });
  GrpcChannel channel(loop_, path);
  const auto reply = ask(channel, "/a.B/C", "x");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, GrpcCode::NotFound);
  EXPECT_EQ(reply.error().message, "100% gone: \"ü\"\n");
}

TEST_F(RpcTest, AHandlerThatDropsItsAnswerFailsTheCall) {
  const std::string path = socketIn("dropped");
  const auto server = serve(path, [](GrpcRequest, GrpcAnswer) {});
  GrpcChannel channel(loop_, path);
  EXPECT_EQ(ask(channel, "/a.B/C", "x").error().code, GrpcCode::Internal);
}

TEST_F(RpcTest, AHandlerThatThrowsFailsTheCallAndTheNextIsAnswered) {
  const std::string path = socketIn("throws");
  const auto odd = [](const std::string& message) -> GrpcReply {
    if (message == "odd") throw std::out_of_range(message);
    return message;
  };
  const auto server =
      serve(path, [&](GrpcRequest request, GrpcAnswer answer) { answer(odd(request.message)); },
            {{"/a.B/Talk", odd}});
  GrpcChannel channel(loop_, path);
  for (const char* method : {"/a.B/C", "/a.B/Talk"}) {
    EXPECT_EQ(ask(channel, method, "odd").error().code, GrpcCode::Internal);
    EXPECT_EQ(ask(channel, method, "fine").value(), "fine");
  }
}

TEST_F(RpcTest, AServerThatHangsIsLeftAtTheDeadline) {
  const std::string path = socketIn("hangs");
  std::vector<GrpcAnswer> kept;
  const auto server = serve(path, [&](GrpcRequest request, GrpcAnswer answer) {
    if (request.message == "hang") return kept.push_back(std::move(answer));
    answer(std::string("fine"));
  });
  GrpcChannel channel(loop_, path);
  EXPECT_EQ(ask(channel, "/a.B/C", "hang", 20ms).error().code, GrpcCode::DeadlineExceeded);
  EXPECT_EQ(ask(channel, "/a.B/C", "x").value(), "fine");  // the connection still works
}

TEST_F(RpcTest, NobodyListensFailsAtOnceAndASecondServerIsFound) {
  const std::string path = socketIn("absent");
  GrpcChannel channel(loop_, path);
  const auto reply = ask(channel, "/a.B/C", "x");
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, GrpcCode::Unavailable);
  EXPECT_THAT(reply.error().message, testing::HasSubstr(path));
  for (int round = 0; round < 2; ++round) {
    const auto server =
        serve(path, [](GrpcRequest, GrpcAnswer answer) { answer(std::string("here")); });
    const auto again = ask(channel, "/a.B/C", "x");
    // The call itself may find that the connection is lost.
    if (round == 0 || again) {
      EXPECT_EQ(again.value(), "here");
    } else {
      EXPECT_EQ(again.error().code, GrpcCode::Unavailable);
      EXPECT_EQ(ask(channel, "/a.B/C", "x").value(), "here");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(RpcTest, AServerThatSpeaksSomethingElseIsUnavailable) {
  const std::string path = socketIn("garbage");
  const auto listener = listenUnix(path);
  ASSERT_TRUE(listener);
  GrpcChannel channel(loop_, path);
  std::optional<Fd> peer;
  loop_.post([&] {
    if (auto taken = acceptUnix(*listener)) {
      peer = *std::move(taken);
      const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n";
      EXPECT_EQ(::send(peer->get(), text.data(), text.size(), 0), std::ssize(text));
    }
  });
  EXPECT_EQ(ask(channel, "/a.B/C", "x").error().code, GrpcCode::Unavailable);
  ::unlink(path.c_str());
}

TEST_F(RpcTest, CallsAtOnceGetTheirOwnAnswersWhateverTheOrder) {
  const std::string path = socketIn("many");
  std::vector<std::pair<std::string, GrpcAnswer>> waiting;
  const auto server = serve(path, [&](GrpcRequest request, GrpcAnswer answer) {
    waiting.emplace_back(std::move(request.message), std::move(answer));
    if (waiting.size() < 1000) return;
    for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) it->second("to " + it->first);
  });
  GrpcChannel channel(loop_, path);
  std::vector<std::optional<GrpcReply>> replies(1000);
  TaskGroup tasks;
  IoLoop* const loop = &loop_;
  for (std::size_t i = 0; i < replies.size(); ++i)
    tasks.spawn(store(channel.call("/a.B/C", std::to_string(i), 30s), &replies[i], loop));
  while (tasks.size() > 0) loop_.run();
  for (std::size_t i = 0; i < replies.size(); ++i)
    EXPECT_EQ(replies[i]->value(), fmt::format("to {}", i));
}

// Echoes messages and ends with an error on a certain message.
GrpcReply echo(const std::string& message) {
  if (message == "enough") return refusal(GrpcCode::Aborted, "no more");
  return "heard " + message;
}
void unasked(GrpcRequest, GrpcAnswer answer) {
  answer(refusal(GrpcCode::Unimplemented, "not here"));
}

TEST_F(RpcTest, EachMessageOfAConversationIsAnsweredAsItComes) {
  const std::string path = socketIn("talk");
  const auto server = serve(path, unasked, {{"/a.B/Talk", echo}});
  StreamClient client(loop_, path, "/a.B/Talk");
  client.say("one");
  EXPECT_THAT(client.received(1), testing::ElementsAre("heard one"));
  const std::string two = grpcFrame("two");
  client.sendBytes(two.substr(0, 3));
  client.sendBytes(two.substr(3) + grpcFrame("") + grpcFrame("four"));
  EXPECT_THAT(client.received(4),
              testing::ElementsAre("heard one", "heard two", "heard ", "heard four"));
  client.end();
  EXPECT_TRUE(client.status().ok()) << client.status().text();
  // A caller that sends one message and ends makes a unary call.
  GrpcChannel channel(loop_, path);
  EXPECT_EQ(ask(channel, "/a.B/Talk", "x").value(), "heard x");
  EXPECT_EQ(ask(channel, "/a.B/C", "x").error().code, GrpcCode::Unimplemented);
}

TEST_F(RpcTest, AConversationEndsWithAnErrorOrWithNonsense) {
  const std::string path = socketIn("ends");
  const auto server = serve(path, unasked, {{"/a.B/Talk", echo}});
  const auto statusOf = [&](const std::string& bytes) {
    StreamClient client(loop_, path, "/a.B/Talk");
    client.sendBytes(bytes);
    client.end();
    return client.status().code;
  };
  EXPECT_EQ(statusOf(""), GrpcCode::Ok);
  EXPECT_EQ(statusOf(grpcFrame("enough")), GrpcCode::Aborted);
  EXPECT_EQ(statusOf(grpcFrame("a") + grpcFrame("enough") + grpcFrame("b")), GrpcCode::Aborted);
  EXPECT_EQ(statusOf(grpcFrame("a").substr(0, 5)), GrpcCode::InvalidArgument);
  EXPECT_EQ(statusOf("\1" + grpcFrame("a").substr(1)), GrpcCode::Unimplemented);
  EXPECT_EQ(statusOf(std::string(1, '\0') + "\xff\xff\xff\xff"), GrpcCode::ResourceExhausted);
  EXPECT_EQ(statusOf(grpcFrame(std::string(3 << 20, 'x'))), GrpcCode::Ok);
}

TEST_F(RpcTest, WhoDoesNotReadIsNotAnsweredFurther) {
  const std::string path = socketIn("deaf");
  std::size_t answered = 0;
  const auto server = serve(path, unasked, {{"/a.B/Talk", [&](const std::string&) -> GrpcReply {
                                               ++answered;
                                               return std::string(100'000, 'x');
                                             }}});
  StreamClient client(loop_, path, "/a.B/Talk");
  client.pause();
  constexpr std::size_t kQuestions = 2000;  // whose answers have 200 MB
  for (std::size_t i = 0; i < kQuestions; ++i) client.say("more");
  client.end();
  // Runs while there is progress.
  for (std::size_t before = SIZE_MAX; before != answered;) {
    before = answered;
    loop_.runAfter(50ms, [&] { loop_.stop(); });
    loop_.run();
  }
  EXPECT_GT(answered, 0u);
  EXPECT_LT(answered, kQuestions / 2);
  client.read();
  EXPECT_TRUE(client.status().ok());
  EXPECT_EQ(client.received(0).size(), kQuestions);
}

TEST(Grpc, TimeoutsAreReadAndWrittenWithEightDigits) {
  EXPECT_EQ(parseGrpcTimeout("100m"), Duration(100ms));
  EXPECT_EQ(parseGrpcTimeout("7S"), Duration(7s));
  EXPECT_EQ(parseGrpcTimeout("99999999H"), Duration(365 * 24h));
  for (const char* text : {"", "S", "1", "-1S", "1x", "123456789S", "1.5S"})
    EXPECT_EQ(parseGrpcTimeout(text), std::nullopt) << text;
  EXPECT_EQ(formatGrpcTimeout(2s), "2000000u");
  EXPECT_EQ(formatGrpcTimeout(1us), "1000n");
  EXPECT_EQ(formatGrpcTimeout(1h), "3600000m");
  EXPECT_EQ(formatGrpcTimeout(-1s), "1n");
}

TEST(Grpc, AMessageIsFoundInItsFrameAndNowhereElse) {
  EXPECT_EQ(grpcMessage(grpcFrame("abc")).value(), "abc");
  EXPECT_EQ(grpcMessage(grpcFrame("")).value(), "");
  EXPECT_FALSE(grpcMessage("abc"));
  EXPECT_FALSE(grpcMessage(grpcFrame("abc") + "d"));
  EXPECT_EQ(grpcMessage(std::string(1, '\1') + grpcFrame("abc").substr(1)).error().code,
            GrpcCode::Unimplemented);
}

}  // namespace
}  // namespace koord::net
