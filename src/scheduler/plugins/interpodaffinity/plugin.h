#pragma once

// InterPodAffinity: places pods near, or away from, the pods that their affinity terms select, and
// away from pods whose own anti-affinity selects them. "Near" is the same value of the term's
// topology label.
//
// The plugin does not visit pods: the pod index has the number of pods of a kind per topology
// domain, and the nodes of the domains.

#include "scheduler/framework/registry.h"
#include "scheduler/framework/shared_indexes.h"
#include "scheduler/plugins/interpodaffinity/args.h"

namespace koord::scheduler {

class InterPodAffinity final : public Plugin,
                               public PreFilterPlugin,
                               public FilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "InterPodAffinity";
  InterPodAffinity(Handle& handle, const InterPodAffinityArgs& args)
      : cluster_(handle.cluster()), index_(podIndexOf(handle)), args_(args) {}
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
  // The inputs of a pod's filter, by domain.
  struct Conditions {
    std::uint64_t attempt = 0;                    // of which they are
    std::uint64_t version = 0;                    // of the index that they were read from
    std::vector<PodIndex::SumsPtr> affinity;      // pods that match all required terms, per term
    std::vector<PodIndex::SumsPtr> antiAffinity;  // pods that match the term, per term
    std::vector<PodIndex::SumsPtr> existingAnti;  // pods whose anti-affinity selects this pod
    bool firstOfItsGroup = false;  // no pod matches its affinity yet, and it matches itself
  };
  // Pods that count for or against a node in their domain.
  struct Preference {
    PodIndex::SumsPtr sums;
    std::int64_t weight = 1;
  };
  // All preferences of one topology key, by domain.
  struct Preferred {
    const PodIndex::Topology* topology = nullptr;
    std::vector<std::int64_t> byDomain;
  };

  // nullptr if the term selects no existing pod.
  PodIndex::SumsPtr sumsOf(const AffinityTerm& term) {
    PodIndex::Tally& counts = index_.counts({{term.pods}, true});
    return counts.empty() ? nullptr : index_.sums(counts, term.topologyKey);
  }
  void work(const PodInfo& pod);
  std::vector<Preference> preferencesOf(const PodInfo& pod);
  bool matchesAll(const std::vector<TermId>& terms, const PodInfo& pod) const;
  bool matchesAny(const std::vector<TermId>& terms, const PodInfo& pod) const;
  Hint onPod(const PodInfo& pod, const ClusterEvent& event) const;
  Hint onNode(const PodInfo& pod, const ClusterEvent& event) const;

  Cluster& cluster_;
  PodIndex& index_;
  InterPodAffinityArgs args_;
  std::uint64_t attempts_ = 0;
  Conditions conditions_;             // of the last attempt
  std::vector<Preferred> preferred_;  // from preScore to score
};

}  // namespace koord::scheduler
