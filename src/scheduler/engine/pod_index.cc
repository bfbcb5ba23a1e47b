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

void PodIndex::place(Topology& topology, Symbol key, NodeId node) const {
  if (node >= topology.domainOf.size()) topology.domainOf.resize(cluster_.capacity(), kNoDomain);
  const Label* label =
      cluster_.live().contains(node) ? cluster_.node(node).findLabel(key) : nullptr;
  if (!label) {
    topology.domainOf[node] = kNoDomain;
    return;
  }
  const auto [it, added] = topology.byValue.emplace(label->value, topology.domains);
  if (added) ++topology.domains;
  topology.domainOf[node] = it->second;
}

const PodIndex::Topology& PodIndex::topology(Symbol key) {
  auto& slot = topologies_[key];
  // Values that no node has any more pile up when nodes come and go.
  if (slot && static_cast<std::size_t>(slot->domains) > 2 * cluster_.liveCount() + 1024)
    slot.reset();
  if (!slot) {
    slot = std::make_unique<Topology>();
    slot->domainOf.assign(cluster_.capacity(), kNoDomain);
    cluster_.live().forEach([&](NodeId node) { place(*slot, key, node); });
  }
  if (slot->domainOf.size() < cluster_.capacity())
    slot->domainOf.resize(cluster_.capacity(), kNoDomain);
  return *slot;
}

bool PodIndex::selects(const Query& query, const LabelSet& set) const {
  return std::ranges::all_of(query.selectors, [&](const PodSelector& selector) {
    return selector.matches(set, namespaceLabels_);
  });
}

PodIndex::SetMatches& PodIndex::matchesOf(const LabelSet& set) {
  if (set.id >= sets_.size()) sets_.resize(set.id + 1);
  SetMatches& known = sets_[set.id];
  if (known.serial != set.serial) {  // the number now belongs to another set
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

void PodIndex::recount(Tracked& tracked) const {
  tracked.counts.clear();
  boost::unordered_flat_map<const LabelSet*, bool> matching;
  for (const auto& record : cluster_.pods()) {
    if (!tracked.query.terminating && record.info->pod->metadata.deletionTimestamp) continue;
    const LabelSet* set = record.info->labelSet.get();
    const auto [it, added] = matching.try_emplace(set, false);
    if (added) it->second = selects(tracked.query, *set);
    if (it->second) tracked.counts.add(record.node, 1);
  }
}

const NodeAmounts& PodIndex::counts(const Query& query) {
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

// A quarter at once, since finding them takes a walk over all. Label sets that refer to them find
// out when they are next looked at.
void PodIndex::dropLeastUsed() {
  std::vector<std::uint64_t> uses;
  for (const auto& [number, tracked] : queries_) uses.push_back(tracked.lastUse);
  const auto quarter = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 4);
  std::ranges::nth_element(uses, quarter);
  std::erase_if(queries_, [&](const auto& entry) {
    if (entry.second.lastUse > *quarter) return false;
    queryNumbers_.erase(entry.second.query.key());
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
      if (it->second.query.terminating || !terminating) it->second.counts.add(node, by);
      return false;
    });
  }
  if (!pod.terms) return;
  const auto add = [&](TermId id, NodeAmounts TermHolders::* amounts, std::int64_t amount) {
    while (id >= terms_.size()) terms_.emplace_back();
    TermHolders& holders = terms_[id];
    (holders.*amounts).add(node, by * amount);
    const bool before = holders.pods > 0;
    holders.pods += static_cast<std::size_t>(by);
    const bool after = holders.pods > 0;
    if (before && !after) --termsInUse_;
    if (!before && after) ++termsInUse_;
  };
  for (const TermId id : pod.terms->antiAffinity) add(id, &TermHolders::antiAffinity, 1);
  for (const TermId id : pod.terms->affinity) add(id, &TermHolders::affinity, 1);
  for (const auto& [id, weight] : pod.terms->preferred) add(id, &TermHolders::preferred, weight);
}

void PodIndex::podAdded(NodeId node, const PodPtr& pod) {
  change(node, *pod, 1);
}
void PodIndex::podRemoved(NodeId node, const PodPtr& pod) {
  change(node, *pod, -1);
}

void PodIndex::nodeChanging(NodeId) {
  ++version_;
}

void PodIndex::nodeChanged(NodeId node) {
  ++version_;
  for (auto& [key, topology] : topologies_) place(*topology, key, node);
}

void PodIndex::symbolsChanged() {
  ++version_;
  topologies_.clear();
}

void PodIndex::namespacesChanged() {
  ++version_;
  sets_.clear();
  for (auto& [number, tracked] : queries_) recount(tracked);
}

}  // namespace koord::scheduler
