#pragma once

// Checks whether PodDisruptionBudgets would allow evictions, before resources are reserved for the
// pods: a refused eviction would reserve them for nothing. The API server decides at the eviction.
// Pods that it evicts regardless of budgets (not running, unhealthy ones) pass here, too.

#include <map>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/selector.h"
#include "descheduler/framework/handle.h"

namespace koord::descheduler {

class Budgets {
 public:
  // `kept`: how long budgets that were read count.
  explicit Budgets(Handle& handle, Duration kept = std::chrono::seconds(2))
      : handle_(handle), kept_(kept) {}

  // Why these pods cannot all be evicted now; "" if they can, or budgets cannot be read.
  Task<std::string> refusal(std::vector<PodPtr> pods);

 private:
  struct Known {
    SteadyTime at{};
    std::vector<api::PodDisruptionBudget> budgets;
  };
  Task<std::string> refusalIn(std::string namespace_, std::vector<PodPtr> pods);

  Handle& handle_;
  Duration kept_;
  std::map<std::string, Known> known_;  // by namespace
};

}  // namespace koord::descheduler
