#pragma once

// Keeps the webhooks callable: renews certificates before they expire (in a Secret that all
// replicas share, or in a folder), makes the server use them, and makes webhook configurations
// trust their authority and refer to this server. Runs on every replica, every minute and when one
// of these objects changes.
//
// A new authority is trusted before a replica uses it: webhook configurations get the new and the
// previous one, and API servers get a few seconds to receive them. So API servers trust every
// replica at all times.

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
  // onCerts is called with valid certificates, first and whenever they change.
  CertificateController(kube::Api& api, Executor& executor, WebhookSettings settings,
                        std::set<std::string> servedPaths, Random random,
                        std::function<Result<>(const WebhookCerts&)> onCerts);
  ~CertificateController();

  void start();
  // True after a successful sync: the API server can call the webhooks.
  bool initialised() const { return initialised_; }
  const std::string& authorityPem() const { return certs_.authority.certPem; }
  // The error of the last sync; "" after a successful one.
  const std::string& problem() const { return problem_; }

 private:
  Task<Result<>> sync(std::string key);
  Task<Result<>> syncAll();
  // The certificates to serve with; creates and stores them if necessary.
  Task<Result<WebhookCerts>> currentCerts();
  Task<Result<WebhookCerts>> fromSecretOrNew();
  Result<WebhookCerts> fromFolderOrNew();
  // Without valid stored certificates, the server keeps its current ones.
  Result<WebhookCerts> validOrRenewed(const WebhookCerts* stored) const;
  Task<Result<>> configureAll(std::string authorityPem);
  Task<Result<>> configure(const api::ResourceType& type, std::string name,
                           std::string authorityPem);
  // Warns about entries that this server does not handle, when their set changes.
  void reportUnserved(const std::string& where, const json::array& wanted);
  Result<> use(WebhookCerts certs);
  void scheduleNext();

  kube::Api& api_;
  Executor& executor_;
  WebhookSettings settings_;
  std::set<std::string> servedPaths_;
  std::function<Result<>(const WebhookCerts&)> onCerts_;
  WebhookCerts certs_;
  std::map<std::string, std::vector<std::string>> unserved_;  // warned about, by configuration
  bool initialised_ = false;
  std::string problem_;
  TimerId next_ = 0;
  kube::WorkQueue queue_;
  kube::Informer<api::Secret> secrets_;
  kube::Informer<api::MutatingWebhookConfiguration> mutating_;
  kube::Informer<api::ValidatingWebhookConfiguration> validating_;
};

}  // namespace koord::manager
