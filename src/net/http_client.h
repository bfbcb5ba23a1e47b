#pragma once

// The HTTP client of every program: HTTP/1.1 and HTTP/2, TLS, unix sockets, proxies, kept-alive
// connections, on libcurl's multi interface with I/O threads of its own.
//
//   HttpRequest request;
//   request.url = "https://127.0.0.1:6443/version";
//   auto reply = co_await client.fetch(executor, std::move(request));
//
// Any HTTP status is an answer, not an error; redirects are not followed. Errors:
//   Unavailable  "connect to https://127.0.0.1:6443: connection refused", also TLS and broken
//                connections
//   Timeout      "GET https://...: no answer within 30s"
//   BadRequest   the URL cannot be used
//   Invalid      the CA, certificate or key given cannot be used
//   Cancelled    the client was destroyed
//
// A request that may have reached a server is sent again only if its method only reads.
//
// Threads: fetch and stream are called on the executor's thread, and the answer arrives there. One
// client may serve several executors. They must be thread-safe (EventLoop) and outlive the client.

#include <memory>
#include <string>

#include "net/http_transport.h"

namespace koord::net {

class Http1Servers;

class HttpClient final : public HttpTransport {
 public:
  struct Options {
    std::string userAgent = "koordinator";  // for requests without a User-Agent header
    // A stream is paused while more bytes than this wait for onChunk to return.
    std::size_t streamWindow = 256 << 10;
  };

  HttpClient();
  explicit HttpClient(Options options);
  // Ends the I/O threads. Running fetches end with Cancelled; the sinks of streams are not called
  // again.
  ~HttpClient() override;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // One request, the whole answer. Destroying the task cancels the request.
  Task<Result<HttpResponse>> fetch(Executor& executor, HttpRequest request) override;

  // One request, the answer in pieces as they arrive; for watches and logs.
  std::unique_ptr<Stream> stream(Executor& executor, HttpRequest request, StreamSink sink) override;

 private:
  class Io;
  const std::shared_ptr<Io>& ioFor(HttpRequest& request) const;

  std::shared_ptr<Http1Servers> http1_;
  std::shared_ptr<Io> shared_;
  // For requests without HTTP/2. Once libcurl knows that a host speaks HTTP/2, it treats every
  // connection to it as multiplexed, also the busy ones of HTTP/1.1.
  std::shared_ptr<Io> separate_;
};

}  // namespace koord::net
