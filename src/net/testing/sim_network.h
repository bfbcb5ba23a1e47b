#pragma once

// A network with one server on it, for tests on virtual time: an HttpTransport whose requests go to
// a handler in the same process, with delays and faults drawn from a seed. Everything above it
// (HttpApi, watches, informers, leader election) runs unchanged.
//
// Requests overtake each other as their delays differ; the bytes of one answer stay in order, as in
// TCP. Several networks may lead to one server: one per client whose connection fails on its own.
// On one executor; must outlive the requests and the handler's answers.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/random.h"
#include "net/http_server.h"
#include "net/http_transport.h"

namespace koord::net {

// Probabilities are per request unless stated otherwise.
struct NetworkFaults {
  Duration minDelay = std::chrono::milliseconds(1);  // of each message, each way
  Duration maxDelay = std::chrono::milliseconds(1);
  double refuse = 0;       // no connection
  double loseRequest = 0;  // broken off before the server has read it
  double loseAnswer = 0;   // broken off after the server has executed it
  double repeat = 0;       // reaches the server twice; the client gets the second answer
  double swallow = 0;      // lost without an error, until the client's timeout
  double overload = 0;     // 429 (with Retry-After), 500 or 503 instead of reaching the server
  double cut = 0;          // per piece of an answer: cut within it, as a broken or a proper end
};

class SimNetwork final : public HttpTransport {
 public:
  SimNetwork(Executor& executor, Random random);
  ~SimNetwork() override;

  NetworkFaults faults;
  // Counts down with every byte of answers' bodies. The byte at which it would pass 0 and all later
  // bytes of that answer do not arrive. Then it is unset.
  std::optional<std::size_t> cutAfterBytes;
  bool cutsLookComplete = false;  // an answer cut by cutAfterBytes looks complete to HTTP
  std::size_t requests = 0;       // begun by clients
  std::size_t bytes = 0;          // of answers, arrived

  // Sets the server of later requests; null: connections are refused. Running requests break off.
  void listen(HttpServer::Handler handler);
  void breakAll();

  Task<Result<HttpResponse>> fetch(Executor& executor, HttpRequest request) override;
  std::unique_ptr<Stream> stream(Executor& executor, HttpRequest request, StreamSink sink) override;

 private:
  class Exchange;
  class SimResponder;
  class Handle;

  Executor& executor_;
  Random random_;
  HttpServer::Handler handler_;
  int server_ = 0;  // counts the listeners
  std::set<std::shared_ptr<Exchange>> open_;
};

}  // namespace koord::net
