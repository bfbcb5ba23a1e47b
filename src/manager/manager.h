#pragma once

// koord-manager: webhooks, certificates, health and metrics on every replica, controllers on the
// leader.

#include "kube/component.h"
#include "kube/leader_election.h"
#include "manager/controllers.h"
#include "manager/options.h"
#include "manager/webhook/certificate_controller.h"
#include "manager/webhook/readiness.h"
#include "manager/webhook/server.h"
#include "manager/webhook/webhooks.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/router.h"

namespace koord::manager {

class Manager final : public kube::Running {
 public:
  // The listeners are open when it returns. The error for an unusable address names the flag.
  static Result<std::unique_ptr<Manager>> start(kube::Component& component, ManagerOptions options);
  ~Manager() override;

  void stop(Callback done) override;

 private:
  Manager(kube::Component& component, ManagerOptions options);
  Result<> listen();
  void startWebhooks();
  void startElection();
  void lead();
  net::HttpServer::Handler metricsHandler();
  // Answers an "explain" request; only the leader has the data.
  void explain(const std::string& subject, net::Responder& responder) const;
  Result<json::value> explanationOf(const std::string& subject) const;
  net::HttpServer::Handler healthHandler();
  Task<void> answerReadiness(std::shared_ptr<net::Responder> responder);
  Task<Result<>> probeWebhooks();

  kube::Component& component_;
  ManagerOptions options_;
  Metrics metrics_;
  net::Router metricsRouter_;
  net::Router healthRouter_;
  std::unique_ptr<net::HttpServer> pprofServer_;
  std::unique_ptr<net::HttpServer> metricsServer_;
  std::unique_ptr<net::HttpServer> healthServer_;
  std::unique_ptr<Webhooks> webhooks_;
  std::unique_ptr<WebhookServer> webhookServer_;
  std::unique_ptr<CertificateController> certificates_;
  std::unique_ptr<Readiness> readiness_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::unique_ptr<Controllers> controllers_;
  TimerId webhookDeadline_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::manager
