#pragma once

// FragmentationAware (balance): evicts a pod from nodes with unbalanced requests, so that the free
// resources become usable.
//
//   imbalance = standard deviation, over the node's resources, of requests / allocatable
//   gain      = imbalance with all pods - imbalance without the pod
//
// On a node above imbalanceThreshold the pod with the largest gain is evicted, if the gain is more
// than minImprovementThreshold: one pod per node and cycle.

#include "descheduler/framework/plugin_kind.h"
#include "descheduler/rules/arguments.h"

namespace koord::descheduler {

class FragmentationAware final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "FragmentationAware";
  static PluginKind kind();

  struct Args {
    bool paused = false;
    bool dryRun = false;
    EvictionScope scope;
    bool nodeFit = true;
    std::vector<std::string> resources{"cpu", "memory"};
    double imbalance = 0.15;
    double improvement = 0.02;
    json::object effective;
    static Args read(Fields& args);
  };
  FragmentationAware(Handle& handle, Args args) : handle_(handle), args_(std::move(args)) {}

  std::string_view name() const override { return kName; }
  Task<Result<>> balance(const Nodes& nodes) override;

  // The imbalance of the node's requests, except those of `without`.
  double imbalanceOf(const NodeView& node, const Pod* without = nullptr) const;

 private:
  bool fitsElsewhere(const Pod& pod, const std::vector<const NodeView*>& nodes) const;
  Handle& handle_;
  Args args_;
};

}  // namespace koord::descheduler
