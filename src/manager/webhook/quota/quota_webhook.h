#pragma once

// The elastic quota webhooks: complete new quotas, and refuse changes that would break the tree.
// quota_ledger.h has the quotas that they are checked against.

#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "kube/api.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"
#include "manager/webhook/quota/quota_ledger.h"

namespace koord::manager {

class QuotaWebhook {
 public:
  QuotaWebhook(kube::Api& api, Executor& executor, Metrics& metrics, QuotaLedger& book,
               QuotaRules rules)
      : api_(api), executor_(executor), metrics_(metrics), ledger_(book), rules_(rules) {}

  Task<Verdict> mutate(api::AdmissionRequest request);
  Task<Verdict> validate(api::AdmissionRequest request);

 private:
  // Names of pods with the quota's label.
  Task<Result<std::vector<std::string>>> podsOf(std::string quota);
  // Returns true if the quota has pods, which a parent quota must not have.
  Task<Result<bool>> hasBoundPods(QuotaInfo quota);
  Task<Result<>> fill(json::value& object);
  Task<Result<>> check(const api::AdmissionRequest& request);
  Task<Result<>> checkUpdate(const api::AdmissionRequest& request, const api::ElasticQuota& quota);

  kube::Api& api_;
  Executor& executor_;
  Metrics& metrics_;
  QuotaLedger& ledger_;
  QuotaRules rules_;
};

// The annotation shared-weight: max if it is not set, otherwise its amounts for the resources of
// max. Fails if the text is invalid.
Result<std::string> sharedWeightOf(const api::ElasticQuota& quota);

}  // namespace koord::manager
