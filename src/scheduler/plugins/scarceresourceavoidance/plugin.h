#pragma once

// ScarceResourceAvoidance: keeps pods off nodes with scarce resources that the pods do not request.
// Of the resources that a node has and the pod does not request, the more are scarce, the lower the
// score: (beyond - scarce) * 100 / beyond; 100 if none is scarce.

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/scarceresourceavoidance/args.h"

namespace koord::scheduler {

class ScarceResourceAvoidance final : public Plugin,
                                      public Signed,
                                      public PreScorePlugin,
                                      public ScorePlugin {
 public:
  static constexpr std::string_view kName = "ScarceResourceAvoidance";
  ScarceResourceAvoidance(Handle& handle, const ScarceResourceAvoidanceArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  Status preScore(CycleState&, const PodInfo&, std::span<const NodeId>) override { return {}; }
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;

 private:
  Cluster& cluster_;
  std::vector<ResourceId> scarce_;  // ascending
};

}  // namespace koord::scheduler
