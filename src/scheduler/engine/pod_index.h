#pragma once

// PodIndex: counts of pods per node, updated with every change, so that affinity and spreading need
// not visit all pods or all nodes. Four parts:
//  - topologies: for a label key, the domain (distinct value) of each node;
//  - counts: for a pod selector, the number of matching pods on each node;
//  - terms: for an affinity term, the number or weight of the pods on each node that have it;
//  - sums: any of these amounts added up by domain, computed on first use.
// Changes of a simulation are counted, and reverted. Pods with equal namespace and labels are
// matched once against every term and selector. The change of one pod costs the number of those
// that match.

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "scheduler/engine/cluster.h"
#include "scheduler/engine/node_amounts.h"
#include "scheduler/engine/node_parts.h"

namespace koord::scheduler {

class PodIndex final : public ClusterListener {
 public:
  static constexpr std::int32_t kNoDomain = -1;
  struct Topology {
    Symbol key = 0;
    std::vector<std::int32_t> domainOf;  // by node; kNoDomain if the label is missing
    std::int32_t domains = 0;            // all values in domainOf are below
    std::size_t inUse = 0;               // domains with at least one node
    boost::unordered_flat_map<Symbol, std::int32_t> byValue;
    struct Domain {
      Symbol value = 0;
      std::uint32_t size = 0;  // in nodes
      NodeId nodes = 0;        // exclusive or of all its nodes: the node itself if there is one
    };
    std::vector<Domain> all;  // by domain

    std::int32_t of(NodeId node) const {
      return node < domainOf.size() ? domainOf[node] : kNoDomain;
    }
  };
  // Amounts added up by domain.
  struct Sums {
    const Topology* topology = nullptr;
    NodeAmounts byDomain;
    NodeSet nodes;  // nodes of the domains whose sum is not 0

    std::int64_t at(NodeId node) const {
      const std::int32_t domain = topology->of(node);
      return domain == kNoDomain ? 0 : byDomain.at(static_cast<NodeId>(domain));
    }

   private:
    friend class PodIndex;
    std::uint64_t topologies = 0;  // their version
    // The nodes by the sum of their domain; computed on first use.
    mutable std::optional<NodeParts> byAmount;
    mutable bool many = false;  // too many different sums for byAmount
  };
  // Valid while version() is unchanged.
  using SumsPtr = std::shared_ptr<const Sums>;
  // Amounts by node, and their sums.
  class Tally {
   public:
    const NodeAmounts& byNode() const { return byNode_; }
    bool empty() const { return byNode_.empty(); }

   private:
    friend class PodIndex;
    NodeAmounts byNode_;
    std::vector<std::shared_ptr<Sums>> sums_;
  };
  // Pods that match all of the selectors.
  struct Query {
    std::vector<PodSelector> selectors;
    bool terminating = true;  // also count pods that are being deleted
    std::string key() const;
  };

  PodIndex(Cluster& cluster, NamespaceLabels namespaceLabels);

  // Valid until the next call with any key.
  const Topology& topology(Symbol key);
  // Adds the domain's nodes to `out`.
  void collect(const Topology& topology, std::int32_t domain, NodeSet& out) const;
  // The counts of matching pods. Valid until many other queries have been made.
  Tally& counts(const Query& query);
  SumsPtr sums(Tally& tally, Symbol key);
  // The nodes whose sums are not 0, divided by sum; nullptr if there are too many different sums.
  const NodeParts* parts(const Sums& sums) const;
  bool matches(const PodSelector& selector, const PodInfo& pod) const {
    return selector.matches(*pod.labelSet, namespaceLabels_);
  }

  // For one term, amounts on each node over the pods that have it.
  struct TermHolders {
    Tally antiAffinity;    // pods that require it as anti-affinity
    Tally affinity;        // pods that require it as affinity
    Tally preferred;       // sum of weights, negative for anti-affinity
    std::size_t pods = 0;  // that have it in any way
  };
  // Calls fn(term, holders) for every term that some pod has and that selects this pod.
  template <class F>
  void forEachTermAbout(const PodInfo& pod, F&& fn) {
    if (termsInUse_ == 0) return;
    for (const auto& [id, serial] : matchesOf(*pod.labelSet).terms)
      if (id < terms_.size() && terms_[id].pods > 0 && cluster_.terms().serial(id) == serial)
        fn(cluster_.terms().term(id), terms_[id]);
  }
  // Returns true if a term of any pod selects this pod.
  bool hasTermAbout(const PodInfo& pod) {
    bool any = false;
    forEachTermAbout(pod, [&](const AffinityTerm&, TermHolders&) { any = true; });
    return any;
  }

  // Rises with every change that may change an answer.
  std::uint64_t version() const { return version_; }
  // Call when labels of namespaces have changed.
  void namespacesChanged();

  void podAdded(NodeId node, const PodPtr& pod) override;
  void podRemoved(NodeId node, const PodPtr& pod) override;
  void podHidden(NodeId node, const PodPtr& pod) override;
  void podShown(NodeId node, const PodPtr& pod) override;
  void nodeChanging(NodeId node) override;
  void nodeChanged(NodeId node) override;
  void symbolsChanged() override;

 private:
  struct Tracked {
    Query query;
    Tally counts;
    std::uint64_t lastUse = 0;
  };
  // The matches of one label set.
  struct SetMatches {
    std::uint64_t serial = 0;      // of the set
    std::uint64_t termsTried = 0;  // terms up to this serial have been matched
    // Terms that select pods with this set, with their serials; some may be gone.
    std::vector<std::pair<TermId, std::uint64_t>> terms;
    std::uint64_t queriesTried = 0;      // queries up to this number have been matched
    std::vector<std::uint64_t> queries;  // that select pods with this set; some may be gone
  };
  static constexpr std::size_t kMaxQueries = 4096;
  static constexpr std::size_t kMaxSums = 4096;

  SetMatches& matchesOf(const LabelSet& set);
  bool selects(const Query& query, const LabelSet& set) const;
  void change(NodeId node, const PodInfo& pod, int by);
  void recount(Tracked& tracked);
  void place(Topology& topology, NodeId node) const;
  void dropLeastUsed();
  void add(Tally& tally, NodeId node, std::int64_t amount) const;
  void add(Sums& sums, std::int32_t domain, std::int64_t amount) const;
  void regroup(const Sums& sums, std::int32_t domain, std::int64_t before,
               std::int64_t after) const;
  void clear(Tally& tally);
  void dropSums();

  Cluster& cluster_;
  NamespaceLabels namespaceLabels_;
  boost::unordered_flat_map<Symbol, std::unique_ptr<Topology>> topologies_;
  std::uint64_t topologiesVersion_ = 1;  // rises when a node changes domains
  std::size_t sumsKept_ = 0;
  std::map<std::uint64_t, Tracked> queries_;  // by number, in the order of creation
  std::unordered_map<std::string, std::uint64_t> queryNumbers_;
  std::uint64_t lastQuery_ = 0;
  std::uint64_t uses_ = 0;
  std::deque<TermHolders> terms_;  // by id
  std::size_t termsInUse_ = 0;
  std::vector<SetMatches> sets_;  // by LabelSet::id
  std::set<const PodInfo*> hidden_;
  std::uint64_t version_ = 1;
};

}  // namespace koord::scheduler
