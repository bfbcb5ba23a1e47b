#include "cluster/hostnode/kubelet_server.h"

#include <boost/json/object.hpp>

#include "cluster/hostnode/log_files.h"
#include "cluster/hostnode/log_follower.h"
#include "kube/client.h"
#include "net/answering.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::cluster {

namespace {

const net::Headers kText = {{"Content-Type", "text/plain; charset=utf-8"}};
const net::Headers kJson = {{"Content-Type", "application/json"}};

// The log waits while its reader is this far behind, in bytes.
constexpr std::size_t kBacklog = 4 << 20;
constexpr Duration kBacklogPause = std::chrono::milliseconds(50);

constexpr api::ResourceType kAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                           "SubjectAccessReview", false};

Task<Result<bool>> mayGet(kube::Api* api, std::string node,
                          std::shared_ptr<const net::PeerIdentity> who, std::string subresource) {
  json::array groups;
  for (const auto& group : who->organizations) groups.emplace_back(group);
  groups.emplace_back("system:authenticated");
  json::value review = json::object{{"apiVersion", "authorization.k8s.io/v1"},
                                    {"kind", "SubjectAccessReview"},
                                    {"spec",
                                     {{"user", who->commonName},
                                      {"groups", std::move(groups)},
                                      {"resourceAttributes",
                                       {{"verb", "get"},
                                        {"version", "v1"},
                                        {"resource", "nodes"},
                                        {"subresource", std::move(subresource)},
                                        {"name", std::move(node)}}}}}};
  auto asking = kube::createObject(*api, kAccessReviews, {}, std::move(review));
  auto answer = co_await asking;
  if (!answer) co_return fail(std::move(answer.error()));
  const auto* allowed = at(*answer, "status", "allowed");
  co_return allowed && allowed->is_bool() && allowed->get_bool();
}

// The narrower subresources first.
std::vector<std::string> subresourcesOf(std::string_view path) {
  if (path == "/pods" || path == "/pods/") return {"pods", "proxy"};
  if (path == "/configz") return {"configz", "proxy"};
  return {"proxy"};
}

Task<void> send(Executor* executor, LogFollower log, std::shared_ptr<net::Responder> responder) {
  const auto closed = std::make_shared<bool>(false);
  responder->onClosed([closed] { *closed = true; });
  responder->begin(200, kText);
  while (!*closed) {
    auto reading = log.next();
    auto text = co_await reading;
    if (!text) break;
    if (!text->empty() && !*closed)
      responder->write(std::make_shared<const std::string>(*std::move(text)));
    while (!*closed && responder->queuedBytes() > kBacklog) {
      auto pause = sleepFor(*executor, kBacklogPause);
      co_await pause;
    }
  }
  if (!*closed) responder->end();
}

}  // namespace

NodeAccess accessThroughApi(kube::Api& api, std::string nodeName) {
  return [api = &api, node = std::move(nodeName)](std::shared_ptr<const net::PeerIdentity> who,
                                                  std::string subresource) {
    return mayGet(api, node, std::move(who), std::move(subresource));
  };
}

KubeletServer::~KubeletServer() = default;

Result<std::unique_ptr<KubeletServer>> KubeletServer::start(Executor& executor,
                                                            KubeletServerOptions options) {
  auto self =
      std::unique_ptr<KubeletServer>(new KubeletServer(executor, std::move(options.access)));
  if (options.listen.empty()) return self;
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
  if (!request.peer || request.peer->validUntil < executor_.wallNow())
    return responder->respond(401, kText, std::string("Unauthorized\n"));
  responder->authenticated();
  if (request.method != "GET")
    return responder->respond(405, kText, std::string("only GET is supported\n"));
  const std::string what = request.method + " " + request.target;
  tasks_.spawn(
      net::runHandler(what, responder, answerIfAllowed(this, std::move(request), responder)));
}

Task<void> KubeletServer::answerIfAllowed(KubeletServer* self, net::ServerRequest request,
                                          ResponderPtr responder) {
  const auto target = net::parseTarget(request.target);
  std::string narrowest;
  for (const auto& subresource : subresourcesOf(target->path)) {
    if (narrowest.empty()) narrowest = subresource;
    auto asking = self->access_(request.peer, subresource);
    auto allowed = co_await asking;
    if (!allowed) {
      responder->respond(500, kText, "Authorization error: " + allowed.error().message + "\n");
      co_return;
    }
    if (!*allowed) continue;
    self->answer(request, std::move(responder));
    co_return;
  }
  responder->respond(403, kText,
                     "Forbidden (user=" + request.peer->commonName +
                         ", verb=get, resource=nodes, subresource(s)=[" + narrowest + "])\n");
}

void KubeletServer::answer(const net::ServerRequest& request, ResponderPtr responder) {
  const auto target = net::parseTarget(request.target);
  if (!node_) return responder->respond(503, kText, std::string("the node is starting\n"));
  if (target->path == "/pods" || target->path == "/pods/")
    return responder->respond(200, kJson, toJson(node_->podList()));
  if (target->path == "/configz") return responder->respond(200, kJson, toJson(config()));
  if (target->path.starts_with("/containerLogs/")) return logs(request, std::move(responder));
  responder->respond(404, kText, std::string("404 page not found\n"));
}

json::value KubeletServer::config() const {
  return json::object{{"kubeletconfig",
                       {{"kind", "KubeletConfiguration"},
                        {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
                        {"cgroupDriver", "cgroupfs"},
                        {"cgroupsPerQOS", true},
                        {"cpuManagerPolicy", "none"},
                        {"topologyManagerPolicy", "none"},
                        {"cpuCFSQuota", true},
                        {"cpuCFSQuotaPeriod", "100ms"},
                        {"containerLogMaxSize", "10Mi"},
                        {"containerLogMaxFiles", LogLimits().files},
                        {"maxPods", 110},
                        {"port", port()}}}};
}

void KubeletServer::logs(const net::ServerRequest& request, ResponderPtr responder) {
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
  tasks_.spawn(
      net::runHandler("read a log", responder, send(&executor_, *std::move(log), responder)));
}

}  // namespace koord::cluster
