// Affinity and spreading always need one kind of number: how many pods of some kind are in the
// domain (zone, host, rack) of a node. Counting them by visiting pods costs pods x terms for every
// attempt, and was most of kube-scheduler's time on clusters with affinity. Here every such number
// is kept, and a pod that is added or removed changes the numbers that it belongs to:
//
//   label set   pods with equal namespace and labels are one LabelSet. Each set is matched once
//               against every selector and term (matchesOf). Later ones are matched by serial
//               numbers, so that a new term costs the sets and not the pods.
//   tally       for a selector or term, an amount per node: few in a hash table, many in an array
//               (NodeAmounts).
//   sums        a tally added up by the domains of one label key, computed on first use and
//               updated with the tally. They have the set of nodes whose domain is not 0, which
//               filters need, and those nodes by amount, which scores need, as long as there are
//               few different amounts.
//
// With P pods, N nodes, and m terms and selectors that select one pod (2 to 10 as a rule), adding
// or removing a pod costs O(m). A sum that becomes zero or non-zero also costs O(N / 64) for a
// domain of many nodes, O(1) for a host. A known query costs O(1), a new one O(P) once. A node that
// changes a topology label drops all sums, because its pods count for another domain; they are
// recomputed from the tallies, O(N) each. That is rare. Unused queries and sums are dropped above
// kMaxQueries and kMaxSums, the least recently used first.
//
// Changes of a simulation run through the same code forwards and backwards, so a dry run of
// preemption sees its own affinity. The idea is that of incremental view maintenance in databases
// (Gupta and Mumick 1995): keep the answer, apply the difference.

#include "scheduler/engine/pod_index.h"

#include <algorithm>

namespace koord::scheduler {

std::string PodIndex::Query::key() const {
  std::string key = terminating ? "+" : "-";
  for (const auto& selector : selectors) key += selector.key() + '\f';
  return key;
}

PodIndex::PodIndex(Cluster& cluster, NamespaceLabels namespaceLabels)
    : cluster_(cluster), namespaceLabels_(std::move(namespaceLabels)) {
  for (const auto& record : cluster_.pods()) change(record.node, *record.info, 1);
  cluster_.addListener(*this);
}

void PodIndex::place(Topology& topology, NodeId node) const {
  if (node >= topology.domainOf.size()) topology.domainOf.resize(cluster_.capacity(), kNoDomain);
  std::int32_t& slot = topology.domainOf[node];
  const Label* label =
      cluster_.live().contains(node) ? cluster_.node(node).findLabel(topology.key) : nullptr;
  std::int32_t now = kNoDomain;
  if (label) {
    const auto [it, added] = topology.byValue.emplace(label->value, topology.domains);
    if (added) {
      ++topology.domains;
      topology.all.push_back({label->value, 0, 0});
    }
    now = it->second;
  }
  if (now == slot) return;
  if (slot != kNoDomain) {
    Topology::Domain& left = topology.all[static_cast<std::size_t>(slot)];
    left.nodes ^= node;
    if (--left.size == 0) --topology.inUse;
  }
  if (now != kNoDomain) {
    Topology::Domain& entered = topology.all[static_cast<std::size_t>(now)];
    entered.nodes ^= node;
    if (++entered.size == 1) ++topology.inUse;
  }
  slot = now;
}

const PodIndex::Topology& PodIndex::topology(Symbol key) {
  auto& slot = topologies_[key];
  // Values that no node has accumulate when nodes are added and removed.
  if (slot && static_cast<std::size_t>(slot->domains) > 2 * cluster_.liveCount() + 1024) {
    slot.reset();
    ++topologiesVersion_;
    ++version_;
  }
  if (!slot) {
    slot = std::make_unique<Topology>();
    slot->key = key;
    slot->domainOf.assign(cluster_.capacity(), kNoDomain);
    cluster_.live().forEach([&](NodeId node) { place(*slot, node); });
  }
  if (slot->domainOf.size() < cluster_.capacity())
    slot->domainOf.resize(cluster_.capacity(), kNoDomain);
  return *slot;
}

void PodIndex::collect(const Topology& topology, std::int32_t domain, NodeSet& out) const {
  const Topology::Domain& all = topology.all[static_cast<std::size_t>(domain)];
  if (all.size == 1) {
    out.insert(all.nodes);
  } else if (all.size > 1) {
    cluster_.labels().collect(Label{topology.key, all.value}, out);
  }
}

PodIndex::SumsPtr PodIndex::sums(Tally& tally, Symbol key) {
  const Topology& topology = this->topology(key);
  sumsKept_ -= std::erase_if(
      tally.sums_, [&](const auto& sums) { return sums->topologies != topologiesVersion_; });
  for (const auto& sums : tally.sums_)
    if (sums->topology == &topology) return sums;
  if (sumsKept_ >= kMaxSums) dropSums();
  const auto& sums = tally.sums_.emplace_back(std::make_shared<Sums>());
  ++sumsKept_;
  sums->topology = &topology;
  sums->topologies = topologiesVersion_;
  tally.byNode_.forEach([&](NodeId node, std::int64_t amount) {
    if (const std::int32_t domain = topology.of(node); domain != kNoDomain)
      add(*sums, domain, amount);
  });
  return sums;
}

void PodIndex::add(Sums& sums, std::int32_t domain, std::int64_t amount) const {
  const auto id = static_cast<NodeId>(domain);
  const std::int64_t before = sums.byDomain.at(id);
  sums.byDomain.add(id, amount);
  if (sums.byAmount) regroup(sums, domain, before, before + amount);
  if (before != 0 && before + amount != 0) return;
  if (before == 0) return collect(*sums.topology, domain, sums.nodes);
  NodeSet nodes;
  collect(*sums.topology, domain, nodes);
  sums.nodes.subtract(nodes);
}

void PodIndex::regroup(const Sums& sums, std::int32_t domain, std::int64_t before,
                       std::int64_t after) const {
  const auto move = [&](const auto& nodes) {
    if (before != 0) sums.byAmount->take(static_cast<double>(before), nodes);
    sums.many = after != 0 && !sums.byAmount->put(static_cast<double>(after), nodes);
  };
  const Topology::Domain& all = sums.topology->all[static_cast<std::size_t>(domain)];
  if (all.size == 1) {
    move(all.nodes);
  } else {
    NodeSet nodes;
    collect(*sums.topology, domain, nodes);
    move(nodes);
  }
  if (sums.many) sums.byAmount.reset();
}

const NodeParts* PodIndex::parts(const Sums& sums) const {
  if (!sums.byAmount && !sums.many) {
    sums.byAmount.emplace();
    sums.byDomain.forEach([&](NodeId domain, std::int64_t amount) {
      if (sums.byAmount) regroup(sums, static_cast<std::int32_t>(domain), 0, amount);
    });
  }
  return sums.byAmount ? &*sums.byAmount : nullptr;
}

void PodIndex::add(Tally& tally, NodeId node, std::int64_t amount) const {
  if (amount == 0) return;
  tally.byNode_.add(node, amount);
  for (const auto& sums : tally.sums_) {
    if (sums->topologies != topologiesVersion_) continue;
    if (const std::int32_t domain = sums->topology->of(node); domain != kNoDomain)
      add(*sums, domain, amount);
  }
}

void PodIndex::clear(Tally& tally) {
  sumsKept_ -= tally.sums_.size();
  tally.sums_.clear();
}

// There are many, and most of them are unused.
void PodIndex::dropSums() {
  for (auto& [number, tracked] : queries_) clear(tracked.counts);
  for (TermHolders& holders : terms_)
    for (Tally* tally : {&holders.antiAffinity, &holders.affinity, &holders.preferred})
      clear(*tally);
}

bool PodIndex::selects(const Query& query, const LabelSet& set) const {
  return std::ranges::all_of(query.selectors, [&](const PodSelector& selector) {
    return selector.matches(set, namespaceLabels_);
  });
}

PodIndex::SetMatches& PodIndex::matchesOf(const LabelSet& set) {
  if (set.id >= sets_.size()) sets_.resize(set.id + 1);
  SetMatches& known = sets_[set.id];
  if (known.serial != set.serial) {  // the id now belongs to another set
    known = {};
    known.serial = set.serial;
  }
  const TermTable& terms = cluster_.terms();
  if (known.termsTried < terms.lastSerial()) {
    std::erase_if(known.terms,
                  [&](const auto& term) { return terms.serial(term.first) != term.second; });
    const auto& all = terms.bySerial();
    for (auto it = all.upper_bound(known.termsTried); it != all.end(); ++it)
      if (terms.term(it->second).pods.matches(set, namespaceLabels_))
        known.terms.emplace_back(it->second, it->first);
    known.termsTried = terms.lastSerial();
  }
  if (known.queriesTried < lastQuery_) {
    for (auto it = queries_.upper_bound(known.queriesTried); it != queries_.end(); ++it)
      if (selects(it->second.query, set)) known.queries.push_back(it->first);
    known.queriesTried = lastQuery_;
  }
  return known;
}

void PodIndex::recount(Tracked& tracked) {
  clear(tracked.counts);
  tracked.counts.byNode_.clear();
  boost::unordered_flat_map<const LabelSet*, bool> matching;
  for (const auto& record : cluster_.pods()) {
    if (!tracked.query.terminating && record.info->pod->metadata.deletionTimestamp) continue;
    if (!hidden_.empty() && hidden_.contains(record.info.get())) continue;  // counted by podShown
    const LabelSet* set = record.info->labelSet.get();
    const auto [it, added] = matching.try_emplace(set, false);
    if (added) it->second = selects(tracked.query, *set);
    if (it->second) add(tracked.counts, record.node, 1);
  }
}

PodIndex::Tally& PodIndex::counts(const Query& query) {
  const auto [known, added] = queryNumbers_.try_emplace(query.key(), lastQuery_ + 1);
  Tracked& tracked = queries_[known->second];
  if (added) {
    ++lastQuery_;
    tracked.query = query;
    recount(tracked);
    tracked.lastUse = ++uses_;
    if (queries_.size() > kMaxQueries) dropLeastUsed();
  }
  tracked.lastUse = ++uses_;
  return tracked.counts;
}

// Drops a quarter at once, because finding them takes a pass over all. Label sets that refer to
// them notice at their next lookup.
void PodIndex::dropLeastUsed() {
  std::vector<std::uint64_t> uses;
  for (const auto& [number, tracked] : queries_) uses.push_back(tracked.lastUse);
  const auto quarter = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 4);
  std::ranges::nth_element(uses, quarter);
  std::erase_if(queries_, [&](const auto& entry) {
    if (entry.second.lastUse > *quarter) return false;
    queryNumbers_.erase(entry.second.query.key());
    sumsKept_ -= entry.second.counts.sums_.size();
    return true;
  });
}

void PodIndex::change(NodeId node, const PodInfo& pod, int by) {
  ++version_;
  if (!queries_.empty()) {
    const bool terminating = pod.pod->metadata.deletionTimestamp.has_value();
    std::erase_if(matchesOf(*pod.labelSet).queries, [&](std::uint64_t number) {
      const auto it = queries_.find(number);
      if (it == queries_.end()) return true;
      if (it->second.query.terminating || !terminating) add(it->second.counts, node, by);
      return false;
    });
  }
  if (!pod.terms) return;
  const auto hold = [&](TermId id, Tally TermHolders::* tally, std::int64_t amount) {
    while (id >= terms_.size()) terms_.emplace_back();
    TermHolders& holders = terms_[id];
    add(holders.*tally, node, by * amount);
    const bool before = holders.pods > 0;
    holders.pods += static_cast<std::size_t>(by);
    const bool after = holders.pods > 0;
    if (before && !after) --termsInUse_;
    if (!before && after) ++termsInUse_;
  };
  for (const TermId id : pod.terms->antiAffinity) hold(id, &TermHolders::antiAffinity, 1);
  for (const TermId id : pod.terms->affinity) hold(id, &TermHolders::affinity, 1);
  for (const auto& [id, weight] : pod.terms->preferred) hold(id, &TermHolders::preferred, weight);
}

void PodIndex::podAdded(NodeId node, const PodPtr& pod) {
  change(node, *pod, 1);
}
void PodIndex::podRemoved(NodeId node, const PodPtr& pod) {
  change(node, *pod, -1);
}

void PodIndex::podHidden(NodeId node, const PodPtr& pod) {
  hidden_.insert(pod.get());
  podRemoved(node, pod);
}
void PodIndex::podShown(NodeId node, const PodPtr& pod) {
  hidden_.erase(pod.get());
  podAdded(node, pod);
}

void PodIndex::nodeChanging(NodeId) {
  ++version_;
}

void PodIndex::nodeChanged(NodeId node) {
  ++version_;
  ++topologiesVersion_;
  for (auto& [key, topology] : topologies_) place(*topology, node);
}

void PodIndex::symbolsChanged() {
  ++version_;
  ++topologiesVersion_;
  dropSums();
  topologies_.clear();
}

void PodIndex::namespacesChanged() {
  ++version_;
  sets_.clear();
  for (auto& [number, tracked] : queries_) recount(tracked);
}

}  // namespace koord::scheduler
