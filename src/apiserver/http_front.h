#pragma once

// The HTTP(S) front end of a Server: routes, authentication by client certificate or bearer token,
// content negotiation, watches as streams. kubectl and the programs' HttpApi connect to it.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/audit/audit.h"
#include "apiserver/server/server.h"
#include "net/http_server.h"

namespace koord::apiserver {

// A container's log: a text, or a stream of pieces.
struct PodLog {
  std::string text;
  // Returns the next piece, which may be empty; nullopt at the end. Null if `text` is the whole
  // log.
  std::function<Task<std::optional<std::string>>()> more;
};

struct HttpFrontOptions {
  std::string listen = "127.0.0.1:0";  // "" = no socket: requests come through handle() only
  // Certificate and key of the server and the authority of its clients; null = plain HTTP (tests).
  std::shared_ptr<const net::ServerTls> tls;
  std::map<std::string, User, std::less<>> tokens;  // bearer token -> user
  // Requests without credentials are served as system:anonymous, which with authorization may do
  // almost nothing.
  bool anonymous = false;
  int threads = 1;
  // A watch with this many unsent bytes is ended.
  std::size_t watchBacklogBytes = 64 << 20;
  // Answers GET pods/NAME/log. Null: such requests get 404.
  std::function<Task<Result<PodLog>>(std::string namespace_, std::string pod, api::StringMap query)>
      podLogs;
  // Why nothing may be written now, as a failure to answer; nullopt = it may. Null: always.
  // Reviews and tokens, which are not stored, are served nevertheless.
  std::function<std::optional<Error>()> writesRefused;
  // Answers an upgrade of pods/NAME/exec, attach or portforward of an existing pod, for which the
  // user has the permissions, after admission. The parameters are in the target of the request.
  // Null: such requests get 501.
  std::function<void(kube::Request call, net::ServerRequest request,
                     std::shared_ptr<net::Responder> responder)>
      podStreams;
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
  // Ends watches and waits for pending answers, at most `grace`.
  Task<void> shutdown(Duration grace);
  // Replaces the known tokens.
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
