// The score of PodTopologySpread: what ScheduleAnyway constraints make of the feasible nodes.

#include <algorithm>
#include <cmath>

#include "scheduler/plugins/podtopologyspread/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

}  // namespace

bool PodTopologySpread::indifferent(const PodInfo& pod) {
  return constraints_.none(pod, SpreadAction::ScheduleAnyway);
}

Status PodTopologySpread::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId> nodes) {
  if (indifferent(pod)) return Status::skip();
  auto constraints = constraints_.of(pod, SpreadAction::ScheduleAnyway);
  if (!constraints) {
    return Status::error(
        "calculating preScoreState: obtaining pod's soft topology spread constraints: " +
        constraints.error().message);
  }
  if (constraints->empty()) return Status::skip();
  const bool needAllKeys = constraints_.needAllKeys(pod);
  soft_.spreads = spreadsOf(pod, *std::move(constraints), needAllKeys);
  soft_.ignored.clear();
  std::size_t scored = nodes.size();
  if (needAllKeys) {
    for (const NodeId node : nodes) {
      const bool lacksKey = std::ranges::any_of(soft_.spreads, [&](const Spread& spread) {
        return cluster_.node(node).findLabel(spread.constraint.key) == nullptr;
      });
      if (!lacksKey) continue;
      soft_.ignored.insert(node);
      --scored;
    }
  }
  for (Spread& spread : soft_.spreads) {
    const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
    std::size_t size = scored;
    if (cluster_.symbols().text(spread.constraint.key) != kHostname) {
      // Domains that no node in question is in do not count; all nodes without the label are one.
      spread.exists.assign(static_cast<std::size_t>(topology.domains) + 1, 0);
      size = 0;
      for (const NodeId node : nodes) {
        if (soft_.ignored.contains(node)) continue;
        const std::int32_t domain = topology.domainOf[node];
        char& exists = domain == PodIndex::kNoDomain
                           ? spread.exists.back()
                           : spread.exists[static_cast<std::size_t>(domain)];
        size += exists == 0;
        exists = 1;
      }
      spread.counts.assign(spread.exists.size(), 0);
      countsOf(spread).forEach([&](NodeId node, std::int64_t pods) {
        const std::int32_t domain = topology.domainOf[node];
        if (domain != PodIndex::kNoDomain && spread.nodes.contains(node))
          spread.counts[static_cast<std::size_t>(domain)] += pods;
      });
    }
    // Differences weigh the more the more domains there are, if only logarithmically.
    spread.weight = std::log(static_cast<double>(size) + 2);
  }
  return {};
}

Status PodTopologySpread::score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
                                std::span<std::int64_t> scores) {
  std::vector<double> sums(nodes.size(), 0);
  for (const Spread& spread : soft_.spreads) {
    const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
    const bool host = cluster_.symbols().text(spread.constraint.key) == kHostname;
    const NodeAmounts* onNode = host ? &countsOf(spread) : nullptr;
    const auto base = static_cast<double>(spread.constraint.maxSkew - 1);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::int32_t domain = topology.domainOf[nodes[n]];
      if (domain == PodIndex::kNoDomain) continue;
      const std::int64_t pods =
          host ? onNode->at(nodes[n]) : spread.counts[static_cast<std::size_t>(domain)];
      sums[n] += static_cast<double>(pods) * spread.weight + base;
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    scores[n] = soft_.ignored.contains(nodes[n]) ? 0 : std::llround(sums[n]);
  return {};
}

Status PodTopologySpread::normalize(const CycleState&, const PodInfo&,
                                    std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (soft_.ignored.contains(nodes[n])) continue;
    least = std::min(least, scores[n]);
    most = std::max(most, scores[n]);
  }
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (soft_.ignored.contains(nodes[n])) {
      scores[n] = 0;
    } else {
      scores[n] = most == 0 ? 100 : 100 * (most + least - scores[n]) / most;
    }
  }
  return {};
}

}  // namespace koord::scheduler
