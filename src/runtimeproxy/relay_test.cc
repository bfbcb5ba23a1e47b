#include "runtimeproxy/relay.h"

#include <gmock/gmock.h>

#include "runtimeproxy/proxy_testing.h"

namespace koord::runtimeproxy {
namespace {

using namespace std::chrono_literals;
using net::Http2Headers;
using net::Http2Session;
using testing::Contains;
using testing::ElementsAre;

// One end of a connection that records what it receives.
class Recorder : public net::Http2User {
 public:
  struct Stream {
    std::vector<Http2Headers> headers;
    std::string data;
    std::size_t bytes = 0;
    bool ended = false;
    std::optional<std::uint32_t> closed;
  };

  void onHeaders(std::int32_t stream, Http2Headers headers, bool last) override {
    streams[stream].headers.push_back(std::move(headers));
    streams[stream].ended = last;
  }
  void onData(std::int32_t stream, std::string_view bytes) override {
    streams[stream].bytes += bytes.size();
    if (streams[stream].data.size() < 1024) streams[stream].data += bytes;
    if (reads) session->consume(stream, bytes.size());
  }
  void onEnd(std::int32_t stream) override { streams[stream].ended = true; }
  void onClosed(std::int32_t stream, std::uint32_t code) override { streams[stream].closed = code; }
  void onLost(const std::string&) override { lost = true; }

  std::shared_ptr<Http2Session> session;
  std::map<std::int32_t, Stream> streams;
  bool reads = true;
  bool lost = false;
};

class RelayTest : public ProxyTest {
 protected:
  // From here on the test itself is the runtime; the proxy has already started.
  void SetUp() override {
    start();
    runtime_->stop();
    listener_ = net::listenUnix(at("runtime.sock")).value();
    client_ = nullptr;
    auto socket = net::connectUnix(at("proxy.sock"));
    ASSERT_TRUE(socket);
    caller_.session =
        Http2Session::start(loop_, *std::move(socket), Http2Session::Role::Client, caller_);
  }
  void TearDown() override {
    caller_.session->close();
    if (far_.session) far_.session->close();
  }
  template <class Condition>
  void runUntil(Condition condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i) {
      if (auto taken = net::acceptUnix(listener_))
        far_.session =
            Http2Session::start(loop_, *std::move(taken), Http2Session::Role::Server, far_);
      loop_.runAfter(1ms, [this] { loop_.stop(); });
      loop_.run();
    }
    ASSERT_TRUE(condition());
  }
  std::int32_t call(const std::string& path, Http2Headers more = {}) {
    Http2Headers headers{{":method", "POST"}, {":scheme", "http"},
                         {":path", path},     {":authority", "localhost"},
                         {"te", "trailers"},  {"content-type", "application/grpc"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return caller_.session->open(headers, false);
  }

  Fd listener_;
  Recorder caller_, far_;
};

TEST_F(RelayTest, AStreamGoesBothWaysAsItComesWithAllItsHeaders) {
  const auto near = call("/runtime.v1.RuntimeService/GetContainerEvents",
                         {{"x-some-metadata", "a b"}, {"x-more-bin", "AAEC"}});
  caller_.session->data(near, "first", false);
  runUntil([&] { return !far_.streams.empty() && far_.streams.begin()->second.bytes == 5; });
  const auto stream = far_.streams.begin()->first;
  EXPECT_THAT(far_.streams[stream].headers.front(),
              testing::AllOf(Contains(net::Http2Header{"x-some-metadata", "a b"}),
                             Contains(net::Http2Header{"x-more-bin", "AAEC"})));
  const Http2Headers answer{
      {":status", "200"}, {"content-type", "application/grpc"}, {"x-of-the-runtime", "1"}};
  far_.session->headers(stream, answer, false);
  far_.session->data(stream, "event", false);
  // Before the caller has sent everything.
  runUntil([&] { return caller_.streams[near].data == "event"; });
  EXPECT_EQ(caller_.streams[near].headers.front(), answer);
  caller_.session->data(near, "last", true);
  runUntil([&] { return far_.streams[stream].ended; });
  EXPECT_EQ(far_.streams[stream].data, "firstlast");
  const Http2Headers trailers{{"grpc-status", "0"}, {"grpc-status-details-bin", "CgA"}};
  far_.session->trailers(stream, trailers);
  runUntil([&] { return caller_.streams[near].closed.has_value(); });
  EXPECT_THAT(caller_.streams[near].headers, ElementsAre(answer, trailers));
  EXPECT_EQ(caller_.streams[near].closed, 0u);
}

TEST_F(RelayTest, AReaderThatDoesNotReadStopsTheWriterAndNobodyElse) {
  const auto slow = call("/x.Y/Slow");
  caller_.session->data(slow, "?", true);
  runUntil([&] { return !far_.streams.empty() && far_.streams.begin()->second.ended; });
  caller_.reads = false;
  const auto stream = far_.streams.begin()->first;
  far_.session->headers(stream, {{":status", "200"}}, false);
  constexpr std::size_t kAll = 8 << 20;
  far_.session->data(stream, std::string(kAll, 'x'), false);
  far_.session->trailers(stream, {{"grpc-status", "0"}});
  const auto quick = call("/x.Y/Quick");
  caller_.session->data(quick, "?", true);
  runUntil([&] { return far_.streams.size() == 2 && far_.streams.rbegin()->second.ended; });
  far_.session->headers(far_.streams.rbegin()->first, {{":status", "200"}, {"grpc-status", "5"}},
                        true);
  runUntil([&] { return caller_.streams[quick].closed.has_value(); });
  // At most the windows of both connections, not the whole stream.
  EXPECT_LT(caller_.streams[slow].bytes, kAll / 2);
  caller_.reads = true;
  caller_.session->consume(slow, caller_.streams[slow].bytes);
  runUntil([&] { return caller_.streams[slow].closed.has_value(); });
  EXPECT_EQ(caller_.streams[slow].bytes, kAll);
}

TEST_F(RelayTest, CallsThatAreLeftInTheMiddleCostTheOthersNothing) {
  // Each leaves a megabyte unread; a connection's window is sixteen.
  for (int i = 0; i < 40; ++i) {
    caller_.reads = false;
    const auto near = call("/x.Y/Left");
    caller_.session->data(near, "?", true);
    const std::size_t known = far_.streams.size();
    runUntil([&] { return far_.streams.size() > known && far_.streams.rbegin()->second.ended; });
    const auto stream = far_.streams.rbegin()->first;
    far_.session->headers(stream, {{":status", "200"}}, false);
    far_.session->data(stream, std::string(4 << 20, 'x'), false);
    runUntil([&] { return caller_.streams[near].bytes > (1 << 19); });
    caller_.session->reset(near, net::kHttp2Cancel);
    caller_.session->consume(near, caller_.streams[near].bytes);
    runUntil([&] { return far_.streams[stream].closed == net::kHttp2Cancel; });
  }
}

TEST_F(RelayTest, ACallThatTheRuntimeCutsIsCutForTheCaller) {
  for (const char* path : {"/x.Y/Cut", "/runtime.v1.RuntimeService/CreateContainer"}) {
    const auto near = call(path);
    caller_.session->data(near, net::grpcFrame("x"), true);
    const std::size_t known = far_.streams.size();
    runUntil([&] { return far_.streams.size() > known && far_.streams.rbegin()->second.ended; });
    far_.session->reset(far_.streams.rbegin()->first, 11);
    runUntil([&] { return caller_.streams[near].closed.has_value(); });
    EXPECT_EQ(caller_.streams[near].closed, 11u) << path;
  }
}

TEST_F(RelayTest, WhatIsNoHttp2ClosesThatConnectionAlone) {
  auto stranger = net::connectUnix(at("proxy.sock"));
  ASSERT_TRUE(stranger);
  ASSERT_EQ(::write(stranger->get(), "GET / HTTP/1.1\r\n\r\n", 18), 18);
  char byte = 0;
  runUntil([&] {
    for (ssize_t size = 1; size > 0;) {
      size = ::read(stranger->get(), &byte, 1);
      if (size == 0) return true;
    }
    return false;
  });
  const auto near = call("/x.Y/Z");
  caller_.session->data(near, "?", true);
  runUntil([&] { return !far_.streams.empty(); });
}

}  // namespace
}  // namespace koord::runtimeproxy
