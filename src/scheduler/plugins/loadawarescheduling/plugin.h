#pragma once

// LoadAwareScheduling: keeps pods off nodes that are hot already, and prefers those with more left,
// by what koordlet measures (NodeMetric) and by what pods that came since will use. What is
// measured and estimated of a node is in LoadTable; here it is compared with limits and capacities.
//
// Answers for a node depend on the pod's estimate, its being prod or of a DaemonSet, and on the
// node: its NodeMetric, its pods, its annotations. They are kept until one of these changes, or the
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
  // AsUpstream: an aggregation over a span that is not reported counts as not reported at all.
  enum class Rules : std::uint8_t { Ours, AsUpstream };
  LoadAwareScheduling(Handle& handle, const LoadAwareSchedulingArgs& args,
                      Rules rules = Rules::Ours);
  std::string_view name() const override { return kName; }
  // When pods were placed and initialised.
  PodFields keeps() const override {
    const bool initialized =
        args_.allowCustomizeEstimation || args_.estimatedSecondsAfterInitialized;
    return field::kScheduledAt | (initialized ? field::kInitializedAt : 0);
  }
  void sign(const PodInfo& pod, Signature& signature) const override;
  bool signsShape() const override { return true; }
  // Nothing to prepare, but a point at which configurations name it.
  PreFilterResult preFilter(CycleState&, const PodInfo&) override { return {}; }
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  // As long as nobody reports anything.
  bool indifferent(const PodInfo&) override { return table_.reports() == 0; }
  Status reserve(CycleState& state, const PodPtr& pod, NodeId node) override;
  Status grant(const PodPtr& pod, NodeId node) override {
    CycleState none;
    return reserve(none, pod, node);
  }
  std::vector<EventRegistration> eventsToRegister() const override;
  std::string remedyFor(const PodInfo& pod, NodeId node) const override;
  std::vector<Route> routes() override;

 private:
  // What of a pod matters here.
  struct Incoming {
    LoadAmounts estimate;
    bool prod = false;
    bool daemon = false;
  };
  // Why a node is too hot.
  struct Excess {
    enum class Kind : std::uint8_t { None, Expired, Usage, Aggregated } kind = Kind::None;
    std::size_t resource = 0;
    std::int64_t percent = 0;  // what it would be
    std::int64_t limit = 0;
  };
  // Good until another pod is asked about.
  const Incoming& incomingOf(const PodInfo& pod) const;
  // By what a node is judged.
  struct Rule {
    const LoadAmounts* limits = nullptr;  // nullptr: there are none
    Excess::Kind kind = Excess::Kind::Usage;
    bool byProd = false;
    const Aggregation* over = nullptr;  // of usage that is added up
  };
  Rule ruleFor(const Incoming& pod, const NodeSettings* settings) const;
  Excess judge(const Incoming& pod, NodeId node, WallTime now) const;
  // usual: of nodes that say nothing themselves.
  Excess judge(const Incoming& pod, NodeId node, const Rule& usual, WallTime tooOld) const;
  Excess compare(const Incoming& pod, NodeId node, const NodeSettings* settings, const Rule& rule,
                 const LoadAmounts& load) const;
  std::int64_t scoreOf(const Incoming& pod, NodeId node, WallTime tooOld) const;
  std::int64_t scoreOf(const Incoming& pod, NodeId node, const NodeSettings* settings,
                       const LoadAmounts& used) const;
  // Of the nodes in rest_.
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
  const bool byProd_;         // somebody looks at it
  std::vector<NodeId> rest_;  // that have to be judged the long way
  mutable ByShape<Incoming> incoming_;
  Expiry expiry_;
};

}  // namespace koord::scheduler
