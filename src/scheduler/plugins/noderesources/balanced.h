#pragma once

// NodeResourcesBalancedAllocation: prefers nodes whose resources would be used in equal
// proportions.

#include <boost/container/small_vector.hpp>

#include "scheduler/framework/backing_devices.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/noderesources/scores.h"

namespace koord::scheduler {

class NodeResourcesBalancedAllocation final : public Plugin,
                                              public Signed,
                                              public PreScorePlugin,
                                              public ScorePlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesBalancedAllocation";
  NodeResourcesBalancedAllocation(Handle& handle, const NodeResourcesBalancedAllocationArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;

 private:
  // The inputs of a resource for one pod.
  struct Column {
    ResourceId id;
    const std::int64_t* allocatable;  // by node
    const std::int64_t* requested;
    std::int64_t amount;  // the pod's request
    bool backed;          // by devices
  };
  struct Columns {
    boost::container::small_vector<Column, 4> list;
    bool small = true;  // no sum overflows 64 bits
  };
  Columns columnsFor(const PodInfo& pod) const;

  Cluster& cluster_;
  BackingDevices devices_;
  BalanceMode mode_;
  std::vector<ResourceId> resources_;
};

}  // namespace koord::scheduler
