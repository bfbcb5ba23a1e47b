#pragma once

// LoadAwareScheduling: rejects nodes with a high load, and prefers nodes with a low load, by what
// koordlet measures (NodeMetric) and by the estimated usage of pods that were added since.
// LoadTable has the loads; this class compares them with limits and capacities.
//
// The verdict on a node depends on the pod's estimate, on whether it is prod or of a DaemonSet, and
// on the node's NodeMetric, pods and annotations. It is cached until one of these changes or the
// NodeMetric expires.

#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"
#include "scheduler/framework/tentative.h"
#include "scheduler/plugins/loadawarescheduling/expiry.h"
#include "scheduler/plugins/loadawarescheduling/load_rows.h"

namespace koord::scheduler {

class LoadAwareScheduling final : public Plugin,
                                  public Signed,
                                  public PreFilterPlugin,
                                  public FilterPlugin,
                                  public ScorePlugin,
                                  public ReservePlugin,
                                  public TentativePlugin,
                                  public EnqueueExtensions,
                                  public RemedyPlugin,
                                  public ServicePlugin {
 public:
  static constexpr std::string_view kName = "LoadAwareScheduling";
  // AsUpstream: aggregated usage whose duration is not reported counts as not reported.
  enum class Rules : std::uint8_t { Ours, AsUpstream };
  LoadAwareScheduling(Handle& handle, const LoadAwareSchedulingArgs& args,
                      Rules rules = Rules::Ours);
  std::string_view name() const override { return kName; }
  // When pods were scheduled and initialized.
  PodFields requiredPodFields() const override {
    const bool initialized =
        args_.allowCustomizeEstimation || args_.estimatedSecondsAfterInitialized;
    return field::kScheduledAt | (initialized ? field::kInitializedAt : 0);
  }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool shapeDeterminesSignature() const override { return true; }
  // Does nothing; exists because configurations name the plugin at this extension point.
  PreFilterResult preFilter(CycleState&, const PodInfo&) override { return {}; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  // Returns true as long as no node reports anything.
  bool willSkipScore(const PodInfo&) override { return table_.reports() == 0; }
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override {
    CycleState none;
    return reserve(none, pod, node);
  }
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  std::vector<Route> routes() override;

 private:
  // The facts about a pod that matter here.
  struct Incoming {
    LoadAmounts estimate;
    bool prod = false;
    bool daemon = false;
  };
  // A limit that a node exceeds.
  struct Excess {
    enum class Kind : std::uint8_t { None, Expired, Usage, Aggregated } kind = Kind::None;
    std::size_t resource = 0;
    std::int64_t percent = 0;  // the load with the pod
    std::int64_t limit = 0;
  };
  // Valid until the next call with another pod.
  const Incoming& incomingOf(const PodInfo& pod) const;
  // The limits to apply to a node.
  struct Rule {
    const LoadAmounts* limits = nullptr;  // nullptr: no limits
    Excess::Kind kind = Excess::Kind::Usage;
    bool byProd = false;
    const Aggregation* over = nullptr;  // the aggregation of usage to compare, if any
  };
  Rule ruleFor(const Incoming& pod, const NodeSettings* settings) const;
  Excess judge(const Incoming& pod, NodeId node, WallTime now) const;
  // usual: the rule for nodes without settings of their own.
  Excess judge(const Incoming& pod, NodeId node, const Rule& usual, WallTime tooOld) const;
  Excess compare(const Incoming& pod, NodeId node, const NodeSettings* settings, const Rule& rule,
                 const LoadAmounts& load) const;
  std::int64_t scoreOf(const Incoming& pod, NodeId node, WallTime tooOld) const;
  std::int64_t scoreOf(const Incoming& pod, NodeId node, const NodeSettings* settings,
                       const LoadAmounts& used) const;
  // Judges the nodes in rest_.
  void judgeRest(const Incoming& pod, const Rule& usual, WallTime oldest, NodeFilter& nodes);
  void writeRows(NodeId node, bool resized);
  WallTime tooOld(WallTime now) const;
  static bool expired(const NodeLoad& load, WallTime tooOld);
  std::string reasonOf(const Excess& excess) const;
  Hint onNode(const PodInfo& pod, const std::string& name) const;
  Result<json::value> describe(const std::string& name) const;

  Cluster& cluster_;
  Executor& executor_;
  LoadAwareSchedulingArgs args_;
  Rules rules_;
  LoadTable& table_;
  const std::vector<std::unique_ptr<LoadTable>>& tables_;  // of all profiles
  UsageLimits limits_;
  const bool limited_;  // by any of them
  LoadAmounts weights_;
  std::int64_t weightSum_ = 0;
  std::optional<Aggregation> scoredOver_;
  LoadRows all_;
  LoadRows prod_;
  const bool byProd_;         // limits or scores need the usage of prod pods
  std::vector<NodeId> rest_;  // nodes that must be judged without rows
  mutable ByShape<Incoming> incoming_;
  Expiry expiry_;
};

}  // namespace koord::scheduler
