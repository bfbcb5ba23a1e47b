#pragma once

// One client's connection and its own connection to the runtime: forwards every call, message and
// header unchanged, in both directions, as fast as its reader reads. Only the eight calls of
// cri_method.h are decoded; their requests and answers are buffered until they are complete.
// Streams, and unknown methods and services, pass unchanged.
//
//   client --front--> Relay --back--> runtime
//
// With a connection per client, a slow reader does not delay the others, and the runtime sees
// disconnects. If the connection to the runtime is lost, its calls end with Unavailable, and the
// next call connects again. If a client cancels a call or its deadline passes, the call also ends
// at the runtime.

#include <functional>
#include <memory>
#include <unordered_map>

#include "base/task.h"
#include "net/rpc/grpc.h"
#include "net/rpc/http2_session.h"
#include "runtimeproxy/connection.h"
#include "runtimeproxy/interceptor.h"
#include "runtimeproxy/metrics.h"

namespace koord::runtimeproxy {

struct RelayContext {
  net::IoLoop& loop;
  std::string runtimeSocket;
  Interceptor& interceptor;
  Metrics& metrics;
};

class Relay final : private net::Http2User,
                    public Connection,
                    public std::enable_shared_from_this<Relay> {
 public:
  Relay(RelayContext context, WhenLost onLost);
  ~Relay() override;
  void start(Fd client) override;
  void drain() override;
  std::size_t callsInFlight() const override { return calls_.size(); }

 private:
  class Backend;
  struct Answer {
    net::Http2Headers headers;
    std::string body;
    net::Http2Headers trailers;  // empty: the answer has headers only
    bool cut = false;            // it was cut by the HTTP/2 error `code`
    std::uint32_t code = 0;
  };
  struct Call {
    std::int32_t front = 0;
    std::int32_t back = -1;
    std::shared_ptr<Backend> runtime;
    net::Http2Headers request;
    SteadyTime start;
    SteadyTime deadline;
    bool answered = false;  // the client has the answer's headers
    bool ended = false;     // and its end, or has cancelled the call
    // Bytes received from one side that the other has not taken yet; they use the sender's window.
    std::size_t toClient = 0;
    std::size_t toRuntime = 0;
    // For intercepted calls:
    std::optional<Intercepted> intercepted;
    std::string body;  // of the request, until it is forwarded
    bool forwarded = false;
    Answer answer;
    std::optional<Completer<bool>> answerComplete;
  };
  using CallPtr = std::shared_ptr<Call>;

  void onHeaders(std::int32_t stream, net::Http2Headers headers, bool last) override;
  void onData(std::int32_t stream, std::string_view bytes) override;
  void onEnd(std::int32_t stream) override;
  void onSent(std::int32_t stream, std::size_t bytes) override;
  void onClosed(std::int32_t stream, std::uint32_t code) override;
  void onLost(const std::string& why) override;

  CallPtr find(std::int32_t stream) const;
  // Opens the call at the runtime. Returns false if the runtime cannot be reached; the client has
  // the error.
  bool forward(Call& call, bool last);
  Task<void> intercept(CallPtr call);
  void refuse(Call& call, const net::GrpcStatus& status);
  void deliver(Call& call);
  void finish(Call& call, bool ok);
  // Returns the window of bytes that will not be forwarded.
  void releaseWindows(Call& call);
  void dropCalls();

  RelayContext context_;
  WhenLost whenLost_;
  std::shared_ptr<net::Http2Session> front_;
  std::shared_ptr<Backend> backend_;  // for new calls; older connections are owned by their calls
  std::unordered_map<std::int32_t, CallPtr> calls_;  // by the client's stream
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
