#pragma once

// LowNodeUtilization and HighNodeUtilization (balance): by the pods' requests, not their usage.
//
//   percent = requests of the node's pods / allocatable * 100; for "pods" the number of pods
//
// LowNodeUtilization: evicts pods from nodes over a target threshold of any resource while there
// are nodes under the thresholds of all resources; with deviation the thresholds are distances from
// the average. HighNodeUtilization: evicts pods from nodes under the thresholds, so that these
// nodes can be removed. In both, evictions stop at what the receiving nodes can take up to their
// limits, for each resource: the resources of the thresholds, and cpu, memory and pods.

#include <map>

#include "descheduler/plugins/kubernetes/plugin_base.h"

namespace koord::descheduler {

using UtilizationPercentages = std::map<std::string, double, std::less<>>;

// The state of one node; amounts by resource, cpu in milli-cores.
struct NodeUtilization {
  const NodeView* view = nullptr;
  std::map<std::string, std::int64_t, std::less<>> usage;
  std::map<std::string, std::int64_t, std::less<>> capacity;

  double percent(const std::string& resource) const;
  std::int64_t sum() const;  // of raw amounts, for comparing nodes
};

// The common base: evicts pods from the sources, in their order.
class UtilizationBase : public PluginBase, public BalancePlugin {
 public:
  struct Common {
    Namespaces namespaces;  // of evictable pods; exclude only
    std::int64_t numberOfNodes = 0;
    UtilizationPercentages thresholds;
  };

 protected:
  using PluginBase::PluginBase;
  using Amounts = std::map<std::string, std::int64_t, std::less<>>;

  struct Eviction {
    std::vector<NodeUtilization*> sources;
    std::vector<const NodeUtilization*> targets;
    Amounts available;
    std::optional<std::int64_t> maxPerNode;
    std::function<bool(const NodeUtilization&)> goOn;  // true: the source needs more evictions
    std::function<bool(const Pod&)> mayBePreempted;
  };
  std::vector<NodeUtilization> measure(const Nodes& nodes,
                                       const UtilizationPercentages& thresholds) const;
  Task<void> evictFrom(Eviction& eviction);

 private:
  Task<void> evictFromNode(Eviction& eviction, NodeUtilization& source);
};

class LowNodeUtilization final : public UtilizationBase {
 public:
  static constexpr std::string_view kName = "LowNodeUtilization";
  struct Args : Common {
    UtilizationPercentages targets;
    bool deviation = false;
    std::optional<std::int64_t> maxPerNode;  // evictionLimits.node
    json::object effective;
    static Args read(Fields& args);
  };
  LowNodeUtilization(Handle& handle, Args args)
      : UtilizationBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Limits {
    UtilizationPercentages low;
    UtilizationPercentages high;
  };
  Limits limitsOf(const std::vector<NodeUtilization>& nodes) const;
  Args args_;
};

class HighNodeUtilization final : public UtilizationBase {
 public:
  static constexpr std::string_view kName = "HighNodeUtilization";
  struct Args : Common {
    bool onlyThresholding = false;  // evictionModes: [OnlyThresholdingResources]
    json::object effective;
    static Args read(Fields& args);
  };
  HighNodeUtilization(Handle& handle, Args args)
      : UtilizationBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  Args args_;
};

}  // namespace koord::descheduler
