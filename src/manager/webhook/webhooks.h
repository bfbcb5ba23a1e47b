#pragma once

// All admission webhooks of this process: their paths and shared objects. A path exists if its gate
// is on.

#include <map>
#include <string>

#include "manager/common/selection.h"
#include "manager/webhook/binding_webhook.h"
#include "manager/webhook/config/config_webhook.h"
#include "manager/webhook/enhanced_validation.h"
#include "manager/webhook/node_webhook.h"
#include "manager/webhook/pod_webhook.h"
#include "manager/webhook/quota/pod_quota.h"
#include "manager/webhook/quota/quota_webhook.h"
#include "manager/webhook/reservation_webhook.h"

namespace koord::manager {

struct WebhooksOptions {
  FeatureGates gates;
  QuotaEvaluator::Options quotaUpdates;
  ConfigWebhook::Options config;
  BindingAdmissionFlags binding = {};
  EnhancedValidation::Options enhanced = {};  // the gate sets `enabled`
  TakeOver::Options takeOver = {};
};

class Webhooks {
 public:
  Webhooks(kube::Api& api, Executor& executor, Metrics& metrics, Random random,
           const WebhooksOptions& options);

  void start();
  // True if the caches are filled, so that requests can be answered.
  bool synced() const;
  const std::map<std::string, AdmissionHandler>& handlers() const { return handlers_; }
  // The tree of quotas as this replica sees it, for operators.
  json::value quotaSummary() const { return quotaLedger_.stored().summary(); }

 private:
  // Adds the webhook at the path if the gate is on.
  template <class Webhook>
  void handle(const FeatureGates& gates, std::string_view gate, const char* path, Webhook& webhook,
              Task<Verdict> (Webhook::*answer)(api::AdmissionRequest));

  QuotaLedger quotaLedger_;
  PodQuota podQuota_;
  EnhancedValidation enhanced_;
  TakeOver takeOver_;
  PodWebhook podWebhook_;
  QuotaWebhook quotaWebhook_;
  ConfigWebhook configWebhook_;
  ReservationWebhook reservationWebhook_;
  NodeWebhook nodeWebhook_;
  BindingWebhook bindingWebhook_;
  std::map<std::string, AdmissionHandler> handlers_;
};

}  // namespace koord::manager
