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
  for (const auto& [uid, record] : cluster_.pods()) change(record.node, *record.info, 1);
  cluster_.addListener(*this);
}

void PodIndex::place(Topology& topology, Symbol key, NodeId node) const {
  if (node >= topology.domainOf.size()) topology.domainOf.resize(cluster_.capacity(), kNoDomain);
  const Label* label = cluster_.live().contains(node) ? cluster_.node(node).findLabel(key) : nullptr;
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
  if (slot && static_cast<std::size_t>(slot->domains) > 2 * cluster_.liveCount() + 1024) slot.reset();
  if (!slot) {
    slot = std::make_unique<Topology>();
    slot->domainOf.assign(cluster_.capacity(), kNoDomain);
    cluster_.live().forEach([&](NodeId node) { place(*slot, key, node); });
  }
  if (slot->domainOf.size() < cluster_.capacity()) slot->domainOf.resize(cluster_.capacity(), kNoDomain);
  return *slot;
}

bool PodIndex::counts(Tracked& tracked, const PodInfo& pod) const {
  if (!tracked.query.terminating && pod.pod->metadata.deletionTimestamp) return false;
  return tracked.cache.of(*pod.labelSet, [&](const LabelSet& set) {
    return std::ranges::all_of(tracked.query.selectors, [&](const PodSelector& selector) {
      return selector.matches(set, namespaceLabels_);
    });
  });
}

void PodIndex::recount(Tracked& tracked) const {
  tracked.counts.assign(cluster_.capacity(), 0);
  for (const auto& [uid, record] : cluster_.pods())
    if (counts(tracked, *record.info)) ++tracked.counts[record.node];
}

std::span<const std::int32_t> PodIndex::counts(const Query& query) {
  const std::string key = query.key();
  if (const auto it = queries_.find(key); it != queries_.end()) {
    order_.splice(order_.begin(), order_, it->second);
  } else {
    order_.push_front({query, {}, {}});
    queries_.emplace(key, order_.begin());
    recount(order_.front());
    if (order_.size() > kMaxQueries) {
      queries_.erase(order_.back().query.key());
      order_.pop_back();
    }
  }
  Tracked& tracked = order_.front();
  if (tracked.counts.size() < cluster_.capacity()) tracked.counts.resize(cluster_.capacity());
  return tracked.counts;
}

void PodIndex::change(NodeId node, const PodInfo& pod, int by) {
  ++version_;
  for (Tracked& tracked : order_) {
    if (!counts(tracked, pod)) continue;
    if (node >= tracked.counts.size()) tracked.counts.resize(cluster_.capacity());
    tracked.counts[node] += by;
  }
  if (!pod.terms) return;
  const auto add = [&](TermId id, std::vector<std::int64_t> TermHolders::*sums, std::size_t TermHolders::*pods,
                       std::int64_t amount) {
    while (id >= terms_.size()) terms_.emplace_back();
    TermHolders& holders = terms_[id];
    const std::size_t before = holders.antiPods + holders.affinityPods + holders.preferredPods;
    auto& column = holders.*sums;
    if (node >= column.size()) column.resize(cluster_.capacity());
    column[node] += by * amount;
    holders.*pods += static_cast<std::size_t>(by);
    const std::size_t after = holders.antiPods + holders.affinityPods + holders.preferredPods;
    if (before == 0 && after > 0) activeTerms_.push_back(id);
    if (before > 0 && after == 0) std::erase(activeTerms_, id);
  };
  for (const TermId id : pod.terms->antiAffinity) add(id, &TermHolders::antiAffinity, &TermHolders::antiPods, 1);
  for (const TermId id : pod.terms->affinity) add(id, &TermHolders::affinity, &TermHolders::affinityPods, 1);
  for (const auto& [id, weight] : pod.terms->preferred)
    add(id, &TermHolders::preferred, &TermHolders::preferredPods, weight);
}

void PodIndex::podAdded(NodeId node, const PodPtr& pod) { change(node, *pod, 1); }
void PodIndex::podRemoved(NodeId node, const PodPtr& pod) { change(node, *pod, -1); }

void PodIndex::nodeChanging(NodeId) { ++version_; }

void PodIndex::nodeChanged(NodeId node) {
  ++version_;
  for (auto& [key, topology] : topologies_) place(*topology, key, node);
}

void PodIndex::namespacesChanged() {
  ++version_;
  for (Tracked& tracked : order_) {
    tracked.cache.clear();
    recount(tracked);
  }
  for (TermHolders& holders : terms_) holders.cache.clear();
}

}  // namespace koord::scheduler
