#pragma once

// The HTTP server of every program: HTTP/1.1 over TCP, TLS or a unix socket, on Boost.Asio with I/O
// threads of its own. It reads whole requests, calls one handler on an executor, and writes answers
// that are given at once or in pieces (watches).
//
//   auto server = HttpServer::start(executor, {.listen = "127.0.0.1:0"},
//                                   [](ServerRequest request, std::shared_ptr<Responder> responder)
//                                   {
//                                     responder->respond(200, {}, "hello\n");
//                                   });
//   (*server)->address();  // "127.0.0.1:41873"
//
// The server itself answers what never becomes a request: 400 for what is not HTTP, 413 and 431 for
// what is over the limits. It keeps connections alive, takes pipelined requests one after the
// other, and drops connections that are idle or too slow.
//
// Threads: everything here is called on the executor's thread, except setTls, which any thread may
// call. The executor must be thread-safe (EventLoop) and outlive the server.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"
#include "net/http_types.h"
#include "net/tls_limits.h"

namespace koord::net {

// Who a verified client certificate says the client is.
struct PeerIdentity {
  std::string commonName;                  // the user, in Kubernetes
  std::vector<std::string> organizations;  // the groups
  std::string authority;  // fingerprint (tls.h) of the certificate that vouches for it
  WallTime validUntil = WallTime::max();  // a connection may outlive the certificate
};

struct ServerRequest {
  std::string method;
  std::string target;  // as sent: "/api/v1/pods?watch=1"; parseTarget in url.h takes it apart
  Headers headers;
  std::string body;
  std::string remote;                        // "127.0.0.1:50412", "unix"
  std::shared_ptr<const PeerIdentity> peer;  // null without a client certificate that is good
  std::string
      peerProblem;  // why the certificate that the client showed is not; "" = it is, or none
  bool tls = false;
};

// The way to answer one request; kept for as long as the answer takes. Either respond, or begin,
// write..., end. Calls that come too late (the connection is gone, the answer is complete) do
// nothing. Dropping the last reference without an answer sends 500; dropping it inside a streamed
// answer cuts the connection, so that the client sees that the answer is not complete.
// Content-Length, Transfer-Encoding, Connection and Date are added by the server; everything else,
// Content-Type included, is the handler's. The body of an answer to HEAD is not sent.
//
// An interface, so that handlers can be tested without a socket.
class Responder {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  virtual ~Responder() = default;

  // The whole answer.
  virtual void respond(int status, Headers headers, Bytes body) = 0;
  void respond(int status, Headers headers, std::string body) {
    respond(status, std::move(headers), std::make_shared<const std::string>(std::move(body)));
  }

  // An answer in pieces: each chunk goes out at once. A chunk is not copied, so one event can be
  // shared by all its watchers.
  virtual void begin(int status, Headers headers) = 0;
  virtual void write(Bytes chunk) = 0;
  virtual void end() = 0;

  // The client has shown who it is: its connection is among the last to go when there are too many.
  // Connections with a verified client certificate count as known anyway.
  virtual void authenticated() {}

  // Bytes given to write() which the kernel has not taken: how far behind the reader is.
  virtual std::size_t queuedBytes() const = 0;
  // Drops the connection and what is queued.
  virtual void abort() = 0;

  // Calls fn on the executor, never from inside a call to this object, when the connection is lost
  // or the server shuts down before a streamed answer has ended. Once; replaces an earlier fn.
  virtual void onClosed(Callback fn) = 0;
};

// Certificates of a server, as PEM text.
struct ServerTls {
  std::string certPem;  // with the chain, if any
  std::string keyPem;
  // Clients may show a certificate. One that these do not vouch for, that has expired or is not for
  // clients is reported to the handler, which can answer in words what an alert could not. "" = do
  // not ask.
  std::string clientCaPem;
  TlsLimits limits;
};

struct ServerOptions {
  // "127.0.0.1:8080", "[::1]:8080", ":8080" (every address), "localhost:0" (the kernel picks the
  // port), "unix:/run/x.sock" (only the owner may connect).
  std::string listen;
  std::shared_ptr<const ServerTls> tls;  // null = no TLS
  int threads = 1;                       // I/O threads
  // When there are more, or when the process has used three quarters of its descriptors for
  // connections, those go that are worth least: first the oldest that have not shown who they are
  // and are in the middle of something, then idle ones, last idle ones of known clients. Where all
  // are busy, further ones wait in the kernel's queue.
  std::size_t maxConnections = 10'000;
  // The same for one client: an address (this machine is one, and so is an IPv6 network of 64 bits)
  // or, over a unix socket, a user. Where all are busy, further ones are closed.
  std::size_t maxConnectionsPerClient = 4'096;
  std::size_t maxBodyBytes = 3 << 20;
  std::size_t maxHeaderBytes = 64 << 10;
  // Each for the whole of what it is about; a byte now and then does not extend them.
  std::chrono::milliseconds handshakeTimeout{10'000};
  // From the connection, or a later request's first byte, to the end of its headers.
  std::chrono::milliseconds headerTimeout{15'000};
  std::chrono::milliseconds idleTimeout{90'000};  // between requests
  // For a request's body and for taking an answer, each and the time that it needs at the lowest
  // rate. So three megabytes may come in three minutes, but three bytes may not. An answer of which
  // nothing is taken for writeTimeout is given up, too.
  std::chrono::milliseconds bodyTimeout{15'000};
  std::chrono::milliseconds writeTimeout{60'000};
  std::size_t minBytesPerSecond = 16 << 10;
};

class HttpServer {
 public:
  using Handler = std::function<void(ServerRequest, std::shared_ptr<Responder>)>;

  // Listens and serves. Errors: "listen on 127.0.0.1:6443: address already in use", bad addresses,
  // certificates and keys that cannot be used or do not belong together.
  static Result<std::unique_ptr<HttpServer>> start(Executor& executor, ServerOptions options,
                                                   Handler handler);
  // Drops every connection and ends the I/O threads. The handler and onClosed are not called after.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Stops in good order: no new connections or requests, streamed answers are ended, other answers
  // get up to `grace` to complete. Returns when every connection is closed.
  Task<void> shutdown(Duration grace);

  // Certificates for the connections to come. An error leaves the old ones in force.
  Result<> setTls(const ServerTls& tls);

  std::string address() const;  // "127.0.0.1:41873", "unix:/run/x.sock"
  std::uint16_t port() const;   // 0 for a unix socket
  std::size_t connections() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::net
