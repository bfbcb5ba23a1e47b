#include "cluster/up/control.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json/object.hpp>

#include "base/event_loop.h"
#include "cluster/up/clusters.h"
#include "net/answering.h"
#include "net/http_client.h"

namespace koord::cluster {

namespace {

constexpr std::chrono::milliseconds kControlLimit{60'000};

void answer(net::Responder& responder, Result<json::value> result) {
  const net::Headers headers = {{"Content-Type", "application/json"}};
  if (result) {
    responder.respond(200, headers, toJson(*result));
  } else {
    const json::value message = json::object{{"message", result.error().message}};
    responder.respond(httpStatusOf(result.error().code), headers, toJson(message));
  }
}

Task<void> act(std::function<Task<Result<>>()> action, std::shared_ptr<net::Responder> responder) {
  auto acting = action();
  auto done = co_await acting;
  answer(*responder, done ? Result<json::value>(json::object()) : fail(std::move(done.error())));
}

Task<void> copy(std::function<Task<Result<std::string>>()> action,
                std::shared_ptr<net::Responder> responder) {
  auto acting = action();
  auto file = co_await acting;
  answer(*responder,
         file ? Result<json::value>(json::object{{"file", *file}}) : fail(std::move(file.error())));
}

std::string socketOf(const std::string& dataDir) {
  return dataDir + "/control.sock";
}

Task<void> fetch(net::HttpClient* http, EventLoop* loop, net::HttpRequest request,
                 Result<net::HttpResponse>* reply) {
  auto fetching = http->fetch(*loop, std::move(request));
  *reply = co_await fetching;
  loop->stop();
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::start(Executor& executor,
                                                            const std::string& dataDir,
                                                            ControlActions actions) {
  const std::string socket = socketOf(dataDir);
  if (socket.size() >= sizeof(sockaddr_un::sun_path))
    return fail(ErrorCode::Invalid,
                fmt::format("{} is longer than a socket's name may be ({} characters): 'koordctl "
                            "pause', 'resume' and 'snapshot' cannot reach this cluster",
                            socket, sizeof(sockaddr_un::sun_path) - 1));
  ::unlink(socket.c_str());  // of a koordctl that was killed; the data folder's lock is ours
  std::unique_ptr<ControlServer> self(new ControlServer(std::move(actions)));
  net::ServerOptions options;
  options.listen = "unix:" + socket;
  auto http = net::HttpServer::start(executor, std::move(options),
                                     [raw = self.get()](const net::ServerRequest& request,
                                                        std::shared_ptr<net::Responder> responder) {
                                       raw->handle(request, std::move(responder));
                                     });
  if (!http) return fail(std::move(http.error()));
  self->http_ = *std::move(http);
  return self;
}

void ControlServer::handle(const net::ServerRequest& request,
                           std::shared_ptr<net::Responder> responder) {
  const std::string what = request.method + " " + request.target;
  if (what == "GET /status") return answer(*responder, actions_.status());
  if (what == "POST /stop") {
    answer(*responder, json::value(json::object()));
    return actions_.stop();
  }
  if (what == "POST /pause" || what == "POST /resume") {
    auto acting = act(what == "POST /pause" ? actions_.pause : actions_.resume, responder);
    return tasks_.spawn(net::runHandler(what, responder, std::move(acting)));
  }
  if (what == "POST /copy")
    return tasks_.spawn(net::runHandler(what, responder, copy(actions_.copy, responder)));
  answer(*responder, fail(ErrorCode::NotFound, "there is nothing at " + what));
}

Result<json::value> askCluster(const std::string& dataDir, const std::string& method,
                               const std::string& path) {
  if (runningProcess(dataDir) == 0)
    return fail(ErrorCode::NotFound, fmt::format("no 'koordctl up' runs on {}", dataDir));
  net::HttpRequest request;
  request.method = method;
  request.url = "http://koordctl" + path;
  request.unixSocket = socketOf(dataDir);
  request.timeout = kControlLimit;
  Result<net::HttpResponse> reply;
  EventLoop loop;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    TaskGroup tasks;
    tasks.spawn(fetch(&http, &loop, std::move(request), &reply));
    loop.run();
  }
  if (!reply) return fail(std::move(reply.error()).within(socketOf(dataDir)));
  auto document = parseJson(reply->body);
  if (reply->status == 200) return document;
  const std::string said(document ? textAt(*document, "message") : std::string_view());
  return fail(codeOfHttpStatus(reply->status),
              said.empty() ? fmt::format("{}{}: status {}", dataDir, path, reply->status) : said);
}

}  // namespace koord::cluster
