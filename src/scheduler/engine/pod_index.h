#pragma once

// PodIndex: how many pods of a kind are on each node, kept current with every change, so that affinity and
// spreading need not look at pods. Three parts:
//  - topologies: for a label key, which domain (distinct value) each node is in;
//  - counts: for a pod selector, how many matching pods each node has;
//  - terms: for an affinity term, how many pods that have it, or what weight, each node has.
// What-if changes are counted, and counted back.

#include <boost/unordered/unordered_flat_map.hpp>
#include <list>
#include <memory>

#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

class PodIndex final : public ClusterListener {
 public:
  static constexpr std::int32_t kNoDomain = -1;
  struct Topology {
    std::vector<std::int32_t> domainOf;  // by node; kNoDomain where the label is missing
    std::int32_t domains = 0;            // domainOf is below
    boost::unordered_flat_map<Symbol, std::int32_t> byValue;
  };
  // Pods that match all of the selectors.
  struct Query {
    std::vector<PodSelector> selectors;
    bool terminating = true;  // count pods that are being deleted, too
    std::string key() const;
  };

  PodIndex(Cluster& cluster, NamespaceLabels namespaceLabels);

  const Topology& topology(Symbol key);
  // Matching pods by node.
  std::span<const std::int32_t> counts(const Query& query);
  bool matches(const PodSelector& selector, const PodInfo& pod) const {
    return selector.matches(*pod.labelSet, namespaceLabels_);
  }

  // What pods that have a term add up to on each node.
  struct TermHolders {
    std::vector<std::int64_t> antiAffinity;  // pods that require it as anti-affinity
    std::vector<std::int64_t> affinity;      // pods that require it as affinity
    std::vector<std::int64_t> preferred;     // sum of weights, negative for anti-affinity
    std::size_t antiPods = 0;                // sums over all nodes of pods, not of weights
    std::size_t affinityPods = 0;
    std::size_t preferredPods = 0;
    MatchCache cache;
  };
  // Calls fn(term, holders) for every term that some pod has and that is about this pod.
  template <class F>
  void forEachTermAbout(const PodInfo& pod, F&& fn) {
    for (const TermId id : activeTerms_) {
      TermHolders& holders = terms_[id];
      const AffinityTerm& term = cluster_.terms().term(id);
      if (holders.cache.of(*pod.labelSet, [&](const LabelSet& set) {
            return term.pods.matches(set, namespaceLabels_);
          })) {
        fn(term, std::as_const(holders));
      }
    }
  }

  // Rises with everything that may change an answer.
  std::uint64_t version() const { return version_; }
  // Labels of namespaces have changed.
  void namespacesChanged();

  void podAdded(NodeId node, const PodPtr& pod) override;
  void podRemoved(NodeId node, const PodPtr& pod) override;
  void nodeChanging(NodeId node) override;
  void nodeChanged(NodeId node) override;

 private:
  struct Tracked {
    Query query;
    std::vector<std::int32_t> counts;
    MatchCache cache;
  };
  using Order = std::list<Tracked>;
  static constexpr std::size_t kMaxQueries = 512;

  void change(NodeId node, const PodInfo& pod, int by);
  bool counts(Tracked& tracked, const PodInfo& pod) const;
  void recount(Tracked& tracked) const;
  void place(Topology& topology, Symbol key, NodeId node) const;

  Cluster& cluster_;
  NamespaceLabels namespaceLabels_;
  boost::unordered_flat_map<Symbol, std::unique_ptr<Topology>> topologies_;
  Order order_;  // most recently used first
  std::unordered_map<std::string, Order::iterator> queries_;
  std::deque<TermHolders> terms_;  // by id
  std::vector<TermId> activeTerms_;
  std::uint64_t version_ = 1;
};

}  // namespace koord::scheduler
