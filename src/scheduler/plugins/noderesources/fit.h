#pragma once

// NodeResourcesFit: rejects nodes without enough free resources for the pod's requests. Scores
// nodes by how much of the configured resources would be left (LeastAllocated), used
// (MostAllocated), or by a function of the utilization (RequestedToCapacityRatio).
//
// An extended resource that devices back (framework/backing_devices.h) is not checked on nodes
// without a device plugin for it, and their devices count in the score.

#include "scheduler/framework/backing_devices.h"
#include "scheduler/framework/counted_resources.h"
#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"
#include "scheduler/plugins/noderesources/allocation_rule.h"
#include "scheduler/plugins/noderesources/scores.h"

namespace koord::scheduler {

class NodeResourcesFit final : public Plugin,
                               public Signed,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public EnqueueExtensions,
                               public RemedyPlugin,
                               public CountedResources,
                               public AllocationScorer {
 public:
  static constexpr std::string_view kName = "NodeResourcesFit";
  NodeResourcesFit(Handle& handle, const NodeResourcesFitArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  bool counts(ResourceId resource) const override {
    return resource < kFirstScalar ||
           (!ignored(cluster_.resources().name(resource)) && !devices_.isBacked(resource));
  }
  const ScorePlugin* scorerBy(const AllocationRule& rule, const PodInfo& pod) const override;

 private:
  struct Wanted {
    ResourceId id = 0;
    std::int64_t amount = 0;
    bool beyond = false;  // the request overflows the amount
    std::string reason;
  };
  class FreeResources;
  struct Scored {
    ResourceId id = 0;
    std::int64_t weight = 1;
  };

  std::vector<Wanted> wantedOf(const PodInfo& pod) const;
  bool ignored(const std::string& resource) const;
  Hint onNode(const PodInfo& pod, const ClusterEvent& event) const;

  Cluster& cluster_;
  BackingDevices devices_;
  NodeResourcesFitArgs args_;
  std::vector<Scored> scored_;
  BrokenLine line_;
};

}  // namespace koord::scheduler
