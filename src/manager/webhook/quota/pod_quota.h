#pragma once

// Which quota a pod belongs to, and whether it may: pods do not belong to quotas that others are
// below, and with the gate EnableQuotaAdmission they are refused when their quota is used up.
//
// Quotas come from an informer: pods are admitted far more often than quotas change, and a quota that
// became a parent a moment ago was checked against the pods that exist.

#include <optional>
#include <string>

#include "api/elasticquota.h"
#include "api/pod.h"
#include "kube/informer.h"
#include "manager/webhook/quota/quota_book.h"
#include "manager/webhook/quota/quota_evaluator.h"

namespace koord::manager {

class PodQuota {
 public:
  struct Options {
    bool noDefaultQuota = false;    // gate DisableDefaultQuota
    bool parentsHavePods = false;   // gate SupportParentQuotaSubmitPod
    bool evaluate = false;          // gate EnableQuotaAdmission
    bool evaluateUpdates = false;   // gate EnableQuotaAdmissionOnUpdate
    bool trees = false;             // gate MultiQuotaTree
    bool replaceResources = false;  // gates ElasticQuotaEvaluationTransformPod and
                                    // ReplaceResourcesTransformer
    QuotaEvaluator::Options evaluator;
  };

  PodQuota(kube::Api& api, Executor& executor, Random random, const QuotaBook& book,
           Options options);

  void start();
  bool synced() const { return book_.synced() && (!options_.trees || profiles_.synced()); }

  // The name, which need not be that of a quota that is there; "" without a default quota.
  std::string quotaOf(const api::Pod& pod) const;
  // Keeps a pod of a tree on the nodes of the tree's profiles.
  void requireNodesOfTree(const std::string& namespace_, json::value& pod) const;
  // Why the pod is refused; old is null for a create.
  std::optional<std::string> check(const api::Pod& pod, const api::Pod* old) const;
  // Charges the pod to its quota, or says why it may not be. onlyAsked: nothing is written down.
  Task<Result<>> evaluate(const api::Pod& pod, const api::Pod* old, bool onlyAsked);

 private:
  const QuotaBook& book_;
  Options options_;
  kube::Informer<api::ElasticQuotaProfile> profiles_;
  QuotaEvaluator evaluator_;
};

}  // namespace koord::manager
