#include "manager/manager.h"

#include <fmt/format.h>

#include "base/log.h"
#include "net/url.h"

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

// A replica that cannot be called is better replaced than left half alive.
constexpr Duration kWebhookStartLimit = 20s;
const net::Headers kText{{"Content-Type", "text/plain; charset=utf-8"}};
const net::Headers kMetricsText{{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}};

std::string pathOf(const net::ServerRequest& request) {
  const auto target = net::parseTarget(request.target);
  return target ? target->path : "";
}

Result<std::unique_ptr<net::HttpServer>> listenOn(Executor& executor, std::string_view flag,
                                                  const std::string& address,
                                                  net::HttpServer::Handler handler) {
  net::ServerOptions options;
  options.listen = address;
  auto server = net::HttpServer::start(executor, std::move(options), std::move(handler));
  if (!server) return fail(std::move(server.error()).within(flag));
  return server;
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
    : component_(component), options_(std::move(options)) {}

Manager::~Manager() {
  component_.executor().cancel(webhookDeadline_);
}

Result<> Manager::listen() {
  if (options_.metricsAddress != "0") {
    auto server =
        listenOn(component_.executor(), "--metrics-addr", options_.metricsAddress,
                 [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
                   serveMetrics(request, *responder);
                 });
    if (!server) return fail(std::move(server.error()));
    metricsServer_ = *std::move(server);
  }
  auto server =
      listenOn(component_.executor(), "--health-probe-addr", options_.healthAddress,
               [this](net::ServerRequest request, std::shared_ptr<net::Responder> responder) {
                 serveHealth(request, std::move(responder));
               });
  if (!server) return fail(std::move(server.error()));
  healthServer_ = *std::move(server);
  return {};
}

void Manager::startWebhooks() {
  const auto on = [this](std::string_view gate) { return options_.gates.enabled(gate); };
  const PodWebhook::Options podOptions{
      {on("ColocationProfileSkipMutatingResources"), on("DisableExtendedResourceSpec"),
       on("DisableDeviceResourceSpec")},
      {on("ColocationProfileSkipValidatingPriority")}};
  podWebhook_ = std::make_unique<PodWebhook>(component_.api(), component_.executor(), metrics_,
                                             component_.random().fork(), podOptions);
  webhookServer_ =
      std::make_unique<WebhookServer>(component_.executor(), options_.webhook.listenAddress());
  if (on("PodMutatingWebhook"))
    webhookServer_->handle("/mutate-pod", [this](api::AdmissionRequest r) {
      return podWebhook_->mutate(std::move(r));
    });
  if (on("PodValidatingWebhook"))
    webhookServer_->handle("/validate-pod", [this](api::AdmissionRequest r) {
      return podWebhook_->validate(std::move(r));
    });
  certificates_ = std::make_unique<CertificateController>(
      component_.api(), component_.executor(), options_.webhook, webhookServer_->paths(),
      component_.random().fork(),
      [this](const WebhookCerts& certs) { return webhookServer_->setCerts(certs); });
  podWebhook_->start();
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

void Manager::serveMetrics(const net::ServerRequest& request, net::Responder& responder) const {
  const std::string path = pathOf(request);
  std::string text;
  if (path == "/metrics" || path == "/all-metrics") text += metrics_.processText();
  if (path == "/internal-metrics" || path == "/all-metrics") text += metrics_.internalText();
  if (text.empty() && path != "/metrics" && path != "/internal-metrics" &&
      path != "/external-metrics" && path != "/all-metrics")
    return responder.respond(404, kText, "404 page not found\n");
  responder.respond(200, kMetricsText, std::move(text));
}

void Manager::serveHealth(const net::ServerRequest& request,
                          std::shared_ptr<net::Responder> responder) {
  const std::string path = pathOf(request);
  if (path == "/healthz") return responder->respond(200, kText, "ok");
  if (path == "/readyz") return tasks_.spawn(answerReadiness(std::move(responder)));
  responder->respond(404, kText, "404 page not found\n");
}

// Ready means that the API server can call the webhooks: the server's own answer over TLS is the
// proof.
Task<void> Manager::answerReadiness(std::shared_ptr<net::Responder> responder) {
  if (!certificates_) {
    responder->respond(200, kText, "ok");
    co_return;
  }
  if (!certificates_->initialised() || !podWebhook_->synced()) {
    responder->respond(500, kText,
                       fmt::format("webhook-ready failed: {}\n", certificates_->problem()));
    co_return;
  }
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = certificates_->authorityPem();
  tls->serverName = "localhost";
  net::HttpRequest request;
  request.url = fmt::format("https://127.0.0.1:{}/healthz", webhookServer_->port());
  request.tls = std::move(tls);
  request.timeout = 5s;
  auto fetch = component_.http().fetch(component_.executor(), std::move(request));
  const auto answer = co_await fetch;
  if (answer && answer->status == 200) {
    responder->respond(200, kText, "ok");
  } else {
    responder->respond(
        500, kText,
        fmt::format("webhook-ready failed: {}\n",
                    answer ? fmt::format("status {}", answer->status) : answer.error().message));
  }
}

}  // namespace koord::manager
