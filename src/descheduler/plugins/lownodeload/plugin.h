#pragma once

// LowNodeLoad (balance): moves pods from nodes whose real load is over the high thresholds to nodes
// below the low ones (load.h, relief.h), pool by pool, if the overload lasts (detector.h).

#include <map>
#include <set>

#include "descheduler/framework/registry.h"
#include "descheduler/plugins/lownodeload/args.h"
#include "descheduler/plugins/lownodeload/detector.h"
#include "descheduler/plugins/lownodeload/load.h"
#include "descheduler/plugins/lownodeload/relief.h"

namespace koord::descheduler {

class LowNodeLoad final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "LowNodeLoad";
  static PluginKind kind();

  LowNodeLoad(Handle& handle, LowNodeLoadArgs args);

  std::string_view name() const override { return kName; }
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  Task<void> balancePool(const NodePool& pool, const Nodes& nodes);
  // The nodes that have been over for long enough.
  std::vector<NodeLoad*> abnormal(const NodePool& pool, std::vector<NodeLoad*> over, Scope scope);
  void reportPool(const NodePool& pool, PoolLoad& load);

  Handle& handle_;
  LowNodeLoadArgs args_;
  kube::Informer<LoadReport>& reports_;
  AnomalyDetectors detectors_;
  AnomalyDetectors prodDetectors_;
  std::map<std::string, SteadyTime>
      isBeingMoved_;                 // evicted by this process: uid, and when the entry expires
  std::set<std::string> processed_;  // nodes that earlier pools found over in this cycle
};

}  // namespace koord::descheduler
