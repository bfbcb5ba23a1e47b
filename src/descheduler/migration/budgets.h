#pragma once

// Whether PodDisruptionBudgets would let pods be evicted: asked before room is reserved for them, since an
// eviction that is refused would hold it for nothing. The API server has the last word when it comes to that, and
// what it lets go whatever a budget says (pods that do not run, unhealthy ones) is let go here.

#include <map>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/selector.h"
#include "descheduler/framework/handle.h"

namespace koord::descheduler {

class Budgets {
 public:
  explicit Budgets(Handle& handle) : handle_(handle) {}

  // Why these pods, of one namespace, cannot all be evicted now; "" = they can, or nobody may look.
  Task<std::string> refusal(std::vector<PodPtr> pods);

 private:
  struct Known {
    SteadyTime at{};
    std::vector<api::PodDisruptionBudget> budgets;
  };
  static constexpr Duration kKept = std::chrono::seconds(2);

  Handle& handle_;
  std::map<std::string, Known> known_;  // by namespace
};

}  // namespace koord::descheduler
