#include "cluster/hostnode/kubelet_server.h"

#include <boost/json/object.hpp>

#include "cluster/hostnode/log_follower.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::cluster {

namespace {

const net::Headers kText = {{"Content-Type", "text/plain; charset=utf-8"}};
const net::Headers kJson = {{"Content-Type", "application/json"}};

Task<void> follow(LogFollower log, std::shared_ptr<net::Responder> responder,
                  std::shared_ptr<bool> closed) {
  while (!*closed) {
    auto reading = log.next();
    auto text = co_await reading;
    if (!text) break;
    if (!text->empty() && !*closed)
      responder->write(std::make_shared<const std::string>(*std::move(text)));
  }
  if (!*closed) responder->end();
}

}  // namespace

KubeletServer::~KubeletServer() = default;

Result<std::unique_ptr<KubeletServer>> KubeletServer::start(Executor& executor,
                                                            KubeletServerOptions options) {
  auto self = std::unique_ptr<KubeletServer>(new KubeletServer(executor, std::move(options.token)));
  net::ServerOptions server;
  server.listen = options.listen;
  server.tls = std::move(options.tls);
  auto started = net::HttpServer::start(
      executor, std::move(server),
      [raw = self.get()](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
        raw->handle(std::move(request), std::move(responder));
      });
  if (!started) return fail(std::move(started.error()).within("kubelet endpoints"));
  self->server_ = *std::move(started);
  return self;
}

void KubeletServer::handle(net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  if (!target) return responder->respond(400, kText, target.error().message + "\n");
  if (target->path == "/healthz") return responder->respond(200, kText, std::string("ok"));
  const auto authorization = net::headerOf(request.headers, "Authorization");
  const bool byToken = !token_.empty() && net::equalConstantTime(authorization, "Bearer " + token_);
  if (!request.peer && !byToken)
    return responder->respond(401, kText, std::string("Unauthorized\n"));
  responder->authenticated();
  if (request.method != "GET")
    return responder->respond(405, kText, std::string("only GET is served here\n"));
  if (!node_) return responder->respond(503, kText, std::string("the node is starting\n"));
  if (target->path == "/pods" || target->path == "/pods/")
    return responder->respond(200, kJson, toJson(node_->podList()));
  if (target->path == "/configz") {
    const json::value config = json::object{{"kubeletconfig",
                                             {{"kind", "KubeletConfiguration"},
                                              {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                                              {"cgroupDriver", "cgroupfs"},
                                              {"cgroupsPerQOS", true},
                                              {"cpuManagerPolicy", "none"},
                                              {"topologyManagerPolicy", "none"},
                                              {"cpuCFSQuota", true},
                                              {"cpuCFSQuotaPeriod", "100ms"},
                                              {"maxPods", 110},
                                              {"port", port()}}}};
    return responder->respond(200, kJson, toJson(config));
  }
  if (target->path.starts_with("/containerLogs/")) return logs(request, std::move(responder));
  responder->respond(404, kText, std::string("404 page not found\n"));
}

void KubeletServer::logs(const net::ServerRequest& request,
                         std::shared_ptr<net::Responder> responder) {
  const auto target = net::parseTarget(request.target);
  std::vector<std::string> parts;
  std::string_view rest =
      std::string_view(target->path).substr(std::string_view("/containerLogs/").size());
  for (std::size_t slash = 0; (slash = rest.find('/')) != std::string_view::npos;
       rest.remove_prefix(slash + 1))
    parts.emplace_back(rest.substr(0, slash));
  parts.emplace_back(rest);
  if (parts.size() != 3)
    return responder->respond(400, kText,
                              std::string("want /containerLogs/<namespace>/<pod>/<container>\n"));
  const auto options = readLogOptions(
      [&](std::string_view name) { return std::string(target->param(name)); }, executor_.wallNow());
  if (!options) return responder->respond(400, kText, options.error().message + "\n");
  auto log = LogFollower::open(executor_, *node_, {parts[0], parts[1]}, parts[2], *options);
  if (!log) {
    const int status = log.error().code == ErrorCode::NotFound ? 404 : 400;
    return responder->respond(status, kText, log.error().message + "\n");
  }
  auto text = log->first();
  if (!text) return responder->respond(500, kText, text.error().message + "\n");
  if (!options->follow) return responder->respond(200, kText, *std::move(text));
  auto closed = std::make_shared<bool>(false);
  responder->onClosed([closed] { *closed = true; });
  responder->begin(200, kText);
  if (!text->empty()) responder->write(std::make_shared<const std::string>(*std::move(text)));
  streams_.spawn(follow(*std::move(log), std::move(responder), std::move(closed)));
}

}  // namespace koord::cluster
