#pragma once

// QuotaWaker: tells waiting pods when a full quota has room again. What gives it room is not only a pod
// that goes or a quota that changes: a neighbour that asks for less leaves more to others. It looks at
// quotas that have turned pods away, after something has changed, and only at these: pods of a full quota
// cost nothing while nothing changes.

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

  // The quota has turned a pod away.
  void full(const Place& place);

 private:
  struct Room {
    std::string name;
    std::uint64_t serial = 0;
    // By column, on the way to the root, since somebody last looked. Empty at first: an attempt may still take room
    // and give it back, as members of a gang do from one another, and that is no news.
    std::vector<std::int64_t> left;
  };
  std::vector<std::int64_t> leftOf(const Place& place) const;
  static bool idle(const Place& place);
  void changed();
  void look();

  Handle& handle_;
  Quotas& quotas_;
  QuotaRules rules_;
  std::map<std::pair<std::string, quota::QuotaId>, Room> full_;  // by tree and quota
  bool looking_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::scheduler
