#pragma once

// One client's connection and its own connection to the runtime: every call, message and header of
// the one goes to the other as it came, in both directions, as fast as its reader reads. Nothing is
// decoded but the eight calls of cri_method.h, whose request and answer are kept until they are
// whole; streams, methods and services that nobody has thought of yet pass all the same.
//
//   client --front--> Relay --back--> runtime
//
// A connection per client keeps a slow reader from holding up the others, and lets the runtime see
// who leaves. Where the runtime goes away its calls end as Unavailable, and the next call connects
// anew. A client that leaves a call, or whose deadline has passed, ends it on the other side, too.

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
  void start(net::Fd client) override;
  void drain() override;
  std::size_t callsUnderWay() const override { return calls_.size(); }

 private:
  class Back;
  struct Answer {
    net::Http2Headers headers;
    std::string body;
    net::Http2Headers trailers;  // empty: the headers were all
    bool cut = false;            // it did not come to its end; by this HTTP/2 error
    std::uint32_t code = 0;
  };
  struct Call {
    std::int32_t front = 0;
    std::int32_t back = -1;
    std::shared_ptr<Back> runtime;
    net::Http2Headers request;
    SteadyTime start;
    SteadyTime deadline;
    bool answered = false;  // the client has the answer's headers
    bool ended = false;     // and its end, or has left
    // Bytes that one side has brought and the other has not taken yet; they hold its window.
    std::size_t toClient = 0;
    std::size_t toRuntime = 0;
    // Of calls that are looked into:
    std::optional<Intercepted> intercepted;
    std::string body;  // of the request; then nothing
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
  // Opens the call at the runtime; false: it could not be reached, which the client has been told.
  bool forward(Call& call, bool last);
  Task<void> intercept(CallPtr call);
  void refuse(Call& call, const net::GrpcStatus& status);
  void deliver(Call& call);
  void finish(Call& call, bool ok);
  // Gives back the window of what nobody is going to take any more.
  void releaseWindows(Call& call);
  void dropCalls();

  RelayContext context_;
  WhenLost whenLost_;
  std::shared_ptr<net::Http2Session> front_;
  std::shared_ptr<Back> back_;  // takes new calls; older ones live in their calls
  std::unordered_map<std::int32_t, CallPtr> calls_;  // by the client's stream
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
