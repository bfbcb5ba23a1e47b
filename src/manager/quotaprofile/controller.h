#pragma once

// The quotaprofile controller: keeps the root quota of every ElasticQuotaProfile at the sum of its
// nodes' resources. Changes of many nodes within a second are handled once. The quota of a deleted
// profile stays, because pods may use it, unless profiles own their quotas: then the profile is an
// owner of the quota, and Kubernetes' garbage collector deletes the quota with it.

#include <string>

#include "api/elasticquota.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/work_queue.h"
#include "manager/common/metrics.h"

namespace koord::manager {

class QuotaProfileController {
 public:
  QuotaProfileController(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                         kube::EventRecorder& events, Metrics& metrics, Random random,
                         bool profilesOwnQuotas = false);
  ~QuotaProfileController();

  void start();

 private:
  void startWhenSynced();
  void enqueueAll();
  void nodesChanged();
  void quotaChanged(const api::ElasticQuota& quota);
  Task<Result<>> reconcile(std::string key);
  Task<Result<>> ensureTree(const api::ElasticQuotaProfile& profile, std::string tree);
  Task<Result<>> writeQuota(const api::ElasticQuotaProfile& profile, std::string tree);

  kube::Api& api_;
  Executor& executor_;
  kube::Informer<api::Node>& nodes_;
  kube::EventRecorder& events_;
  const bool profilesOwnQuotas_;
  kube::Informer<api::ElasticQuotaProfile> profiles_;
  kube::Informer<api::ElasticQuota> quotas_;
  kube::WorkQueue queue_;
  TimerId nodesTimer_ = 0;
};

}  // namespace koord::manager
