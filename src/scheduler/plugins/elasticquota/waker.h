#pragma once

// QuotaWaker: wakes waiting pods when a full quota has free resources again. The cause is not only
// a pod that ends or a quota that changes: a sibling that requests less leaves more to the others.
// It checks the quotas that have rejected pods, after a change, and only these: pods of a full
// quota cost nothing while nothing changes.

#include <map>

#include "scheduler/plugins/elasticquota/verdict.h"

namespace koord::scheduler {

class QuotaWaker {
 public:
  QuotaWaker(Handle& handle, Quotas& quotas, QuotaRules rules);
  ~QuotaWaker() { *alive_ = false; }
  QuotaWaker(const QuotaWaker&) = delete;
  QuotaWaker& operator=(const QuotaWaker&) = delete;
  static QuotaWaker& of(Handle& handle, Quotas& quotas, QuotaRules rules);

  // Called when the quota has rejected a pod.
  void full(const Place& place);

 private:
  struct Headroom {
    std::string name;
    std::uint64_t serial = 0;
    // By column, the amount left on the path to the root at the last check. Empty at first: an
    // attempt may still reserve and release resources, as members of a gang do, and that must not
    // wake pods.
    std::vector<std::int64_t> left;
  };
  std::vector<std::int64_t> leftOf(const Place& place) const;
  static bool idle(const Place& place);
  void changed();
  void look();

  Handle& handle_;
  Quotas& quotas_;
  QuotaRules rules_;
  std::map<std::pair<std::string, quota::QuotaId>, Headroom> full_;  // by tree and quota
  bool looking_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
