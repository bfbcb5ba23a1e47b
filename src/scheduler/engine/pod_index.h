#pragma once

// PodIndex: how many pods of a kind are on each node, kept current with every change, so that
// affinity and spreading need not look at pods, nor at all nodes. Four parts:
//  - topologies: for a label key, which domain (distinct value) each node is in;
//  - counts: for a pod selector, how many matching pods each node has;
//  - terms: for an affinity term, how many pods that have it, or what weight, each node has;
//  - sums: any of these amounts added up by domain, once somebody has asked.
// What-if changes are counted, and counted back. Pods with equal namespace and labels are matched
// once against every term and selector; what a change of one pod costs is the number of those that
// match.

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
    std::vector<std::int32_t> domainOf;  // by node; kNoDomain where the label is missing
    std::int32_t domains = 0;            // domainOf is below
    std::size_t inUse = 0;               // domains that some node is in
    boost::unordered_flat_map<Symbol, std::int32_t> byValue;
    struct Domain {
      Symbol value = 0;
      std::uint32_t size = 0;  // in nodes
      NodeId nodes = 0;        // all its nodes, by exclusive or: the node when there is one
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
    NodeSet nodes;  // of the domains whose sum is not 0

    std::int64_t at(NodeId node) const {
      const std::int32_t domain = topology->of(node);
      return domain == kNoDomain ? 0 : byDomain.at(static_cast<NodeId>(domain));
    }

   private:
    friend class PodIndex;
    std::uint64_t topologies = 0;  // their version
    // The nodes by the sum of their domain, once somebody has asked.
    mutable std::optional<NodeParts> byAmount;
    mutable bool many = false;  // too many to be divided like this
  };
  // Good for as long as version() stays.
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
    bool terminating = true;  // count pods that are being deleted, too
    std::string key() const;
  };

  PodIndex(Cluster& cluster, NamespaceLabels namespaceLabels);

  // Good until the next call with any key.
  const Topology& topology(Symbol key);
  // Adds the domain's nodes to `out`.
  void collect(const Topology& topology, std::int32_t domain, NodeSet& out) const;
  // Matching pods. Good until many other queries have been asked.
  Tally& counts(const Query& query);
  SumsPtr sums(Tally& tally, Symbol key);
  // The nodes whose sums are not 0, by these; nullptr when there are too many different ones.
  const NodeParts* parts(const Sums& sums) const;
  bool matches(const PodSelector& selector, const PodInfo& pod) const {
    return selector.matches(*pod.labelSet, namespaceLabels_);
  }

  // What pods that have a term add up to on each node.
  struct TermHolders {
    Tally antiAffinity;    // pods that require it as anti-affinity
    Tally affinity;        // pods that require it as affinity
    Tally preferred;       // sum of weights, negative for anti-affinity
    std::size_t pods = 0;  // that have it in any way
  };
  // Calls fn(term, holders) for every term that some pod has and that is about this pod.
  template <class F>
  void forEachTermAbout(const PodInfo& pod, F&& fn) {
    if (termsInUse_ == 0) return;
    for (const auto& [id, serial] : matchesOf(*pod.labelSet).terms)
      if (id < terms_.size() && terms_[id].pods > 0 && cluster_.terms().serial(id) == serial)
        fn(cluster_.terms().term(id), terms_[id]);
  }
  // Whether any pod's term is about this pod.
  bool hasTermAbout(const PodInfo& pod) {
    bool any = false;
    forEachTermAbout(pod, [&](const AffinityTerm&, TermHolders&) { any = true; });
    return any;
  }

  // Rises with everything that may change an answer.
  std::uint64_t version() const { return version_; }
  // Labels of namespaces have changed.
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
  // What is known of one label set.
  struct SetMatches {
    std::uint64_t serial = 0;      // of the set
    std::uint64_t termsTried = 0;  // terms up to this serial have been matched
    // Terms that are about pods with this set, with their serials; some may be gone.
    std::vector<std::pair<TermId, std::uint64_t>> terms;
    std::uint64_t queriesTried = 0;      // as have queries up to this number
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
  std::map<std::uint64_t, Tracked> queries_;  // by number, in the order they came
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
