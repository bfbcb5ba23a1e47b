#include "cluster/hostnode/stream_server.h"

#include <fmt/format.h>

#include <boost/json/object.hpp>

#include "cluster/streaming/port_forward.h"
#include "cluster/streaming/remote_command.h"
#include "net/answering.h"

namespace koord::cluster {

namespace {

void answerStatus(net::Responder& responder, int status, std::string_view reason,
                  std::string message) {
  responder.respond(status, {{"Content-Type", "application/json"}},
                    toJson(json::object{{"kind", "Status"},
                                        {"apiVersion", "v1"},
                                        {"metadata", json::object{}},
                                        {"status", "Failure"},
                                        {"message", std::move(message)},
                                        {"reason", reason},
                                        {"code", status}}));
}

}  // namespace

void refuseStream(net::Responder& responder, const Error& error) {
  answerStatus(responder, httpStatusOf(error.code), reasonOf(error.code), error.message);
}

void answerNotImplemented(net::Responder& responder, std::string whatToDo) {
  answerStatus(responder, 501, "NotImplemented", std::move(whatToDo));
}

void StreamServer::exec(api::ObjectKey pod, std::string container, net::ServerRequest request,
                        std::shared_ptr<net::Responder> responder) {
  auto id = node_.runningContainer(pod, container);
  if (!id) return refuseStream(*responder, id.error());
  std::vector<std::string> command;
  if (const auto target = net::parseTarget(request.target))
    for (const auto& [name, value] : target->query)
      if (name == "command") command.push_back(value);
  if (command.empty())
    return refuseStream(*responder, {ErrorCode::BadRequest, "you must specify a command", {}});
  tasks_.spawn(net::runHandler(
      "exec in " + pod.toString(), responder,
      serve(this, *std::move(id), std::move(command), std::move(request), responder)));
}

void StreamServer::attach(api::ObjectKey pod, std::string container, net::ServerRequest request,
                          std::shared_ptr<net::Responder> responder) {
  auto id = node_.runningContainer(pod, container);
  if (!id) return refuseStream(*responder, id.error());
  tasks_.spawn(net::runHandler("attach to " + pod.toString(), responder,
                               serve(this, *std::move(id), {}, std::move(request), responder)));
}

Task<void> StreamServer::serve(StreamServer* self, std::string id, std::vector<std::string> command,
                               net::ServerRequest request,
                               std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  const auto streams = target ? commandStreamsOf(*target) : fail(target.error());
  if (!streams) {
    refuseStream(*responder, streams.error());
    co_return;
  }
  auto opening = CommandConnection::open(self->executor_, request, std::move(responder), *streams);
  const auto client = co_await opening;
  if (!client) co_return;
  auto starting = command.empty()
                      ? self->runtime_.attach(std::move(id), *streams)
                      : self->runtime_.openCommand(std::move(id), std::move(command), *streams);
  auto started = co_await starting;
  if (!started) {
    failCommand(*client, started.error());
    co_return;
  }
  auto serving = serveCommand(&self->executor_, client, *std::move(started));
  co_await serving;
}

void StreamServer::portForward(api::ObjectKey pod, net::ServerRequest request,
                               std::shared_ptr<net::Responder> responder) {
  tasks_.spawn(net::runHandler(
      "port-forward to " + pod.toString(), responder,
      servePortForward(&executor_, &io_, std::move(request), responder, pod.toString())));
}

}  // namespace koord::cluster
