#pragma once

// One client's connection and its own connection to dockerd: requests, answers and upgraded streams (attach, exec)
// go over as they came, as fast as their reader reads. The requests of docker_api.h are kept until
// they are whole, as are their answers.
//
// HTTP/1.1 has one request at a time on a connection: the next one is looked at when the answer to
// the one before has gone. Where an answer has no end but that of the connection, both sides talk freely from
// its head on. Where dockerd cannot be reached, it is 502, and the connection closes.

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

  void start(net::Fd client) override;
  void drain() override;
  std::size_t callsUnderWay() const override { return call_ ? 1 : 0; }

 private:
  struct Call {
    HttpHead head;
    SteadyTime start;
    std::optional<DockerCall> intercepted;
    std::string raw, content;  // of a request that is looked into
    bool asked = false;        // the request is whole
    bool answered = false;     // the client has some of the answer
    // Of the answer:
    int status = 0;
    bool closes = false;  // no request after this one
    std::string answer;   // of a request that is looked into: head and body
    std::string answerContent;
    std::optional<Completer<bool>> complete;
  };
  using CallPtr = std::shared_ptr<Call>;
  using Piece = HttpReader::Piece;

  SocketEnd::User clientUser();
  SocketEnd::User dockerUser();
  // Takes what the client has said, as far as its turn has come.
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
  void talkFreely();
  void clientEnded();
  void dockerEnded();
  void closeAll();

  DockerRelayContext context_;
  WhenLost whenLost_;
  std::shared_ptr<SocketEnd> client_, docker_;
  HttpReader requests_{HttpReader::Role::Request}, answers_{HttpReader::Role::Response};
  CallPtr call_;  // the one under way
  bool freely_ = false, draining_ = false;
  bool clientDone_ = false, dockerDone_ = false;  // who says no more
  TaskGroup tasks_;
};

}  // namespace koord::runtimeproxy
