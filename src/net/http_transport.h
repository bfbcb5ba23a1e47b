#pragma once

// Interface that sends HTTP requests. Implementations: HttpClient (http_client.h), and the
// simulated network of tests (testing/sim_network.h).

#include <functional>
#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "base/task.h"
#include "net/http_types.h"

namespace koord::net {

// Receives a stream's answer. Called on the executor in this order: onHead once, onChunk any number
// of times, onClosed once. If nothing arrives, only onClosed is called.
struct StreamSink {
  std::move_only_function<void(HttpResponse)> onHead;  // status and headers
  std::move_only_function<void(std::string)> onChunk;  // never empty; boundaries mean nothing
  // Empty result: the server ended the answer properly. Error: the stream broke off or could not
  // start.
  std::move_only_function<void(Result<>)> onClosed;
};

// A running stream. Destroying it, also from inside a callback, cancels the transfer: no callback
// follows. On the executor's thread only.
class Stream {
 public:
  virtual ~Stream() = default;
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;

  // One request, the whole answer. Destroying the task cancels the request.
  virtual Task<Result<HttpResponse>> fetch(Executor& executor, HttpRequest request) = 0;

  // One request, the answer in pieces as they arrive; for watches and logs.
  virtual std::unique_ptr<Stream> stream(Executor& executor, HttpRequest request,
                                         StreamSink sink) = 0;
};

}  // namespace koord::net
