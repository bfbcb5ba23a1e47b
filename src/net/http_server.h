#pragma once

// The HTTP server of every program: HTTP/1.1 over TCP, TLS or a unix socket, on Boost.Asio with I/O
// threads of its own. It reads whole requests, calls one handler on an executor, and writes
// answers, at once or in pieces (watches).
//
//   auto server = HttpServer::start(executor, {.listen = "127.0.0.1:0"},
//                                   [](ServerRequest request, std::shared_ptr<Responder> responder)
//                                   {
//                                     responder->respond(200, {}, "hello\n");
//                                   });
//   (*server)->address();  // "127.0.0.1:41873"
//
// The server itself answers 400 to input that is not HTTP, and 413 and 431 to requests over the
// limits. It keeps connections alive, handles pipelined requests one after the other, and drops
// connections that are idle or too slow.
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

// The identity in a verified client certificate.
struct PeerIdentity {
  std::string commonName;                  // the user, in Kubernetes
  std::vector<std::string> organizations;  // the groups
  std::string authority;  // fingerprint (tls.h) of the issuing authority's certificate
  WallTime validUntil = WallTime::max();  // a connection may outlive the certificate
};

struct ServerRequest {
  std::string method;
  std::string target;  // as sent: "/api/v1/pods?watch=1"; parseTarget in url.h decodes it
  Headers headers;
  std::string body;
  std::string remote;                        // "127.0.0.1:50412", "unix"
  std::shared_ptr<const PeerIdentity> peer;  // nullptr without a valid client certificate
  std::string
      peerProblem;  // why the client's certificate is not valid; "" = it is, or there is none
  bool tls = false;
};

// Answers one request; the handler keeps it until the answer is complete. Call either respond(), or
// begin(), write()..., end(). Later calls, and calls after the connection was lost, do nothing.
// Dropping the last reference without an answer sends 500; dropping it inside a streamed answer
// cuts the connection, so that the client sees that the answer is incomplete. The server adds
// Content-Length, Transfer-Encoding, Connection and Date; the handler sets all other headers, also
// Content-Type. The body of an answer to HEAD is not sent.
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

  // Marks the client as authenticated: its connection is among the last to be closed when there are
  // too many. Connections with a verified client certificate count as authenticated without it.
  virtual void authenticated() {}

  // Answers 101 Switching Protocols with these headers, which name the protocol in Upgrade, and
  // leaves the connection to the handler: write() sends bytes unchanged, end() closes the
  // connection after them. onInput is called on the executor with the client's bytes. The server
  // stops reading while a megabyte of them is not consumed.
  using OnInput = std::move_only_function<void(std::string bytes)>;
  virtual void upgrade(Headers headers, OnInput onInput);
  // So many bytes of input have been processed.
  virtual void consumed(std::size_t bytes) { (void)bytes; }

  // Bytes passed to write() that the kernel has not taken: how far the reader is behind.
  virtual std::size_t queuedBytes() const = 0;
  // Drops the connection and the queued bytes.
  virtual void abort() = 0;

  // `fn` is called once on the executor, never from inside a call to this object, when the
  // connection is lost or the server shuts down before a streamed answer has ended. Replaces an
  // earlier fn.
  virtual void onClosed(Callback fn) = 0;
};

// Certificates of a server, as PEM text.
struct ServerTls {
  std::string certPem;  // with the chain, if any
  std::string keyPem;
  // Authorities of client certificates; clients may send one. If the certificate is from another
  // authority, expired or not for clients, that is reported to the handler, whose answer can say
  // more than a TLS alert. "" = certificates are not requested.
  std::string clientCaPem;
  TlsLimits limits;
};

struct ServerOptions {
  // "127.0.0.1:8080", "[::1]:8080", ":8080" (every address), "localhost:0" (the kernel picks the
  // port), "unix:/run/x.sock" (only the owner may connect).
  std::string listen;
  std::shared_ptr<const ServerTls> tls;  // nullptr = no TLS
  int threads = 1;                       // I/O threads
  // If there are more, or if connections use three quarters of the process's descriptors, the
  // server closes connections: first the oldest unauthenticated ones within a handshake or request,
  // then idle ones, last idle ones of authenticated clients. If all are busy, new ones wait in the
  // kernel's queue.
  std::size_t maxConnections = 10'000;
  // The same for one client: an address (all loopback addresses are one, and so is an IPv6 network
  // of 64 bits) or, over a unix socket, a user. If all are busy, new ones are closed.
  std::size_t maxConnectionsPerClient = 4'096;
  std::size_t maxBodyBytes = 3 << 20;
  std::size_t maxHeaderBytes = 64 << 10;
  // Each limits the whole step; single bytes do not extend it.
  std::chrono::milliseconds handshakeTimeout{10'000};
  // From the connection, or a later request's first byte, to the end of its headers.
  std::chrono::milliseconds headerTimeout{15'000};
  std::chrono::milliseconds idleTimeout{90'000};  // between requests
  // Of an upgraded connection: time without a byte in either direction, as kubelet allows.
  std::chrono::milliseconds upgradedIdleTimeout{4 * 3'600'000};
  // Time for a request's body and for taking an answer, each plus the time that its bytes need at
  // the lowest rate. So three megabytes may take three minutes, but three bytes may not. An answer
  // is also given up if the client takes nothing of it for writeTimeout.
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
  // Drops every connection and ends the I/O threads. The handler and onClosed callbacks are not
  // called afterwards.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Shuts down gracefully: takes no new connections or requests, ends streamed answers, and gives
  // other answers up to `grace` to complete. Returns when every connection is closed.
  Task<void> shutdown(Duration grace);

  // Sets the certificates of new connections. On an error the old ones stay in force.
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
