// Deadlines and worth of one connection: no sockets, virtual time.

#include "net/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/virtual_loop.h"

namespace koord::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using KeepPriority = Connection::KeepPriority;

// The test decides what the client sends and takes.
class FakeTransport final : public Transport {
 public:
  struct State {
    User user;
    asio::mutable_buffer into;
    std::size_t offered = 0;  // of a write that the client has not taken yet
    std::string written;
    bool closed = false;
    bool finished = false;
  };
  explicit FakeTransport(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void start(User user) override { state_->user = std::move(user); }
  void read(User user, asio::mutable_buffer into) override {
    state_->user = std::move(user);
    state_->into = into;
  }
  void write(User user, asio::const_buffer from) override {
    state_->user = std::move(user);
    state_->offered = from.size();
    state_->written.append(static_cast<const char*>(from.data()), from.size());
  }
  void finish(User) override { state_->finished = true; }
  void close() override { state_->closed = true; }

 private:
  std::shared_ptr<State> state_;
};

class ConnectionTest : public testing::Test, public ConnectionOwner {
 protected:
  ConnectionTest()
      : slot_(std::make_shared<HandlerSlot>(
            loop, [this](ServerRequest request, std::shared_ptr<Responder> responder) {
              requests.push_back(std::move(request));
              responders.push_back(std::move(responder));
            })) {}
  ~ConnectionTest() override {
    responders.clear();  // answered with 500, which is written
    transport->user.reset();
    connection.reset();
  }

  std::chrono::steady_clock::time_point now() const override { return time; }
  const ServerOptions& options() const override { return serverOptions; }
  const std::shared_ptr<HandlerSlot>& slot() const override { return slot_; }
  std::string_view date() const override { return "never"; }
  std::move_only_function<void()> wakerOf(std::weak_ptr<Connection> woken) override {
    return [woken = std::move(woken)] {
      if (const auto alive = woken.lock()) alive->takeSteps();
    };
  }
  void onConnectionClosed(const std::shared_ptr<Connection>&) override { closed = true; }

  void open() {
    connection = std::make_shared<Connection>(*this, std::make_unique<FakeTransport>(transport),
                                              "remote", "client", true);
    connection->start();
  }
  void openAndReady(std::shared_ptr<const PeerIdentity> peer = nullptr) {
    open();
    transport->user->onReady({}, {std::move(peer), ""});
  }
  void send(std::string_view text) {
    while (!text.empty()) {
      const auto part = text.substr(0, transport->into.size());
      std::memcpy(transport->into.data(), part.data(), part.size());
      text.remove_prefix(part.size());
      transport->user->onRead({}, part.size());
    }
    loop.runReady();
  }
  // The client takes that many of the bytes that are on their way.
  void take(std::size_t size) { transport->user->onWritten({}, size); }
  void takeAll() {
    while (transport->offered > 0) take(std::exchange(transport->offered, 0));
  }
  void answer(std::string body) {
    responders.back()->respond(200, {}, std::move(body));
    responders.clear();
  }
  // Time passes as the server's timer sees it.
  void pass(std::chrono::milliseconds duration) {
    for (const auto end = time + duration; time < end;) {
      time += std::min<std::chrono::milliseconds>(
          1s, std::chrono::duration_cast<std::chrono::milliseconds>(end - time));
      if (!closed) connection->checkDeadline(time);
    }
  }

  VirtualLoop loop;
  ServerOptions serverOptions;
  std::chrono::steady_clock::time_point time{std::chrono::hours(1000)};
  std::shared_ptr<HandlerSlot> slot_;
  std::shared_ptr<FakeTransport::State> transport = std::make_shared<FakeTransport::State>();
  std::shared_ptr<Connection> connection;
  std::vector<ServerRequest> requests;
  std::vector<std::shared_ptr<Responder>> responders;
  bool closed = false;
};

TEST_F(ConnectionTest, AHandshakeHasTenSeconds) {
  open();
  pass(9s);
  EXPECT_FALSE(closed);
  pass(2s);
  EXPECT_TRUE(closed);
  EXPECT_TRUE(transport->closed);
}

TEST_F(ConnectionTest, AConnectionThatIsNotUsedGoesAfterTheTimeOfHeaders) {
  openAndReady();
  pass(14s);
  EXPECT_FALSE(closed);
  pass(2s);
  EXPECT_TRUE(closed);
}

TEST_F(ConnectionTest, HeadersThatTrickleInHaveFifteenSecondsInAll) {
  openAndReady();
  for (int i = 0; i < 14; ++i) {
    send("G");
    pass(1s);
  }
  EXPECT_FALSE(closed);
  send("E");
  pass(2s);
  EXPECT_TRUE(closed);
  EXPECT_TRUE(requests.empty());
}

TEST_F(ConnectionTest, ABodyThatTricklesInIsDropped) {
  openAndReady();
  send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n");
  int seconds = 0;
  for (; !closed && seconds < 1000; ++seconds) {
    send("x");
    pass(1s);
  }
  EXPECT_EQ(seconds, 15);
}

TEST_F(ConnectionTest, ALargeBodyMayComeSlowly) {
  openAndReady();
  constexpr std::size_t kSize = 3 << 20;
  send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n");
  // 20 KiB a second: two and a half minutes.
  std::size_t sent = 0;
  int seconds = 0;
  for (; sent < kSize && !closed; ++seconds) {
    const auto size = std::min<std::size_t>(20 << 10, kSize - sent);
    send(std::string(size, 'x'));
    sent += size;
    pass(1s);
  }
  EXPECT_FALSE(closed);
  EXPECT_GT(seconds, 150);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].body.size(), kSize);
}

TEST_F(ConnectionTest, ChunksWithoutContentDoNotBuyTime) {
  openAndReady();
  send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  int seconds = 0;
  for (; !closed && seconds < 100; ++seconds) {
    send("1;" + std::string(4000, 'e') + "\r\nx\r\n");
    pass(1s);
  }
  EXPECT_EQ(seconds, 15);
}

TEST_F(ConnectionTest, AHandlerMayTakeItsTimeAndIdleConnectionsStayForNinetySeconds) {
  openAndReady();
  send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  pass(1h);
  ASSERT_FALSE(closed);
  answer("one");
  takeAll();
  EXPECT_THAT(transport->written, HasSubstr("\r\n\r\none"));
  pass(89s);
  EXPECT_FALSE(closed);
  send("GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_EQ(requests.size(), 2u);
  answer("two");
  takeAll();
  pass(91s);
  EXPECT_TRUE(closed);
}

TEST_F(ConnectionTest, AReaderThatTakesAByteNowAndThenIsDropped) {
  openAndReady();
  send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  answer(std::string(1 << 20, 'x'));
  int seconds = 0;
  for (; !closed && seconds < 1000; ++seconds) {
    take(1);
    pass(1s);
  }
  EXPECT_EQ(seconds, 61);
}

TEST_F(ConnectionTest, AReaderThatStopsAfterAWhileIsDropped) {
  openAndReady();
  send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  answer(std::string(8 << 20, 'x'));
  take(std::exchange(transport->offered, 0));
  take(4 << 20);  // as much as the kernel may buffer
  pass(59s);
  EXPECT_FALSE(closed);
  pass(2s);
  EXPECT_TRUE(closed);
}

TEST_F(ConnectionTest, ASteadyReaderMayTakeItsTime) {
  openAndReady();
  send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  constexpr std::size_t kSize = 8 << 20;
  answer(std::string(kSize, 'x'));
  take(std::exchange(transport->offered, 0));  // the head
  int seconds = 0;
  for (std::size_t taken = 0; taken < kSize && !closed; ++seconds) {
    const auto size = std::min<std::size_t>(20 << 10, kSize - taken);
    take(size);
    taken += size;
    pass(1s);
  }
  EXPECT_FALSE(closed);
  EXPECT_GT(seconds, 400);
}

TEST_F(ConnectionTest, AStreamWhoseReaderKeepsUpNeverEnds) {
  openAndReady();
  send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  responders.back()->begin(200, {});
  takeAll();
  for (int minute = 0; minute < 120; ++minute) {
    responders.back()->write(std::make_shared<const std::string>("event\n"));
    pass(50s);
    takeAll();
    pass(10s);
  }
  EXPECT_FALSE(closed);
}

TEST_F(ConnectionTest, WorthGrowsWithWhatIsKnownOfTheClient) {
  openAndReady();
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Unproven);
  send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Unproven);
  send("Host: h\r\n\r\n");
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Busy);
  answer("ok");
  takeAll();
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Idle);
  send("P");
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Unproven);
  send("OST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
  responders.back()->authenticated();
  answer("ok");
  takeAll();
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Known);
  send("G");
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Busy);
}

TEST_F(ConnectionTest, AClientWithACertificateIsKnown) {
  openAndReady(std::make_shared<const PeerIdentity>(PeerIdentity{"alice", {}}));
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Busy);
  send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  answer("ok");
  takeAll();
  EXPECT_EQ(connection->keepPriority(), KeepPriority::Known);
}

}  // namespace
}  // namespace koord::net
