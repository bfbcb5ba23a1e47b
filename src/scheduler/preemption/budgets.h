#pragma once

// DisruptionBudgets: finds the victims whose eviction would violate a PodDisruptionBudget.

#include <map>

#include "api/selector.h"
#include "scheduler/engine/pod_info.h"
#include "scheduler/framework/handle.h"

namespace koord::scheduler {

class DisruptionBudgets {
 public:
  // Listens to the store, which must not outlive this object.
  explicit DisruptionBudgets(Store<api::PodDisruptionBudget>& store);

  struct Split {
    std::vector<PodPtr> breaking;  // their eviction would exceed a budget
    std::vector<PodPtr> allowed;
  };
  // Victims use up budgets in the order given.
  Split split(const std::vector<PodPtr>& victims) const;
  // Those whose count an eviction of the pod would change.
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> of(const api::Pod& pod) const;
  // Rises with every change.
  std::uint64_t version() const { return version_; }

 private:
  struct Budget {
    std::shared_ptr<const api::PodDisruptionBudget> object;
    api::Selector selector;
  };
  // Calls fn for each budget that selects the pod, but for those that count its eviction already.
  template <class Fn>
  void forEach(const api::ObjectMeta& pod, Fn fn) const;

  std::unordered_map<std::string, std::map<std::string, Budget>> byNamespace_;
  std::uint64_t version_ = 0;
};

// The budgets of the cluster, which all profiles share.
inline const DisruptionBudgets& disruptionBudgetsOf(Handle& handle) {
  return handle.shared().of<DisruptionBudgets>([&] {
    return std::make_unique<DisruptionBudgets>(handle.stores().of<api::PodDisruptionBudget>());
  });
}

}  // namespace koord::scheduler
