#pragma once

// DisruptionBudgets: which of some victims their PodDisruptionBudgets do not allow to be evicted.

#include <map>

#include "api/selector.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/stores.h"

namespace koord::scheduler {

class DisruptionBudgets {
 public:
  // Follows the store, which must outlive it.
  explicit DisruptionBudgets(Store<api::PodDisruptionBudget>& store);

  struct Split {
    std::vector<PodPtr> breaking;  // their eviction would exceed a budget
    std::vector<PodPtr> allowed;
  };
  // Victims use up budgets in the order given.
  Split split(const std::vector<PodPtr>& victims) const;
  // Rises with every change.
  std::uint64_t version() const { return known_->version; }

 private:
  struct Budget {
    std::shared_ptr<const api::PodDisruptionBudget> object;
    api::Selector selector;
  };
  struct Known {  // shared with the store's listener, which may live longer
    std::unordered_map<std::string, std::map<std::string, Budget>> byNamespace;
    std::uint64_t version = 0;
  };
  std::shared_ptr<Known> known_ = std::make_shared<Known>();
};

}  // namespace koord::scheduler
