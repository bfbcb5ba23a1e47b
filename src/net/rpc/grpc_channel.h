#pragma once

// Unary gRPC calls to the server at one unix socket. The channel connects on the first call, and on
// the next call after the connection was lost. Without a listener a call fails at once
// (Unavailable).
//
//   auto calling = channel.call("/runtime.v1.RuntimeService/Version", message, 5s);
//   GrpcReply reply = co_await calling;
//
// Calls and answers are on the loop's thread. Dropping a Future does not cancel its call.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/task.h"
#include "net/rpc/grpc.h"

namespace koord::net {

class GrpcChannel final : private Http2User {
 public:
  GrpcChannel(IoLoop& loop, std::string socketPath);
  ~GrpcChannel();

  // The deadline is sent to the server and also enforced here: DeadlineExceeded.
  Future<GrpcReply> call(const std::string& method, std::string_view message, Duration timeout);
  const std::string& path() const { return path_; }
  bool idle() const { return calls_.empty(); }

 private:
  struct Call {
    Completer<GrpcReply> completer;
    std::string body;
    Http2Headers headers;  // the last received, which have the status
    TimerId timer = 0;
  };

  void onHeaders(std::int32_t stream, Http2Headers headers, bool last) override;
  void onData(std::int32_t stream, std::string_view bytes) override;
  void onEnd(std::int32_t stream) override;
  void onClosed(std::int32_t stream, std::uint32_t code) override;
  void onLost(const std::string& why) override;

  Result<> connect();
  void finish(std::int32_t stream, GrpcReply reply);
  void finishCall(std::int32_t stream);

  IoLoop& loop_;
  std::string path_;
  std::shared_ptr<Http2Session> session_;
  std::unordered_map<std::int32_t, Call> calls_;
};

}  // namespace koord::net
