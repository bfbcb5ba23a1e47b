#pragma once

// A test client that sends messages on one stream and records the answers.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "net/rpc/grpc.h"

namespace koord::net {

class StreamClient final : private Http2User {
 public:
  // Opens the first stream on a connection of its own.
  StreamClient(IoLoop& loop, const std::string& socketPath, const std::string& method)
      : loop_(loop) {
    auto socket = connectUnix(socketPath);
    if (!socket) {
      ADD_FAILURE() << socket.error().message;
      return;
    }
    session_ = Http2Session::start(loop, *std::move(socket), Http2Session::Role::Client, *this);
    stream_ = session_->open({{":method", "POST"},
                              {":scheme", "http"},
                              {":path", method},
                              {":authority", "localhost"},
                              {"te", "trailers"},
                              {"content-type", "application/grpc"}},
                             false);
  }
  ~StreamClient() {
    if (session_) session_->close();
  }
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  void say(std::string_view message) { sendBytes(grpcFrame(message)); }
  void sendBytes(std::string bytes) { session_->data(stream_, std::move(bytes), false); }
  void end() { session_->data(stream_, "", true); }
  void cut() { session_->reset(stream_, kHttp2Cancel); }
  // Also consumes the bytes received during the pause.
  void read() {
    reads_ = true;
    session_->consume(stream_, std::exchange(unread_, 0));
  }
  void pause() { reads_ = false; }

  // Runs the loop until so many messages have arrived, or the stream has ended.
  const std::vector<std::string>& received(std::size_t count) {
    awaited_ = count;
    while (messages_.size() < count && !status_) loop_.run();
    return messages_;
  }
  GrpcStatus status() {
    awaited_ = SIZE_MAX;
    while (!status_) loop_.run();
    return *status_;
  }

 private:
  void onHeaders(std::int32_t, Http2Headers headers, bool last) override {
    if (last) finish(grpcStatusOf(headers));
  }
  void onData(std::int32_t stream, std::string_view bytes) override {
    unread_ += bytes.size();
    if (reads_) session_->consume(stream, std::exchange(unread_, 0));
    bytes_ += bytes;
    for (;;) {
      auto message = takeGrpcMessage(bytes_, SIZE_MAX);
      ASSERT_TRUE(message) << message.error().text();
      if (!*message) break;
      messages_.push_back(**std::move(message));
    }
    if (messages_.size() >= awaited_) loop_.stop();
  }
  void onEnd(std::int32_t) override { finish({GrpcCode::Unknown, "no trailers"}); }
  void onClosed(std::int32_t, std::uint32_t code) override {
    finish({GrpcCode::Unavailable, std::to_string(code)});
  }
  void onLost(const std::string& why) override {
    session_ = nullptr;
    finish({GrpcCode::Unavailable, why});
  }
  void finish(GrpcStatus status) {
    if (!status_) status_ = std::move(status);
    loop_.stop();
  }

  IoLoop& loop_;
  std::shared_ptr<Http2Session> session_;
  std::int32_t stream_ = -1;
  bool reads_ = true;
  std::size_t unread_ = 0;
  std::string bytes_;
  std::vector<std::string> messages_;
  std::size_t awaited_ = 0;
  std::optional<GrpcStatus> status_;
};

}  // namespace koord::net
