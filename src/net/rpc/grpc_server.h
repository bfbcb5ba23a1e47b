#pragma once

// Serves gRPC calls on a unix socket.
//
//   auto handler = [](GrpcRequest request, GrpcAnswer answer) { answer(std::string()); };
//   auto server = GrpcServer::start(loop, "/run/x.sock", handler);
//
// The handler is called on the loop's thread when a request's message is complete. It may answer
// from any thread, at once or later; the answer is dropped if the caller has disconnected. Dropping
// the GrpcAnswer unanswered fails the call with Internal. A request of several messages is refused
// (InvalidArgument), except for methods with a StreamHandler: there each message of a stream is
// answered as it arrives.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "net/rpc/grpc.h"

namespace koord::net {

struct GrpcRequest {
  std::string method;  // "/runtime.v1alpha1.RuntimeHookService/PreRunPodSandboxHook"
  std::string message;
  std::optional<Duration> timeout;
  Http2Headers headers;
};

class GrpcAnswer {
 public:
  explicit GrpcAnswer(std::move_only_function<void(GrpcReply)> send);
  GrpcAnswer(GrpcAnswer&&) noexcept = default;
  GrpcAnswer& operator=(GrpcAnswer&&) noexcept = default;
  ~GrpcAnswer();
  void operator()(GrpcReply reply);

 private:
  std::move_only_function<void(GrpcReply)> send_;
};

class GrpcServer {
 public:
  using Handler = std::function<void(GrpcRequest, GrpcAnswer)>;
  // The answer to one message, on the loop's thread; an error ends the stream with that status.
  using StreamHandler = std::function<GrpcReply(const std::string& message)>;
  using StreamHandlers = std::map<std::string, StreamHandler, std::less<>>;  // by method

  // Replaces an existing socket file. Fails if it cannot listen.
  static Result<std::unique_ptr<GrpcServer>> start(IoLoop& loop, std::string socketPath,
                                                   Handler handler,
                                                   StreamHandlers conversations = {});
  // On the loop's thread. Cuts running calls and removes the socket file.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

 private:
  class Connection;
  GrpcServer(IoLoop& loop, std::string path, Fd listener, Handler handler,
             StreamHandlers conversations);
  void accept();

  IoLoop& loop_;
  std::string path_;
  Fd listener_;
  Handler handler_;
  StreamHandlers conversations_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::unique_ptr<IoLoop::Watch> watch_;
};

}  // namespace koord::net
