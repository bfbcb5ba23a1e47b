#pragma once

// TaintToleration: rejects nodes with a NoSchedule or NoExecute taint that the pod does not
// tolerate, and prefers nodes with fewer untolerated PreferNoSchedule taints.

#include "scheduler/framework/registry.h"
#include "scheduler/framework/services.h"

namespace koord::scheduler {

class TaintToleration final : public Plugin,
                              public Signed,
                              public FilterPlugin,
                              public PreScorePlugin,
                              public ScorePlugin,
                              public EnqueueExtensions,
                              public RemedyPlugin {
 public:
  static constexpr std::string_view kName = "TaintToleration";
  explicit TaintToleration(Handle& handle) : cluster_(handle.cluster()) {}
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Lowest; }
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;

 private:
  Cluster& cluster_;
};

}  // namespace koord::scheduler
