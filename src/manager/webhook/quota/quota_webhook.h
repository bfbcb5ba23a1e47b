#pragma once

// The elastic quota webhooks: new quotas are completed, and changes that would break the tree are
// refused. What they are checked against is in quota_book.h.

#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "kube/api.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"
#include "manager/webhook/quota/quota_book.h"

namespace koord::manager {

class QuotaWebhook {
 public:
  QuotaWebhook(kube::Api& api, Executor& executor, Metrics& metrics, QuotaBook& book,
               QuotaRules rules)
      : api_(api), executor_(executor), metrics_(metrics), book_(book), rules_(rules) {}

  Task<Verdict> mutate(api::AdmissionRequest request);
  Task<Verdict> validate(api::AdmissionRequest request);

 private:
  // Names of pods with the quota's label.
  Task<Result<std::vector<std::string>>> podsOf(std::string quota);
  // Whether there are pods that a quota cannot have once others are below it.
  Task<Result<bool>> hasBoundPods(QuotaInfo quota);
  Task<Result<>> fill(json::value& object);
  Task<Result<>> check(const api::AdmissionRequest& request);
  Task<Result<>> checkUpdate(const api::AdmissionRequest& request, const api::ElasticQuota& quota);

  kube::Api& api_;
  Executor& executor_;
  Metrics& metrics_;
  QuotaBook& book_;
  QuotaRules rules_;
};

// What the annotation shared-weight should say: max when it is not set, and otherwise the amounts that
// it has, for the resources that max has. The error is for a text that cannot be read.
Result<std::string> sharedWeightOf(const api::ElasticQuota& quota);

}  // namespace koord::manager
