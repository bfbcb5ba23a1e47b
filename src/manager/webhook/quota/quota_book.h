#pragma once

// The quotas that changes are checked against: what an informer shows, and what this process admitted
// and has not seen stored yet.
//
// A change is admitted when it is right with what is stored, whether or not the changes that were
// admitted before it come to be stored: nobody knows of an admitted change whether the API server keeps
// it. So two changes that come at the same time cannot both take the last room of a parent. An admitted
// change that is not seen stored is forgotten when the request that brought it must have ended.
//
// The informer may be a moment behind, and another replica may have admitted something meanwhile. So what it allows
// is checked once more with the quota's parent, siblings and children as the API server has them, and what it
// refuses with all quotas.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/task.h"
#include "kube/informer.h"
#include "manager/webhook/quota/quota_topology.h"

namespace koord::manager {

class QuotaBook {
 public:
  struct Change {
    QuotaInfo quota;  // as it is going to be; as it was when it is deleted
    bool deletes = false;
  };
  // The topology lacks what is checked, or has its state of before.
  using Check = std::function<Result<>(const QuotaTopology&)>;

  QuotaBook(kube::Api& api, Executor& executor, Random random);

  void start() { quotas_.start(); }
  bool synced() const { return quotas_.synced(); }
  const QuotaTopology& stored() const { return stored_; }

  // Whether the change may be made. One that may is remembered, unless it is only a question.
  Task<Result<>> admit(Change change, Check check, bool onlyAsked);
  // Nothing when no quota has the name.
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
  Task<Result<>> judgeWithFamily(Change change, const Check* check);
  // With each state that the topology may have once all requests have ended; it is left as it was.
  Result<> judge(QuotaTopology& topology, const std::string& name, const Check& check);
  void remember(Change change);
  // The informer has shown what is stored of the quota.
  void seen(const std::string& name);

  kube::Api& api_;
  Executor& executor_;
  QuotaTopology stored_;
  std::vector<Admitted> admitted_;  // in the order of the answers
  kube::Informer<api::ElasticQuota> quotas_;
};

}  // namespace koord::manager
