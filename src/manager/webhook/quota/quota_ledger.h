#pragma once

// The quotas that changes are checked against: the informer's state, and the changes that this
// process admitted and has not seen stored yet.
//
// A change is admitted if it is valid both with and without the changes that were admitted before
// it, because it is unknown whether the API server stores these. So two concurrent changes cannot
// both take the last free resources of a parent. An admitted change that is not seen stored is
// dropped when its request must have ended.
//
// The informer may lag, and another replica may have admitted a change meanwhile. So a change that
// is valid by the informer's state is checked again with the quota's parent, siblings and children
// read from the API server, and a change that is invalid by it with all quotas.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/task.h"
#include "kube/informer.h"
#include "manager/webhook/quota/quota_topology.h"

namespace koord::manager {

class QuotaLedger {
 public:
  struct Change {
    QuotaInfo quota;  // the new state; the old state for a deletion
    bool deletes = false;
  };
  // Checks the change. The topology does not have the quota, or has its old state.
  using Check = std::function<Result<>(const QuotaTopology&)>;

  QuotaLedger(kube::Api& api, Executor& executor, Random random);

  void start() { quotas_.start(); }
  bool synced() const { return quotas_.synced(); }
  const QuotaTopology& stored() const { return stored_; }

  // Fails if the change is not admitted. An admitted change is recorded, unless dryRun (dry
  // run).
  Task<Result<>> admit(Change change, Check check, bool dryRun);
  // nullopt if no quota has the name.
  Task<Result<std::optional<QuotaInfo>>> find(std::string name);

 private:
  struct Admitted {
    Change change;
    SteadyTime until;
  };

  // The neighbours of a quota.
  struct Family {
    std::vector<QuotaInfo> there;
    std::vector<QuotaInfo> gone;
  };

  Task<Result<QuotaTopology>> list();
  Task<Result<>> addChildren(Family* family, std::string parent);
  Task<Result<Family>> readFamily(Change change);
  Task<Result<>> checkWithFamily(Change change, const Check* check);
  // Checks with each state that the topology may have when all requests have ended. Restores the
  // topology.
  Result<> judge(QuotaTopology& topology, const std::string& name, const Check& check);
  void remember(Change change);
  // Called when the informer has delivered the quota's stored state.
  void onStored(const std::string& name);

  kube::Api& api_;
  Executor& executor_;
  QuotaTopology stored_;
  std::vector<Admitted> admitted_;  // in the order of admission
  kube::Informer<api::ElasticQuota> quotas_;
};

}  // namespace koord::manager
