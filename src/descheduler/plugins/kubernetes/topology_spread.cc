#include "descheduler/plugins/kubernetes/topology_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "descheduler/plugins/kubernetes/spread_index.h"
#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/pod_order.h"

namespace koord::descheduler {

struct TopologySpread::Constraint {
  std::int64_t maxSkew = 1;
  std::string topologyKey;
  api::Selector selector;
  PodPtr pod;  // its node affinity and tolerations decide which nodes count
  bool honorsAffinity = true;
  bool honorsTaints = false;
  std::string choice;  // nodeChoice() of the pod

  bool counts(const api::Node& node, const NodeDemand& demand) const {
    return node.metadata.labels.contains(topologyKey) &&
           (!honorsAffinity || demand.matches(node)) &&
           (!honorsTaints || toleratesTaints(*pod, node));
  }
};

struct TopologySpread::Domain {
  std::vector<PodPtr> pods;                             // the last ones are evicted first
  const std::vector<std::uint32_t>* counted = nullptr;  // nodes
};

// The nodes of one cycle, with indexes for constraints.
class TopologySpread::Cycle {
 public:
  explicit Cycle(const Nodes& nodes) : nodes_(nodes) {}

  // The pods that the constraint counts, by domain. Valid until the next call.
  std::vector<Domain> domainsOf(const Constraint& constraint, const std::vector<Placed>& pods,
                                PodsByLabel& byLabel);
  // Adds the domain's nodes that count.
  void addNodes(const Domain& domain, Nodes& nodes) const {
    for (const std::uint32_t node : *domain.counted) nodes.push_back(nodes_[node]);
  }

 private:
  const Topology& topologyOf(const std::string& key) {
    const auto at = topologies_.find(key);
    return at != topologies_.end() ? at->second
                                   : topologies_.emplace(key, Topology(nodes_, key)).first->second;
  }
  const CountedNodes& countedBy(const Constraint& constraint, const Topology& topology);

  const Nodes& nodes_;
  std::map<std::string, Topology> topologies_;
  // By topology key and choice of nodes; nearly all pods have the same choice.
  std::map<std::pair<std::string, std::string>, CountedNodes> counted_;
};

TopologySpread::Args TopologySpread::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  if (args.has("constraints"))
    out.constraints = readChoices(args, "constraints", {"DoNotSchedule", "ScheduleAnyway"});
  args.raw("constraints");
  out.nodeFit = args.boolean("topologyBalanceNodeFit", true);
  out.effective = givenOf(args, {"namespaces", "labelSelector"});
  out.effective.emplace("constraints", json::array(out.constraints.begin(), out.constraints.end()));
  out.effective.emplace("topologyBalanceNodeFit", out.nodeFit);
  return out;
}

namespace {

std::optional<api::Selector> selectorOf(const api::TopologySpreadConstraint& constraint,
                                        const Pod& pod) {
  api::LabelSelector selector = *constraint.labelSelector;
  for (const std::string& key : constraint.matchLabelKeys)
    if (const auto* value = api::findIn(pod.metadata.labels, key)) {
      api::LabelSelectorRequirement requirement;
      requirement.key = key;
      requirement.operator_ = "In";
      requirement.values.push_back(*value);
      selector.matchExpressions.push_back(std::move(requirement));
    }
  auto compiled = api::Selector::compile(selector);
  if (!compiled) return std::nullopt;
  return *std::move(compiled);
}

// Appends all inputs of a pod's constraint, as a key: copies of a pod need not compile theirs.
void appendSource(const api::TopologySpreadConstraint& given, const Pod& pod, std::string& text) {
  const auto part = [&](std::string_view word) {
    text += std::to_string(word.size());
    text += ':';
    text += word;
  };
  part(given.topologyKey);
  part(std::to_string(given.maxSkew));
  part(given.nodeAffinityPolicy.value_or("Honor"));
  part(given.nodeTaintsPolicy.value_or("Ignore"));
  for (const auto& [key, value] : given.labelSelector->matchLabels) {
    part(key);
    part(value);
  }
  for (const auto& expression : given.labelSelector->matchExpressions) {
    part(expression.key);
    part(expression.operator_);
    for (const std::string& value : expression.values) part(value);
    text += ';';
  }
  text += ';';
  for (const std::string& key : given.matchLabelKeys)
    if (const auto* value = api::findIn(pod.metadata.labels, key)) {
      part(key);
      part(*value);
    }
  text += ';';
}

// The pod's fields that decide which nodes a constraint counts.
std::string nodeChoice(const Pod& pod, bool affinity, bool taints) {
  std::string text;
  if (affinity) {
    for (const auto& [key, value] : pod.spec.nodeSelector)
      text += fmt::format("{}={};", key, value);
    // Copies of a pod have the same affinity.
    if (pod.facts.is(PodFacts::NodeRequired))
      text += fmt::format("affinity {};",
                          pod.facts.signature != 0 ? pod.facts.signature : pod.facts.key);
  }
  if (taints)
    for (const auto& toleration : pod.spec.tolerations)
      text += fmt::format("{} {} {} {};", toleration.key, toleration.operator_, toleration.value,
                          toleration.effect);
  return text;
}

// Higher ranks are evicted first: rank 0 cannot be evicted, rank 1 is bound to nodes.
int evictionRank(const Pod& pod, bool evictable) {
  if (!evictable) return 0;
  const auto tied = PodFacts::NodeSelected | PodFacts::NodeRequired | PodFacts::NodePreferred;
  return (pod.facts.flags & tied) != 0 ? 1 : 2;
}

}  // namespace

std::vector<TopologySpread::Constraint> TopologySpread::constraintsOf(
    const std::vector<Placed>& pods) const {
  std::map<std::string, Constraint> distinct;
  std::unordered_set<std::string> seen;
  std::string source;
  for (const Placed& placed : pods) {
    const Pod& pod = *placed.pod;
    for (const auto& given : pod.spec.topologySpreadConstraints) {
      if (!given.labelSelector ||
          std::ranges::find(args_.constraints, given.whenUnsatisfiable) == args_.constraints.end())
        continue;
      source = nodeChoice(pod, true, true);
      appendSource(given, pod, source);
      if (!seen.insert(source).second) continue;
      auto selector = selectorOf(given, pod);
      if (!selector) continue;
      const bool affinity = given.nodeAffinityPolicy.value_or("Honor") == "Honor";
      const bool taints = given.nodeTaintsPolicy.value_or("Ignore") == "Honor";
      std::string choice =
          fmt::format("{} {} {}", affinity, taints, nodeChoice(pod, affinity, taints));
      auto key = fmt::format("{} {} {} {}", given.topologyKey, given.maxSkew, selector->toString(),
                             choice);
      distinct.try_emplace(std::move(key),
                           Constraint{given.maxSkew, given.topologyKey, *std::move(selector),
                                      placed.pod, affinity, taints, std::move(choice)});
    }
  }
  std::vector<Constraint> constraints;
  for (auto& [key, constraint] : distinct) constraints.push_back(std::move(constraint));
  return constraints;
}

const CountedNodes& TopologySpread::Cycle::countedBy(const Constraint& constraint,
                                                     const Topology& topology) {
  constexpr std::size_t kMost = 64;  // bounds the entries of pods with their own affinity
  std::pair key(constraint.topologyKey, constraint.choice);
  if (const auto known = counted_.find(key); known != counted_.end()) return known->second;
  if (counted_.size() >= kMost) counted_.clear();
  CountedNodes& counted = counted_[std::move(key)];
  counted.resize(topology.values.size());
  const NodeDemand demand(*constraint.pod);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (constraint.counts(*nodes_[i].node, demand)) counted[topology.domainOf[i]].push_back(i);
  return counted;
}

std::vector<TopologySpread::Domain> TopologySpread::Cycle::domainsOf(
    const Constraint& constraint, const std::vector<Placed>& pods, PodsByLabel& byLabel) {
  const Topology& topology = topologyOf(constraint.topologyKey);
  const CountedNodes& counted = countedBy(constraint, topology);
  std::vector<Domain> domains(topology.values.size());
  for (std::size_t i = 0; i < domains.size(); ++i) domains[i].counted = &counted[i];
  byLabel.forEach(constraint.selector, [&](std::uint32_t i) {
    const std::uint32_t domain = topology.domainOf[pods[i].node];
    if (domain != Topology::kNone && !pods[i].pod->facts.is(PodFacts::Terminating))
      domains[domain].pods.push_back(pods[i].pod);
  });
  std::erase_if(
      domains, [](const Domain& domain) { return domain.counted->empty() && domain.pods.empty(); });
  for (Domain& domain : domains) {
    std::ranges::stable_sort(domain.pods, [](const PodPtr& a, const PodPtr& b) {
      const int rankA = evictionRank(*a, true);
      const int rankB = evictionRank(*b, true);
      if (rankA != rankB) return rankA < rankB;
      return comparePriority(a->facts, b->facts) > 0;
    });
  }
  std::ranges::stable_sort(domains, {}, [](const Domain& domain) { return domain.pods.size(); });
  return domains;
}

std::size_t TopologySpread::take(Domain& from, std::size_t count, const Nodes& below,
                                 std::vector<PodPtr>& leaving) const {
  std::size_t taken = 0;
  for (std::size_t i = from.pods.size(); i-- > 0 && taken < count;) {
    if (args_.nodeFit && !fitsAnyOtherNode(*from.pods[i], below)) continue;
    leaving.push_back(from.pods[i]);
    from.pods.erase(from.pods.begin() + static_cast<std::ptrdiff_t>(i));
    ++taken;
  }
  return taken;
}

void TopologySpread::balanceDomains(const Constraint& constraint, std::vector<Domain> domains,
                                    const Cycle& cycle, std::vector<PodPtr>& leaving) const {
  if (domains.size() < 2) return;
  double sum = 0;
  for (const Domain& domain : domains) sum += static_cast<double>(domain.pods.size());
  const double average = sum / static_cast<double>(domains.size());
  std::vector<double> size;
  for (const Domain& domain : domains) size.push_back(static_cast<double>(domain.pods.size()));
  std::optional<Nodes> below;  // filled on first use: most constraints need no eviction
  const auto maxSkew = static_cast<double>(constraint.maxSkew);
  std::size_t i = 0;
  std::size_t j = domains.size() - 1;
  while (i < j) {
    if (size[j] <= average) {
      --j;
      continue;
    }
    const double skew = size[j] - size[i];
    const double move = std::min({std::ceil(size[j] - average), std::ceil(average - size[i]),
                                  std::ceil((skew - maxSkew) / 2)});
    if (skew <= maxSkew || move <= 0) {
      ++i;
      continue;
    }
    if (!below) {
      below.emplace();
      for (const Domain& domain : domains)
        if (static_cast<double>(domain.pods.size()) < average) cycle.addNodes(domain, *below);
    }
    const auto taken =
        static_cast<double>(take(domains[j], static_cast<std::size_t>(move), *below, leaving));
    size[j] -= taken;
    size[i] += taken;
    if (taken < move) --j;  // no other pod of it can be evicted
  }
}

Task<Result<>> TopologySpread::balance(const Nodes& nodes) {
  std::unordered_set<std::string_view> spread;  // namespaces with such pods
  std::unordered_set<std::uint32_t> hashes;     // rejects most pods quickly
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (entry.facts.is(PodFacts::Spread) && !entry.facts.is(PodFacts::Terminal)) {
        spread.insert(entry.pod->metadata.namespace_);
        hashes.insert(entry.facts.namespaceHash);
      }
  if (spread.empty()) co_return Result<>{};
  std::map<std::string, std::vector<Placed>, std::less<>> byNamespace;
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    for (const auto& entry : nodes[node].pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && hashes.contains(entry.facts.namespaceHash) &&
          spread.contains(entry.pod->metadata.namespace_) && args_.scope.covers(*entry.pod) &&
          isEvictable(*entry.pod))
        byNamespace[entry.pod->metadata.namespace_].push_back({entry.pod, node});
  Cycle cycle(nodes);
  std::vector<PodPtr> leaving;
  for (const auto& [namespace_, pods] : byNamespace) {
    PodsByLabel byLabel;
    for (const Placed& placed : pods) byLabel.add(*placed.pod);
    for (const Constraint& constraint : constraintsOf(pods))
      balanceDomains(constraint, cycle.domainsOf(constraint, pods, byLabel), cycle, leaving);
  }
  std::set<const Pod*> seen;  // several constraints may select the same pod
  std::erase_if(leaving, [&](const PodPtr& pod) { return !seen.insert(pod.get()).second; });
  auto task = evictAll(std::move(leaving));
  co_await task;
  co_return Result<>{};
}

}  // namespace koord::descheduler
