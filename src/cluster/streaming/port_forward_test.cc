#include "cluster/streaming/port_forward.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <map>

#include "base/event_loop.h"
#include "net/fake_responder.h"
#include "net/streaming/spdy.h"

namespace koord::cluster {
namespace {

// A client, and a port whose program does nothing that the test does not do.
class PortForwardTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int small = 4 << 10;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener_.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
    net::ServerRequest request;
    request.headers = {{"Connection", "Upgrade"},
                       {"Upgrade", "SPDY/3.1"},
                       {"X-Stream-Protocol-Version", "portforward.k8s.io"}};
    tasks_.spawn(servePortForward(&loop_, &io_, request, responder_, "ns/pod"));
    ASSERT_EQ(responder_->status, 101);
  }

  net::SpdySession::Events events() {
    return {[this](std::string bytes) {
              sent_ += bytes.size();
              responder_->input(std::move(bytes));
            },
            [](std::uint32_t, const net::SpdyHeaders&, bool) {},
            [this](std::uint32_t stream, std::string_view bytes, bool fin) {
              got_[stream].append(bytes).append(fin ? "." : "");
            },
            [](std::uint32_t) {}, [] {}};
  }

  void open() {
    client_.open({{"streamtype", "error"}, {"port", port_}, {"requestid", "1"}}, true);
    data_ = client_.open({{"streamtype", "data"}, {"port", port_}, {"requestid", "1"}});
    until([this] {
      connection_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      return static_cast<bool>(connection_);
    });
  }

  // More than the buffers of the connection hold.
  void sendMuch() {
    const std::string piece(16 << 10, 'x');
    for (int i = 0; i < 1'024; ++i) client_.write(data_, piece);
  }

  static Task<void> poll(EventLoop* loop, std::function<bool()> condition, bool* reached) {
    for (int i = 0; i < 10'000 && !*reached; ++i) {
      auto pause = sleepFor(*loop, std::chrono::milliseconds(1));
      co_await pause;
      *reached = condition();
    }
    loop->stop();
  }
  void until(std::function<bool()> condition) {
    bool reached = false;
    TaskGroup polling;
    polling.spawn(poll(&loop_, std::move(condition), &reached));
    loop_.run();
    ASSERT_TRUE(reached);
  }

  EventLoop loop_;
  StreamIo io_{loop_};
  std::shared_ptr<net::FakeResponder> responder_ = std::make_shared<net::FakeResponder>();
  std::size_t sent_ = 0;
  std::map<std::uint32_t, std::string> got_;
  net::SpdySession client_{true, events()};
  Fd listener_;
  Fd connection_;
  std::string port_;
  std::uint32_t data_ = 0;
  TaskGroup tasks_;
};

TEST_F(PortForwardTest, WhatAProgramDoesNotReadIsConsumedWhenItEnds) {
  open();
  sendMuch();
  ::shutdown(connection_.get(), SHUT_WR);
  until([this] {
    EXPECT_TRUE(client_.feed(std::exchange(responder_->body, {})));
    return got_[data_] == ".";
  });
  EXPECT_EQ(responder_->taken, sent_);
}

TEST_F(PortForwardTest, AResetEndsAConnectionThatTheProgramDoesNotRead) {
  open();
  sendMuch();
  client_.reset(data_, net::kSpdyCancel);
  until([this] { return responder_->taken == sent_; });
}

}  // namespace
}  // namespace koord::cluster
