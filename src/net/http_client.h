#pragma once

// The HTTP client of every program: HTTP/1.1 and HTTP/2, TLS, unix sockets, proxies, kept-alive
// connections, on libcurl's multi interface with one I/O thread of its own.
//
//   HttpRequest request;
//   request.url = "https://127.0.0.1:6443/version";
//   auto reply = co_await client.fetch(executor, std::move(request));
//
// Any HTTP status is an answer, not an error; redirects are not followed. Errors say what failed
// where:
//   Unavailable  "connect to https://127.0.0.1:6443: connection refused", also TLS and broken
//   connections Timeout      "GET https://...: no answer within 30s" BadRequest   the URL cannot be
//   used;  Invalid  the CA, certificate or key given cannot be used Cancelled    the client was
//   destroyed
//
// Threads: fetch and stream are called on the executor's thread, and the answer arrives there. One
// client may serve several executors. They must be thread-safe (EventLoop) and outlive the client.

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"
#include "net/http_types.h"

namespace koord::net {

// Where a stream's answer goes. All on the executor, in this order: onHead once, onChunk any number
// of times, onClosed once. When nothing arrived, onClosed comes alone.
struct StreamSink {
  std::move_only_function<void(HttpResponse)> onHead;  // status and headers
  std::move_only_function<void(std::string)> onChunk;  // never empty; boundaries mean nothing
  // Empty result: the server ended the answer properly. Error: it broke off or could not start.
  std::move_only_function<void(Result<>)> onClosed;
};

// A running stream. Destroying it, also from inside a callback, cancels the transfer: no callback
// comes after. On the executor's thread only.
class Stream {
 public:
  virtual ~Stream() = default;
};

class HttpClient {
 public:
  struct Options {
    std::string userAgent = "koordinator";  // for requests without a User-Agent header
    // A stream is paused while more bytes than this wait for onChunk to return.
    std::size_t streamWindow = 1 << 20;
  };

  HttpClient();
  explicit HttpClient(Options options);
  // Ends the I/O thread. Fetches still running end with Cancelled; streams fall silent.
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // One request, the whole answer. Destroying the task cancels the request.
  Task<Result<HttpResponse>> fetch(Executor& executor, HttpRequest request);

  // One request, the answer in pieces as they arrive; for watches and logs.
  std::unique_ptr<Stream> stream(Executor& executor, HttpRequest request, StreamSink sink);

 private:
  class Io;
  std::shared_ptr<Io> io_;
};

}  // namespace koord::net
