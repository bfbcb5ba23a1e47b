#pragma once

// One client's connection and its own connection to dockerd: forwards requests, answers and
// upgraded streams (attach, exec) unchanged, as fast as their reader reads. The requests of
// docker_api.h and their answers are buffered until they are complete.
//
// HTTP/1.1 has one request at a time on a connection: the next request is read when the previous
// one is answered. If an answer ends only with the connection, both directions are forwarded freely
// from its head on. If dockerd cannot be reached, the answer is 502 and the connection closes.

#include <functional>
#include <memory>
#include <optional>

#include "base/task.h"
#include "runtimeproxy/connection.h"
#include "runtimeproxy/docker/docker_interceptor.h"
#include "runtimeproxy/docker/http_reader.h"
#include "runtimeproxy/docker/socket_end.h"
#include "runtimeproxy/metrics.h"

namespace koord::runtimeproxy {

struct DockerRelayContext {
  net::IoLoop& loop;
  std::string dockerSocket;
  DockerInterceptor& interceptor;
  Metrics& metrics;
};

class DockerRelay final : public Connection, public std::enable_shared_from_this<DockerRelay> {
 public:
  DockerRelay(DockerRelayContext context, WhenLost onLost)
      : context_(std::move(context)), whenLost_(std::move(onLost)) {}
  ~DockerRelay() override;

  void start(Fd client) override;
  void drain() override;
  std::size_t callsInFlight() const override { return call_ ? 1 : 0; }

 private:
  struct Call {
    HttpHead head;
    SteadyTime start;
    std::optional<DockerCall> intercepted;
    std::string raw, content;  // of an intercepted request
    bool asked = false;        // the request is complete
    bool answered = false;     // the client has received a part of the answer
    // The answer:
    int status = 0;
    bool closes = false;  // no request after this one
    std::string answer;   // of an intercepted request: head and body
    std::string answerContent;
    std::optional<Completer<bool>> complete;
  };
  using CallPtr = std::shared_ptr<Call>;
  using Piece = HttpReader::Piece;

  SocketEnd::User clientUser();
  SocketEnd::User dockerUser();
  // Handles the client's bytes, up to the end of the current request.
  void pump();
  void request(Piece piece);
  void beginCall(HttpHead head);
  void takeAnswers();
  void answer(Piece piece);
  Task<void> intercept(CallPtr call);
  bool sendIntercepted(Call& call, const std::optional<std::string>& body);
  bool connect();
  void refuse(int status, const std::string& why);
  void finish();
  void relayUnparsed();
  void clientEnded();
  void dockerEnded();
  void closeAll();

  DockerRelayContext context_;
  WhenLost whenLost_;
  std::shared_ptr<SocketEnd> client_, docker_;
  HttpReader requests_{HttpReader::Role::Request}, answers_{HttpReader::Role::Response};
  CallPtr call_;  // the running one
  bool passThrough_ = false, draining_ = false;
  bool clientDone_ = false, dockerDone_ = false;  // this side has ended its stream
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
