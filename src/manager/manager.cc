#include "manager/manager.h"

#include <fmt/format.h>

#include "base/log.h"
#include "net/answering.h"
#include "net/profiling.h"
#include "net/serving.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

// A replica whose webhooks cannot be called exits, so that it is replaced.
constexpr Duration kWebhookStartLimit = 20s;
const net::Headers kText{{"Content-Type", "text/plain; charset=utf-8"}};
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

Result<std::unique_ptr<net::HttpServer>> listenOn(Executor& executor, std::string_view flag,
                                                  const std::string& address,
                                                  net::HttpServer::Handler handler) {
  net::ServerOptions options;
  options.listen = net::listenAddress(address, net::runsInPod());
  auto server = net::HttpServer::start(executor, std::move(options), std::move(handler));
  if (!server) return fail(std::move(server.error()).within(flag));
  return server;
}

json::value configz(const ManagerOptions& options) {
  json::object gates;
  for (const auto& [name, enabled] : options.gates.all()) gates.emplace(name, enabled);
  const auto list = [](const std::vector<std::string>& names) {
    return json::array(names.begin(), names.end());
  };
  return json::object{
      {"componentconfig", json::object{{"metricsAddr", options.metricsAddress},
                                       {"healthProbeAddr", options.healthAddress},
                                       {"enablePprof", options.pprof},
                                       {"pprofAddr", options.pprofAddress},
                                       {"enableLeaderElection", options.leaderElection},
                                       {"leaderElectionNamespace", options.leaderElectionNamespace},
                                       {"namespace", options.watchNamespace},
                                       {"controllers", list(options.controllers)},
                                       {"nodeResourcePlugins", list(options.nodeResourcePlugins)},
                                       {"configNamespace", options.configNamespace},
                                       {"sloConfigName", options.sloConfigName},
                                       {"featureGates", std::move(gates)}}}};
}

}  // namespace

Result<std::unique_ptr<Manager>> Manager::start(kube::Component& component,
                                                ManagerOptions options) {
  std::unique_ptr<Manager> manager(new Manager(component, std::move(options)));
  if (auto listening = manager->listen(); !listening) return fail(std::move(listening.error()));
  if (manager->options_.gates.enabled("WebhookFramework")) manager->startWebhooks();
  manager->startElection();
  return manager;
}

Manager::Manager(kube::Component& component, ManagerOptions options)
    : component_(component), options_(std::move(options)) {
  metrics_.setClient(component_.metrics());
}

Manager::~Manager() {
  component_.executor().cancel(webhookDeadline_);
}

Result<> Manager::listen() {
  Executor& executor = component_.executor();
  if (options_.metricsAddress != "0") {
    auto server = listenOn(executor, "--metrics-addr", options_.metricsAddress, metricsHandler());
    if (!server) return fail(std::move(server.error()));
    metricsServer_ = *std::move(server);
  }
  if (options_.pprof) {
    auto server =
        listenOn(executor, "--pprof-addr", options_.pprofAddress, net::profilingHandler(executor));
    // Optional: its port may be in use if several managers run on one host.
    if (server) {
      pprofServer_ = *std::move(server);
    } else {
      log::warn("profiles are not served: {}", server.error().message);
    }
  }
  auto server = listenOn(executor, "--health-probe-addr", options_.healthAddress, healthHandler());
  if (!server) return fail(std::move(server.error()));
  healthServer_ = *std::move(server);
  return {};
}

void Manager::startWebhooks() {
  webhooks_ = std::make_unique<Webhooks>(component_.api(), component_.executor(), metrics_,
                                         component_.random().fork(), options_.webhooks());
  webhookServer_ =
      std::make_unique<WebhookServer>(component_.executor(), options_.webhook.listenAddress());
  for (const auto& [path, handler] : webhooks_->handlers()) webhookServer_->handle(path, handler);
  webhookServer_->page("/elasticQuota", [this] { return toJson(webhooks_->quotaSummary()); });
  certificates_ = std::make_unique<CertificateController>(
      component_.api(), component_.executor(), options_.webhook, webhookServer_->paths(),
      component_.random().fork(),
      [this](const WebhookCerts& certs) { return webhookServer_->setCerts(certs); });
  readiness_ =
      std::make_unique<Readiness>(component_.executor(), [this] { return probeWebhooks(); });
  webhooks_->start();
  certificates_->start();
  webhookDeadline_ = component_.executor().runAfter(kWebhookStartLimit, [this] {
    webhookDeadline_ = 0;
    if (certificates_->initialised()) return;
    log::error("the webhooks could not be set up within 20 s: {}", certificates_->problem());
    component_.exit(1);
  });
}

void Manager::startElection() {
  if (!options_.leaderElection) return lead();
  kube::LeaderElectionOptions election;
  election.leaseNamespace = options_.leaderElectionNamespace;
  election.leaseName = "koordinator-manager";
  election.identity = kube::makeIdentity(component_.random());
  election.metrics = component_.metrics();
  elector_ = std::make_unique<kube::LeaderElector>(
      component_.api(), component_.executor(), std::move(election), component_.random().fork(),
      [this] { lead(); },
      [this] {
        metrics_.setLeader(false);
        log::error("lost the lease koordinator-manager");
        component_.exit(1);
      });
  elector_->start();
}

void Manager::lead() {
  metrics_.setLeader(true);
  controllers_ = std::make_unique<Controllers>(component_.api(), component_.executor(),
                                               component_.random(), options_, metrics_);
  controllers_->start();
}

void Manager::stop(Callback done) {
  controllers_.reset();
  metrics_.setLeader(false);
  if (!elector_) return done();
  elector_->release([done = std::make_shared<Callback>(std::move(done))] { (*done)(); });
}

net::HttpServer::Handler Manager::metricsHandler() {
  const auto process = [this] {
    return metrics_.processText() + component_.metrics()->text(component_.executor().steadyNow());
  };
  const auto add = [this](const char* path, std::function<std::string()> text) {
    metricsRouter_.add("GET", path,
                       [text = std::move(text)](const net::RoutedRequest&,
                                                const std::shared_ptr<net::Responder>& to) {
                         net::sendText(*to, 200, text(), kMetricsType);
                       });
  };
  add("/metrics", process);
  add("/internal-metrics", [this] { return metrics_.internalText(); });
  add("/external-metrics", [] { return std::string(); });
  add("/all-metrics", [this, process] { return process() + metrics_.internalText(); });
  metricsRouter_.add(
      "GET", "/apis/v1/explain/",
      [this](const net::RoutedRequest& asked, const std::shared_ptr<net::Responder>& to) {
        if (net::isTrusted(asked.request)) return explain(asked.rest, *to);
        net::sendJson(
            *to, 403,
            json::object{
                {"message",
                 "this path is served only to local clients, such as kubectl port-forward"}});
      });
  return metricsRouter_.handler();
}

Result<json::value> Manager::explanationOf(const std::string& subject) const {
  constexpr std::string_view kNodes = "nodes/";
  constexpr std::string_view kRecommendations = "recommendations/";
  if (!controllers_)
    return fail(
        ErrorCode::Unavailable,
        "this koord-manager is not the leader: query the holder of the lease koordinator-manager");
  if (subject.starts_with(kNodes)) {
    const auto* controller = controllers_->nodeResource();
    if (controller) return controller->explain(subject.substr(kNodes.size()));
    return fail(ErrorCode::Unavailable,
                "the controller noderesource is disabled: see --controllers");
  }
  if (subject.starts_with(kRecommendations)) {
    const std::string key = subject.substr(kRecommendations.size());
    const auto slash = key.find('/');
    const auto* controller = controllers_->recommender();
    if (!controller)
      return fail(
          ErrorCode::Unavailable,
          "the controller recommender is disabled: it needs --feature-gates=Recommender=true");
    if (slash == std::string::npos)
      return fail(ErrorCode::NotFound,
                  "a recommendation has the path recommendations/NAMESPACE/NAME");
    return controller->explain({key.substr(0, slash), key.substr(slash + 1)});
  }
  return fail(ErrorCode::NotFound,
              "unknown path; the paths are nodes/NAME and recommendations/NAMESPACE/NAME");
}

void Manager::explain(const std::string& subject, net::Responder& responder) const {
  const auto explained = explanationOf(subject);
  if (explained) return net::sendJson(responder, 200, *explained);
  net::sendJson(responder, explained.error().code == ErrorCode::NotFound ? 404 : 503,
                json::object{{"message", explained.error().message}});
}

net::HttpServer::Handler Manager::healthHandler() {
  net::StandardEndpoints standard;
  standard.configz = [this] { return configz(options_); };
  standard.debugFlags = true;
  addStandardEndpoints(healthRouter_, std::move(standard));
  // Asynchronous, because it sends a request to the webhook server.
  healthRouter_.add("GET", "/readyz",
                    [this](const net::RoutedRequest&, std::shared_ptr<net::Responder> to) {
                      tasks_.spawn(net::runHandler("GET /readyz", to, answerReadiness(to)));
                    });
  return healthRouter_.handler();
}

Task<void> Manager::answerReadiness(std::shared_ptr<net::Responder> responder) {
  if (!certificates_) {
    responder->respond(200, kText, "ok");
    co_return;
  }
  Result<> ready = fail(ErrorCode::Unavailable, certificates_->problem());
  if (certificates_->initialised() && webhooks_->synced()) {
    auto asking = readiness_->ask();
    ready = co_await asking;
  }
  if (ready) {
    responder->respond(200, kText, "ok");
  } else {
    responder->respond(500, kText,
                       fmt::format("webhook-ready failed: {}\n", ready.error().message));
  }
}

// Ready means that the API server can call the webhooks: the server's own answer over TLS is the
// proof.
Task<Result<>> Manager::probeWebhooks() {
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = certificates_->authorityPem();
  tls->serverName = "localhost";
  net::HttpRequest request;
  request.url = fmt::format("https://127.0.0.1:{}/healthz", webhookServer_->port());
  request.tls = std::move(tls);
  request.timeout = 5s;
  auto fetch = component_.http().fetch(component_.executor(), std::move(request));
  const auto answer = co_await fetch;
  if (!answer) co_return fail(answer.error());
  if (answer->status == 200) co_return Result<>();
  co_return fail(ErrorCode::Unavailable, fmt::format("status {}", answer->status));
}

}  // namespace koord::manager
