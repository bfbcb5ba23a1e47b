// The score of PodTopologySpread: rates the feasible nodes by the ScheduleAnyway constraints.

#include <algorithm>
#include <cmath>

#include "scheduler/plugins/podtopologyspread/plugin.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

// Rounds half up; the value is not negative. std::llround is a call into libm.
std::int64_t rounded(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return whole + static_cast<std::int64_t>(value - static_cast<double>(whole) >= 0.5);
}

// 100 for the least cost, and less for higher costs.
std::int64_t normalized(std::int64_t cost, std::int64_t least, std::int64_t most) {
  if (most == 0) return 100;
  const std::int64_t inverted = most + least - cost;
  // For integers this small, doubles distinguish quotients from the next integer, and divide
  // several times as fast.
  if (most < std::int64_t{1} << 40)
    return static_cast<std::int64_t>(static_cast<double>(100 * inverted) /
                                     static_cast<double>(most));
  return static_cast<std::int64_t>(static_cast<__int128>(100) * inverted / most);
}

// The weight of differences increases with the number of domains, logarithmically.
double weightOf(std::size_t domains) {
  return std::log(static_cast<double>(domains) + 2);
}

}  // namespace

bool PodTopologySpread::willSkipScore(const PodInfo& pod) {
  return constraints_.none(pod, SpreadAction::ScheduleAnyway);
}

Status PodTopologySpread::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId> nodes) {
  if (willSkipScore(pod)) return Status::skip();
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
  soft_.counts.clear();
  for (Spread& spread : soft_.spreads) {
    const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
    std::vector<std::int64_t>& counts = soft_.counts.emplace_back();
    std::size_t size = scored;
    if (cluster_.symbols().text(spread.constraint.key) != kHostname) {
      // Domains without a node in question do not count; all nodes without the label are one
      // domain.
      const auto unlabelled = static_cast<std::size_t>(topology.domains);
      std::vector<char> exists(unlabelled + 1, 0);
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (soft_.ignored[n] != 0) continue;
        const std::int32_t domain = topology.domainOf[nodes[n]];
        exists[domain == PodIndex::kNoDomain ? unlabelled : static_cast<std::size_t>(domain)] = 1;
      }
      size = static_cast<std::size_t>(std::ranges::count(exists, 1));
      count(spread);
      counts.assign(unlabelled, 0);
      spread.counts().forEach([&](NodeId domain, std::int64_t pods) { counts[domain] = pods; });
    }
    spread.weight = weightOf(size);
  }
  return {};
}

Status PodTopologySpread::score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
                                std::span<std::int64_t> scores) {
  std::vector<double> sums(nodes.size(), 0);
  std::vector<double> costs;  // by domain; by node for host names, where a node's own pods count
  for (std::size_t i = 0; i < soft_.spreads.size(); ++i) {
    const Spread& spread = soft_.spreads[i];
    const std::int32_t* domainOf = index_.topology(spread.constraint.key).domainOf.data();
    const bool host = cluster_.symbols().text(spread.constraint.key) == kHostname;
    const auto base = static_cast<double>(spread.constraint.maxSkew - 1);
    const auto costOf = [&](std::int64_t pods) {
      return static_cast<double>(pods) * spread.weight + base;
    };
    costs.assign(host ? cluster_.capacity() : soft_.counts[i].size(), base);
    if (host) {
      podsByNode(spread).forEach(
          [&](NodeId node, std::int64_t pods) { costs[node] = costOf(pods); });
    } else {
      std::ranges::transform(soft_.counts[i], costs.begin(), costOf);
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
  if (least == INT64_MAX) {  // no node in question
    std::ranges::fill(scores, 0);
    return {};
  }
  for (std::size_t n = 0; n < nodes.size(); ++n)
    scores[n] = soft_.ignored[n] != 0 ? 0 : normalized(scores[n], least, most);
  return {};
}

// The cost of one constraint on each of the nodes. All of them have its label, unless the label is
// not required.
std::optional<NodeParts> PodTopologySpread::costs(Spread& spread, const NodeSet& scored) {
  constexpr std::size_t kFewDomains = 64;
  const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
  const auto costOf = [&](std::int64_t pods) {
    return static_cast<double>(pods) * spread.weight +
           static_cast<double>(spread.constraint.maxSkew - 1);
  };
  NodeSet labelled;
  cluster_.labels().collect(topology.key, labelled);
  NodeParts parts;
  if (cluster_.symbols().text(topology.key) == kHostname) {  // a node's own pods count
    spread.weight = weightOf(scored.size());
    bool few = true;
    podsByNode(spread).forEach([&](NodeId node, std::int64_t pods) {
      if (!labelled.contains(node)) return;
      labelled.erase(node);
      few = few && parts.put(costOf(pods), node);
    });
    if (!few || !parts.put(costOf(0), labelled)) return std::nullopt;
    return parts;
  }
  if (topology.all.size() > kFewDomains) return std::nullopt;
  // Domains without a node in question do not count; all nodes without the label are one domain.
  std::vector<std::pair<NodeSet, std::int64_t>> domains;
  count(spread);
  for (std::int32_t domain = 0; domain < topology.domains; ++domain) {
    NodeSet nodes;
    index_.collect(topology, domain, nodes);
    nodes.intersect(scored);
    if (!nodes.empty())
      domains.emplace_back(std::move(nodes), spread.counts().at(static_cast<NodeId>(domain)));
  }
  NodeSet unlabelled = scored;
  unlabelled.subtract(labelled);
  spread.weight = weightOf(domains.size() + (unlabelled.empty() ? 0 : 1));
  for (const auto& [nodes, pods] : domains)
    if (!parts.put(costOf(pods), nodes)) return std::nullopt;
  return parts;
}

std::optional<NodeParts> PodTopologySpread::scoreParts(const PodInfo& pod, const NodeSet& nodes) {
  auto constraints = constraints_.of(pod, SpreadAction::ScheduleAnyway);
  if (!constraints || constraints->empty()) return std::nullopt;
  const bool needAllKeys = constraints_.needAllKeys(pod);
  std::vector<Spread> spreads = spreadsOf(pod, *std::move(constraints), needAllKeys);
  NodeSet scored = nodes;
  for (const Spread& spread : spreads) {
    if (!needAllKeys) break;
    NodeSet labelled;
    cluster_.labels().collect(spread.constraint.key, labelled);
    scored.intersect(labelled);
  }
  NodeParts sums(scored);
  for (Spread& spread : spreads) {
    const auto parts = costs(spread, scored);
    if (!parts || !sums.add(*parts)) return std::nullopt;
  }
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
  for (const NodePart& part : sums.parts()) {
    least = std::min(least, rounded(part.value));
    most = std::max(most, rounded(part.value));
  }
  NodeParts scores = sums.map(
      [&](double cost) { return static_cast<double>(normalized(rounded(cost), least, most)); });
  if (scored.empty()) return NodeParts(nodes);
  NodeSet ignored = nodes;
  ignored.subtract(scored);
  if (!ignored.empty() && !scores.put(0, ignored)) return std::nullopt;
  return scores;
}

}  // namespace koord::scheduler
