#pragma once

// Finds the quota of a pod and checks it: pods must not belong to parent quotas, and with the gate
// EnableQuotaAdmission they are refused if their quota is exhausted.
//
// Quotas come from an informer: pods are admitted far more often than quotas change, and a quota
// that has just become a parent was checked against the existing pods.

#include <optional>
#include <string>

#include "api/elasticquota.h"
#include "api/pod.h"
#include "kube/informer.h"
#include "manager/webhook/quota/quota_evaluator.h"
#include "manager/webhook/quota/quota_ledger.h"

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

  PodQuota(kube::Api& api, Executor& executor, Random random, const QuotaLedger& book,
           Options options);

  void start();
  bool synced() const { return ledger_.synced() && (!options_.trees || profiles_.synced()); }

  // The name of the pod's quota, which may not exist; "" if there is no default quota.
  std::string quotaOf(const api::Pod& pod) const;
  // Restricts a pod of a tree to the nodes of the tree's profiles.
  void requireNodesOfTree(const std::string& namespace_, json::value& pod) const;
  // Why the pod is refused, nullopt if it is admitted; old is nullptr for a create.
  std::optional<std::string> check(const api::Pod& pod, const api::Pod* old) const;
  // Charges the pod to its quota, or fails with the reason. dryRun: dry run, nothing is written.
  Task<Result<>> evaluate(const api::Pod& pod, const api::Pod* old, bool dryRun);

 private:
  const QuotaLedger& ledger_;
  Options options_;
  kube::Informer<api::ElasticQuotaProfile> profiles_;
  QuotaEvaluator evaluator_;
};

}  // namespace koord::manager
