#pragma once

// HTTP(S) in front of a Server: routes, authentication by client certificate or bearer token,
// content negotiation, watches as streams. This is what kubectl and the programs' HttpApi talk to.

#include <map>
#include <memory>
#include <string>

#include "apiserver/audit/audit.h"
#include "apiserver/server/server.h"
#include "net/http_server.h"

namespace koord::apiserver {

// What is asked for of a container's log: at once, or piece by piece.
struct PodLog {
  std::string text;
  // The next piece, which may be empty; no value at the end. Null when the text is all.
  std::function<Task<std::optional<std::string>>()> more;
};

struct HttpFrontOptions {
  std::string listen = "127.0.0.1:0";  // "" = no socket: requests come through handle() only
  // Certificate and key of the server and the authority of its clients; null = plain HTTP (tests).
  std::shared_ptr<const net::ServerTls> tls;
  std::map<std::string, User, std::less<>> tokens;  // bearer token -> who it is
  // Requests without credentials are served, too, as system:anonymous: with authorisation that is
  // as good as nothing.
  bool anonymous = false;
  int threads = 1;
  // A watcher that is this far behind is cut off.
  std::size_t watchBacklogBytes = 64 << 20;
  // Answers GET pods/NAME/log; null: not found.
  std::function<Task<Result<PodLog>>(std::string namespace_, std::string pod, api::StringMap query)>
      podLogs;
  AuditSink audit;  // null: requests are not recorded
};

class HttpFront {
 public:
  // Serves on the server's executor, which must be thread-safe.
  static Result<std::unique_ptr<HttpFront>> start(Server& server, HttpFrontOptions options);
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  std::string address() const;  // "127.0.0.1:41873"
  // Ends watches and waits for answers in flight, at most `grace`.
  Task<void> shutdown(Duration grace);
  // Replaces the tokens that are known.
  void setTokens(std::map<std::string, User, std::less<>> tokens);

  // The handler itself, for tests without sockets.
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder);

 private:
  HttpFront(Server& server, HttpFrontOptions options);
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace koord::apiserver
