// The score of PodTopologySpread: what ScheduleAnyway constraints make of the feasible nodes.

#include <algorithm>
#include <cmath>

#include "scheduler/plugins/podtopologyspread/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// Half away from zero, of a number that is not negative. std::llround is a call into libm.
std::int64_t rounded(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return whole + static_cast<std::int64_t>(value - static_cast<double>(whole) >= 0.5);
}

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
  soft_.ignored.assign(nodes.size(), 0);
  std::size_t scored = nodes.size();
  for (const Spread& spread : soft_.spreads) {
    if (!needAllKeys) break;
    const std::int32_t* domainOf = index_.topology(spread.constraint.key).domainOf.data();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (domainOf[nodes[n]] != PodIndex::kNoDomain || soft_.ignored[n] != 0) continue;
      soft_.ignored[n] = 1;
      --scored;
    }
  }
  for (Spread& spread : soft_.spreads) {
    const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
    std::size_t size = scored;
    if (cluster_.symbols().text(spread.constraint.key) != kHostname) {
      // Domains that no node in question is in do not count; all nodes without the label are one.
      const auto unlabelled = static_cast<std::size_t>(topology.domains);
      spread.exists.assign(unlabelled + 1, 0);
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (soft_.ignored[n] != 0) continue;
        const std::int32_t domain = topology.domainOf[nodes[n]];
        spread
            .exists[domain == PodIndex::kNoDomain ? unlabelled : static_cast<std::size_t>(domain)] =
            1;
      }
      size = static_cast<std::size_t>(std::ranges::count(spread.exists, 1));
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
  std::vector<double> costs;  // of a domain; by node for host names, which count a node's own pods
  for (const Spread& spread : soft_.spreads) {
    const std::int32_t* domainOf = index_.topology(spread.constraint.key).domainOf.data();
    const bool host = cluster_.symbols().text(spread.constraint.key) == kHostname;
    const auto base = static_cast<double>(spread.constraint.maxSkew - 1);
    const auto costOf = [&](std::int64_t pods) {
      return static_cast<double>(pods) * spread.weight + base;
    };
    costs.assign(host ? cluster_.capacity() : spread.counts.size(), base);
    if (host) {
      countsOf(spread).forEach([&](NodeId node, std::int64_t pods) { costs[node] = costOf(pods); });
    } else {
      std::ranges::transform(spread.counts, costs.begin(), costOf);
    }
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::int32_t domain = domainOf[nodes[n]];
      if (domain != PodIndex::kNoDomain)
        sums[n] += costs[host ? nodes[n] : static_cast<std::size_t>(domain)];
    }
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    scores[n] = soft_.ignored[n] != 0 ? 0 : rounded(sums[n]);
  return {};
}

Status PodTopologySpread::normalize(const CycleState&, const PodInfo&,
                                    std::span<const NodeId> nodes, std::span<std::int64_t> scores) {
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (soft_.ignored[n] != 0) continue;
    least = std::min(least, scores[n]);
    most = std::max(most, scores[n]);
  }
  if (least == INT64_MAX) {  // of no node in question
    std::ranges::fill(scores, 0);
    return {};
  }
  // Quotients of integers this small are told apart from whole numbers by doubles, which are
  // several times as fast to divide.
  const bool small = most < std::int64_t{1} << 40;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::int64_t inverted = most + least - scores[n];
    const std::int64_t score =
        most == 0 ? 100
        : small   ? static_cast<std::int64_t>(static_cast<double>(100 * inverted) /
                                              static_cast<double>(most))
                  : static_cast<std::int64_t>(static_cast<__int128>(100) * inverted / most);
    scores[n] = soft_.ignored[n] != 0 ? 0 : score;
  }
  return {};
}

}  // namespace koord::scheduler
