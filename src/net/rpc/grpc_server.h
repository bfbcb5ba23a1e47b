#pragma once

// Serves gRPC calls on a unix socket.
//
//   auto server = GrpcServer::start(loop, "/run/x.sock", [](GrpcRequest request, GrpcAnswer answer)
//   {
//     answer(std::string());
//   });
//
// The handler is called on the loop's thread, once a request's message is there; the answer may be
// given from any thread, at once or later, and goes nowhere when the caller has left. Dropping it
// unanswered fails the call as Internal. A request of several messages is refused (InvalidArgument),
// but for the methods that are conversations: there each message of a stream is answered as it comes.

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
  // The answer to one message, on the loop's thread; an error ends the stream with it.
  using Conversation = std::function<GrpcReply(const std::string& message)>;
  using Conversations = std::map<std::string, Conversation, std::less<>>;  // by method

  // Replaces a socket file that is there; the error says why it cannot.
  static Result<std::unique_ptr<GrpcServer>> start(IoLoop& loop, std::string socketPath,
                                                   Handler handler,
                                                   Conversations conversations = {});
  // On the loop's thread; calls under way are cut. The socket file goes.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

 private:
  class Connection;
  GrpcServer(IoLoop& loop, std::string path, Fd listener, Handler handler,
             Conversations conversations);
  void accept();

  IoLoop& loop_;
  std::string path_;
  Fd listener_;
  Handler handler_;
  Conversations conversations_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::unique_ptr<IoLoop::Watch> watch_;
};

}  // namespace koord::net
