#pragma once

// Keeps the webhooks callable: certificates that are valid for a while (in a Secret that all
// replicas share, or in a folder), the server serving with them, and webhook configurations that
// trust their authority and point at this server. Runs on every replica, every minute and when one
// of these objects changes.
//
// A new authority is trusted before anybody serves under it: webhook configurations get both, the new one and the one
// before, and API servers a few seconds to hear of it. So there is no moment at which some replica is not believed.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/admission.h"
#include "kube/informer.h"
#include "kube/work_queue.h"
#include "manager/webhook/certificates.h"
#include "manager/webhook/webhook_settings.h"

namespace koord::manager {

class CertificateController {
 public:
  // onCerts is called with certificates that are good, first and whenever they change.
  CertificateController(kube::Api& api, Executor& executor, WebhookSettings settings,
                        std::set<std::string> servedPaths, Random random,
                        std::function<Result<>(const WebhookCerts&)> onCerts);
  ~CertificateController();

  void start();
  // A sync has been successful: the API server can call the webhooks.
  bool initialised() const { return initialised_; }
  const std::string& authorityPem() const { return certs_.authority.certPem; }
  // Of the last failed sync; "" after a successful one.
  const std::string& problem() const { return problem_; }

 private:
  Task<Result<>> sync(std::string key);
  Task<Result<>> syncAll();
  // The certificates that are to be served with now, made and stored if need be.
  Task<Result<WebhookCerts>> currentCerts();
  Task<Result<WebhookCerts>> fromSecretOrNew();
  Result<WebhookCerts> fromFolderOrNew();
  // Where nothing is stored, or nothing that can be read, what is served with goes on.
  Result<WebhookCerts> goodOrRenewed(const WebhookCerts* stored) const;
  Task<Result<>> configureAll(std::string authorityPem);
  Task<Result<>> configure(const api::ResourceType& type, std::string name,
                           std::string authorityPem);
  // Warns of entries that nobody here answers, when these are others than before.
  void tellUnserved(const std::string& where, const json::array& wanted);
  Result<> use(WebhookCerts certs);
  void scheduleNext();

  kube::Api& api_;
  Executor& executor_;
  WebhookSettings settings_;
  std::set<std::string> servedPaths_;
  std::function<Result<>(const WebhookCerts&)> onCerts_;
  WebhookCerts certs_;
  std::map<std::string, std::vector<std::string>> unserved_;  // told of, by configuration
  bool initialised_ = false;
  std::string problem_;
  TimerId next_ = 0;
  kube::WorkQueue queue_;
  kube::Informer<api::Secret> secrets_;
  kube::Informer<api::MutatingWebhookConfiguration> mutating_;
  kube::Informer<api::ValidatingWebhookConfiguration> validating_;
};

}  // namespace koord::manager
