#pragma once

// PodTopologySpread: keeps the number of matching pods per topology domain (zone, host) within
// maxSkew of each other: DoNotSchedule constraints reject nodes, ScheduleAnyway ones lower their
// score.

#include <unordered_map>

#include "scheduler/framework/registry.h"
#include "scheduler/framework/shared_indexes.h"
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
        index_(podIndexOf(handle)),
        owners_(podSpreadDefaultsOf(handle)),
        constraints_(cluster_.symbols(), owners_, args) {}
  std::string_view name() const override { return kName; }
  PreFilterResult preFilter(CycleState& state, const PodInfo& pod) override;
  Status filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) override;
  bool willSkipScore(const PodInfo& pod) override;
  std::optional<NodeParts> scoreParts(const PodInfo& pod, const NodeSet& nodes) override;
  Status preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes) override;
  Status score(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
               std::span<std::int64_t> scores) override;
  Normalization normalization() const override { return Normalization::Own; }
  Status normalize(const CycleState& state, const PodInfo& pod, std::span<const NodeId> nodes,
                   std::span<std::int64_t> scores) override;
  std::vector<EventRegistration> eventsToRegister() const override;

 private:
  // The nodes that count for a constraint.
  struct Participants {
    NodeSet nodes;
    bool all = false;         // all nodes that have the label
    std::size_t domains = 0;  // of these nodes
  };
  // A constraint with its domains and the matching pods in them.
  struct Spread {
    SpreadConstraint constraint;
    bool selfMatches = false;
    std::shared_ptr<const Participants> participants;
    PodIndex::SumsPtr sums;  // by domain, if all nodes count
    NodeAmounts own;         // the same if they do not
    std::int64_t least = 0;  // the smallest count
    double weight = 0;       // of a pod, in scores

    const NodeAmounts& counts() const { return sums ? sums->byDomain : own; }
    // Returns true if a domain with this count cannot take another pod.
    bool full(std::int64_t count) const {
      return count + (selfMatches ? 1 : 0) - least > constraint.maxSkew;
    }
  };

  std::vector<Spread> spreadsOf(const PodInfo& pod, std::vector<SpreadConstraint> constraints,
                                bool needAllKeys);
  std::shared_ptr<const Participants> participantsOf(const PodInfo& pod,
                                                     const SpreadConstraint& constraint,
                                                     const std::vector<Symbol>& keys);
  void prepare(const PodInfo& pod, std::vector<SpreadConstraint> constraints);
  void count(Spread& spread);
  void findMinimum(Spread& spread);
  const NodeAmounts& podsByNode(const Spread& spread) {
    return spread.constraint.countsNone ? none_
                                        : index_.counts({{spread.constraint.pods}, false}).byNode();
  }
  std::optional<NodeParts> costs(Spread& spread, const NodeSet& scored);
  Hint onPod(const PodInfo& pod, const ClusterEvent& event) const;
  Hint onNode(const PodInfo& pod, const ClusterEvent& event) const;

  Cluster& cluster_;
  PodIndex& index_;
  const PodSpreadDefaults& owners_;
  SpreadConstraints constraints_;
  const NodeAmounts none_;
  // By what they depend on; valid for the cluster's version of places below.
  std::unordered_map<std::string, std::shared_ptr<const Participants>> participants_;
  std::uint64_t places_ = 0;
  std::uint64_t attempts_ = 0;
  // The hard constraints of the last attempt.
  struct {
    std::uint64_t attempt = 0;
    std::uint64_t version = 0;
    std::vector<Spread> spreads;
  } hard_;
  // From preScore to normalize.
  struct {
    std::vector<Spread> spreads;
    std::vector<std::vector<std::int64_t>> counts;  // by spread and domain
    std::vector<char> ignored;                      // by position among the feasible nodes
  } soft_;
};

}  // namespace koord::scheduler
