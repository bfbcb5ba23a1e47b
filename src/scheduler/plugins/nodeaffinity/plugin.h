#pragma once

// NodeAffinity: spec.nodeSelector and node affinity. Rejects nodes whose labels (or name) do not
// match the pod's required terms, and prefers nodes by the weights of the preferred terms that they
// match.

#include "api/selector.h"
#include "scheduler/framework/registry.h"
#include "scheduler/plugins/nodeaffinity/args.h"

namespace koord::scheduler {

class NodeAffinity final : public Plugin,
                           public Signed,
                           public PreFilterPlugin,
                           public FilterPlugin,
                           public PreScorePlugin,
                           public ScorePlugin,
                           public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeAffinity";
  NodeAffinity(Handle& handle, const NodeAffinityArgs& args);
  std::string_view name() const override { return kName; }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Highest; }
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  Cluster& cluster_;
  std::optional<api::NodeSelectorMatcher> addedRequired_;
  std::optional<api::PreferredNodeTerms> addedPreferred_;
};

}  // namespace koord::scheduler
