#pragma once

// PodTopologySpread: keeps the number of matching pods per topology domain (zone, host) within
// maxSkew of each other: DoNotSchedule constraints reject nodes, ScheduleAnyway ones lower their
// score.

#include "scheduler/framework/registry.h"
#include "scheduler/plugins/podtopologyspread/constraints.h"

namespace koord::scheduler {

class PodTopologySpread final : public Plugin,
                                public PreFilterPlugin,
                                public FilterPlugin,
                                public PreScorePlugin,
                                public ScorePlugin,
                                public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "PodTopologySpread";
  PodTopologySpread(Handle& handle, const PodTopologySpreadArgs& args)
      : cluster_(handle.cluster()),
        index_(handle.podIndex()),
        owners_(handle.stores()),
        constraints_(cluster_.symbols(), owners_, args) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  bool indifferent(const PodInfo& pod) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Own; }
  Status normalize(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
                   std::span<std::int64_t> scores) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // A constraint at work: its domains and the matching pods in them.
  struct Spread {
    SpreadConstraint constraint;
    bool selfMatches = false;
    NodeSet nodes;                     // that take part
    std::vector<char> exists;          // by domain: it is one of the domains that count
    std::vector<std::int64_t> counts;  // by domain
    std::int64_t least = 0;            // smallest count
    double weight = 0;                 // of a pod, in scores
  };

  std::vector<Spread> spreadsOf(const PodInfo& pod, std::vector<SpreadConstraint> constraints,
                                bool needAllKeys);
  void prepare(const PodInfo& pod, std::vector<SpreadConstraint> constraints);
  void count(Spread& spread);
  const NodeAmounts& countsOf(const Spread& spread) {
    return spread.constraint.countsNone ? none_ : index_.counts({{spread.constraint.pods}, false});
  }
  Hint onPod(const PodInfo& pod, const ClusterEvent& event) const;
  Hint onNode(const PodInfo& pod, const ClusterEvent& event) const;

  Cluster& cluster_;
  PodIndex& index_;
  PodSpreadDefaults owners_;
  SpreadConstraints constraints_;
  const NodeAmounts none_;
  std::uint64_t attempts_ = 0;
  // Hard constraints of the attempt that asked last.
  struct {
    std::uint64_t attempt = 0;
    std::uint64_t version = 0;
    std::vector<Spread> spreads;
  } hard_;
  // From preScore to normalize.
  struct {
    std::vector<Spread> spreads;
    std::vector<char> ignored;  // by position among the feasible nodes
  } soft_;
};

}  // namespace koord::scheduler
