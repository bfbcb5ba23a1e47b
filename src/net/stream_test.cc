#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/test_net.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using Sent = std::shared_ptr<Responder>;

Responder::Bytes bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// What a stream delivered. Written on the loop; read there, or after `closed` was raised.
struct Received {
  int status = 0;
  std::string text;
  Result<> end = fail(ErrorCode::Unknown, "not closed");
  Signal head, chunk, closed;

  StreamSink sink() {
    return {[this](HttpResponse response) {
              status = response.status;
              head.raise();
            },
            [this](std::string part) {
              EXPECT_FALSE(part.empty());
              text += part;
              chunk.raise();
            },
            [this](Result<> result) {
              end = std::move(result);
              closed.raise();
            }};
  }
};

class StreamTest : public NetTest, public testing::WithParamInterface<bool> {
 protected:
  ~StreamTest() override {
    loop.runSync([this] {
      stream.reset();
      responder.reset();
    });
  }

  ServerOptions options() const {
    ServerOptions options;
    if (GetParam()) options.tls = TestCertificates::get().serverTls();
    return options;
  }
  // A server that begins a stream for each request and keeps the responder of the last one.
  HttpServer& serveStreams(const ServerOptions& options) {
    return serve(options, [this](ServerRequest, Sent sent) {
      responder = std::move(sent);
      responder->onClosed([this] { lost.raise(); });
      responder->begin(200, {{"Content-Type", "application/json"}});
      begun.raise();
    });
  }
  void open(const HttpServer& server, StreamSink sink) {
    HttpRequest request;
    request.url = (GetParam() ? "https://" : "http://") + server.address() + "/watch";
    request.tls = TestCertificates::get().clientTls();
    request.timeout = 0ms;
    request.http2 = false;
    loop.runSync([&] { stream = client->stream(loop.loop(), request, std::move(sink)); });
  }

  Sent responder;  // loop only
  Signal begun, lost;
  std::unique_ptr<Stream> stream;  // loop only
};

INSTANTIATE_TEST_SUITE_P(PlainAndTls, StreamTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Tls" : "Plain"; });

TEST_P(StreamTest, ChunksArriveAsTheyAreWrittenAndTheEndIsClean) {
  Received received;
  open(serveStreams(options()), received.sink());
  ASSERT_TRUE(received.head.wait());
  ASSERT_TRUE(begun.wait());
  loop.runSync([&] {
    EXPECT_EQ(received.status, 200);
    responder->write(bytes("one\n"));
  });
  ASSERT_TRUE(received.chunk.wait(1));
  loop.runSync([&] {
    EXPECT_EQ(received.text, "one\n");
    responder->write(bytes(""));  // nothing, and not the end
    responder->write(bytes("two\n"));
  });
  ASSERT_TRUE(received.chunk.wait(2));
  loop.runSync([&] {
    responder->end();
    responder->write(bytes("too late"));
  });
  ASSERT_TRUE(received.closed.wait());
  EXPECT_TRUE(received.end) << received.end.error().message;
  EXPECT_EQ(received.text, "one\ntwo\n");
}

TEST_P(StreamTest, AStreamThatIsCutIsAnError) {
  Received received;
  open(serveStreams(options()), received.sink());
  ASSERT_TRUE(begun.wait());
  loop.runSync([&] {
    responder->write(bytes("part"));
    responder->abort();
  });
  ASSERT_TRUE(received.closed.wait());
  ASSERT_FALSE(received.end);
  EXPECT_EQ(received.end.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(received.end.error().message, HasSubstr("/watch: the connection was lost"));
}

TEST_P(StreamTest, DroppingTheResponderInsideAStreamCutsIt) {
  Received received;
  open(serveStreams(options()), received.sink());
  ASSERT_TRUE(begun.wait());
  loop.runSync([&] { responder.reset(); });
  ASSERT_TRUE(received.closed.wait());
  EXPECT_FALSE(received.end);
}

TEST_P(StreamTest, DestroyingTheStreamTellsTheServer) {
  Received received;
  open(serveStreams(options()), received.sink());
  ASSERT_TRUE(received.head.wait());
  loop.runSync([&] { stream.reset(); });
  ASSERT_TRUE(lost.wait());
  loop.runSync([&] {
    responder->write(bytes("into the void"));
    EXPECT_EQ(responder->queuedBytes(), 0u);
    EXPECT_FALSE(received.end) << "no callback after the stream is destroyed";
  });
}

TEST_P(StreamTest, AStreamMayBeDestroyedByItsOwnCallback) {
  Signal dropped;
  const auto owned = std::make_shared<std::string>("captured");
  open(serveStreams(options()), {[&, owned](HttpResponse) {
                                   stream.reset();
                                   EXPECT_EQ(*owned, "captured");
                                   dropped.raise();
                                 },
                                 [](std::string) { ADD_FAILURE() << "chunk after the end"; },
                                 [](Result<>) { ADD_FAILURE() << "closed after the end"; }});
  ASSERT_TRUE(dropped.wait());
  ASSERT_TRUE(lost.wait());
  loop.runSync([&] { EXPECT_EQ(owned.use_count(), 1); });
}

TEST_P(StreamTest, ALateOnClosedIsStillCalled) {
  Received received;
  open(serveStreams(options()), received.sink());
  ASSERT_TRUE(received.head.wait());
  loop.runSync([&] { stream.reset(); });
  ASSERT_TRUE(lost.wait());
  Signal late;
  loop.runSync([&] { responder->onClosed([&] { late.raise(); }); });
  EXPECT_TRUE(late.wait());
}

TEST_P(StreamTest, ASlowReaderPausesTheTransferAndLosesNothing) {
  constexpr std::size_t kChunk = 256 << 10;
  constexpr std::size_t kChunks = 256;  // many times the size of socket buffers and the window
  std::string everything;
  for (std::size_t i = 0; i < kChunks; ++i) {
    everything.append(kChunk, static_cast<char>('a' + i % 26));
  }
  client = std::make_unique<HttpClient>(HttpClient::Options{.streamWindow = 64 << 10});
  Received received;
  std::promise<void> gate;
  Signal blocked;
  LoopThread reader("reader");
  HttpRequest request;
  auto& server = serveStreams(options());
  request.url = (GetParam() ? "https://" : "http://") + server.address() + "/watch";
  request.tls = TestCertificates::get().clientTls();
  request.timeout = 0ms;
  std::size_t total = 0;
  bool intact = true;
  std::unique_ptr<Stream> slow;
  reader.runSync([&] {
    StreamSink sink = received.sink();
    sink.onChunk = [&](const std::string& part) {
      if (total == 0) {
        blocked.raise();
        gate.get_future().wait();
      }
      intact = intact && everything.compare(total, part.size(), part) == 0;
      total += part.size();
    };
    slow = client->stream(reader.loop(), request, std::move(sink));
  });
  ASSERT_TRUE(begun.wait());
  loop.runSync([&] {
    for (std::size_t i = 0; i < kChunks; ++i) {
      responder->write(bytes(everything.substr(i * kChunk, kChunk)));
    }
    responder->end();
  });
  ASSERT_TRUE(blocked.wait());
  // Socket buffers and the client's window cannot take all of it: the server sees that this reader
  // is behind.
  loop.runSync([&] { EXPECT_GT(responder->queuedBytes(), kChunks * kChunk / 2); });
  gate.set_value();
  ASSERT_TRUE(received.closed.wait());
  EXPECT_TRUE(received.end) << received.end.error().message;
  EXPECT_EQ(total, everything.size());
  EXPECT_TRUE(intact);
  reader.runSync([&] {
    slow.reset();
    client.reset();  // before its executor
  });
}

TEST_P(StreamTest, ShutdownEndsStreamsCleanly) {
  Received received;
  auto& server = serveStreams(options());
  open(server, received.sink());
  ASSERT_TRUE(received.head.wait());
  auto stopped = spawn<bool>([&] { return shutDown(server, 30s); });
  ASSERT_TRUE(received.closed.wait());
  EXPECT_TRUE(received.end) << received.end.error().message;
  EXPECT_TRUE(lost.wait());
  EXPECT_TRUE(waitFor(std::move(stopped)));
  EXPECT_EQ(server.connections(), 0u);
}

TEST_P(StreamTest, DestroyingTheServerCutsStreams) {
  Received received;
  auto& server = serveStreams(options());
  open(server, received.sink());
  ASSERT_TRUE(received.head.wait());
  stop(server);
  ASSERT_TRUE(received.closed.wait());
  EXPECT_FALSE(received.end);
  loop.runSync([&] {
    responder->write(bytes("nobody is there"));
    EXPECT_EQ(responder->queuedBytes(), 0u);
  });
}

TEST_P(StreamTest, AStreamThatCannotStartOnlyCloses) {
  auto& server = serveStreams(options());
  const auto address = server.address();
  stop(server);
  Received received;
  HttpRequest request;
  request.url = "http://" + address;
  loop.runSync([&] { stream = client->stream(loop.loop(), request, received.sink()); });
  ASSERT_TRUE(received.closed.wait());
  ASSERT_FALSE(received.end);
  EXPECT_THAT(received.end.error().message, HasSubstr("connection refused"));
  EXPECT_EQ(received.status, 0);
}

TEST_P(StreamTest, AQuietStreamIsGivenUpAfterItsIdleTimeout) {
  Received received;
  auto& server = serveStreams(options());
  HttpRequest request;
  request.url = (GetParam() ? "https://" : "http://") + server.address();
  request.tls = TestCertificates::get().clientTls();
  request.timeout = 0ms;
  request.idleTimeout = 1s;
  loop.runSync([&] { stream = client->stream(loop.loop(), request, received.sink()); });
  ASSERT_TRUE(received.closed.wait());
  ASSERT_FALSE(received.end);
  EXPECT_EQ(received.end.error().code, ErrorCode::Timeout);
  EXPECT_THAT(received.end.error().message, HasSubstr("nothing was received for"));
}

TEST_P(StreamTest, OneEventGoesToManyWatchersWithoutCopies) {
  constexpr int kWatchers = 20;
  std::vector<Sent> watchers;
  Signal watching;
  auto& server = serve(options(), [&](ServerRequest, Sent sent) {
    sent->begin(200, {});
    watchers.push_back(std::move(sent));
    watching.raise();
  });
  std::vector<std::unique_ptr<Received>> received;
  std::vector<std::unique_ptr<Stream>> streams;
  HttpRequest request;
  request.url = (GetParam() ? "https://" : "http://") + server.address();
  request.tls = TestCertificates::get().clientTls();
  request.timeout = 0ms;
  loop.runSync([&] {
    for (int i = 0; i < kWatchers; ++i) {
      received.push_back(std::make_unique<Received>());
      streams.push_back(client->stream(loop.loop(), request, received.back()->sink()));
    }
  });
  ASSERT_TRUE(watching.wait(kWatchers));
  const std::string event(50'000, 'e');
  loop.runSync([&] {
    const auto shared = bytes(event);
    for (const auto& watcher : watchers) watcher->write(shared);
    for (const auto& watcher : watchers) watcher->end();
    watchers.clear();
  });
  for (const auto& one : received) {
    ASSERT_TRUE(one->closed.wait());
    EXPECT_TRUE(one->end);
    EXPECT_TRUE(one->text == event);
  }
  loop.runSync([&] { streams.clear(); });
}

}  // namespace
}  // namespace koord::net
