#include "descheduler/plugins/kubernetes/topology_spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/pod_order.h"

namespace koord::descheduler {

struct TopologySpread::Constraint {
  std::int64_t maxSkew = 1;
  std::string topologyKey;
  api::Selector selector;
  PodPtr pod;  // whose node affinity and tolerations say which nodes count
  bool honorsAffinity = true;
  bool honorsTaints = false;

  bool counts(const api::Node& node, const NodeDemand& demand) const {
    return node.metadata.labels.contains(topologyKey) &&
           (!honorsAffinity || demand.matches(node)) &&
           (!honorsTaints || toleratesTaints(*pod, node));
  }
};

struct TopologySpread::Domain {
  std::string value;
  std::vector<PodPtr> pods;  // the last ones leave first
  Nodes nodes;               // that count
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
  if (!constraint.labelSelector) return std::nullopt;
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

// What of the pod decides which nodes a constraint counts.
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

// Leaves later: rank 0 cannot be evicted, rank 1 is tied to nodes.
int leavingRank(const Pod& pod, bool evictable) {
  if (!evictable) return 0;
  const auto tied = PodFacts::NodeSelected | PodFacts::NodeRequired | PodFacts::NodePreferred;
  return (pod.facts.flags & tied) != 0 ? 1 : 2;
}

}  // namespace

std::vector<TopologySpread::Constraint> TopologySpread::constraintsOf(
    const std::vector<Placed>& pods) const {
  std::map<std::string, Constraint> distinct;
  for (const Placed& placed : pods) {
    const Pod& pod = *placed.pod;
    for (const auto& given : pod.spec.topologySpreadConstraints) {
      if (std::ranges::find(args_.constraints, given.whenUnsatisfiable) == args_.constraints.end())
        continue;
      auto selector = selectorOf(given, pod);
      if (!selector) continue;
      const bool affinity = given.nodeAffinityPolicy.value_or("Honor") == "Honor";
      const bool taints = given.nodeTaintsPolicy.value_or("Ignore") == "Honor";
      auto key =
          fmt::format("{} {} {} {} {} {}", given.topologyKey, given.maxSkew, selector->toString(),
                      affinity, taints, nodeChoice(pod, affinity, taints));
      distinct.try_emplace(std::move(key),
                           Constraint{given.maxSkew, given.topologyKey, *std::move(selector),
                                      placed.pod, affinity, taints});
    }
  }
  std::vector<Constraint> constraints;
  for (auto& [key, constraint] : distinct) constraints.push_back(std::move(constraint));
  return constraints;
}

std::vector<TopologySpread::Domain> TopologySpread::domainsOf(const Constraint& constraint,
                                                              const std::vector<Placed>& pods,
                                                              const Nodes& nodes) {
  std::map<std::string, Domain> byValue;
  const NodeDemand demand(*constraint.pod);
  for (const NodeView& node : nodes)
    if (constraint.counts(*node.node, demand))
      byValue[*api::findIn(node.node->metadata.labels, constraint.topologyKey)].nodes.push_back(
          node);
  for (const Placed& placed : pods) {
    const auto* value = api::findIn(placed.node->node->metadata.labels, constraint.topologyKey);
    if (!value || placed.pod->facts.is(PodFacts::Terminating) ||
        !constraint.selector.matches(placed.pod->metadata.labels))
      continue;
    byValue[*value].pods.push_back(placed.pod);
  }
  std::vector<Domain> domains;
  for (auto& [value, domain] : byValue) {
    domain.value = value;
    std::ranges::stable_sort(domain.pods, [&](const PodPtr& a, const PodPtr& b) {
      const int rankA = leavingRank(*a, true);
      const int rankB = leavingRank(*b, true);
      if (rankA != rankB) return rankA < rankB;
      return comparePriority(a->facts, b->facts) > 0;
    });
    domains.push_back(std::move(domain));
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
                                    std::vector<PodPtr>& leaving) const {
  if (domains.size() < 2) return;
  double sum = 0;
  for (const Domain& domain : domains) sum += static_cast<double>(domain.pods.size());
  const double average = sum / static_cast<double>(domains.size());
  std::vector<double> size;
  Nodes below;
  for (const Domain& domain : domains) {
    size.push_back(static_cast<double>(domain.pods.size()));
    if (size.back() < average) below.insert(below.end(), domain.nodes.begin(), domain.nodes.end());
  }
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
    const auto taken =
        static_cast<double>(take(domains[j], static_cast<std::size_t>(move), below, leaving));
    size[j] -= taken;
    size[i] += taken;
    if (taken < move) --j;  // nothing else of it can leave
  }
}

Task<Result<>> TopologySpread::balance(const Nodes& nodes) {
  std::unordered_set<std::string_view> spread;  // namespaces with such pods
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (entry.facts.is(PodFacts::Spread) && !entry.facts.is(PodFacts::Terminal))
        spread.insert(entry.pod->metadata.namespace_);
  if (spread.empty()) co_return Result<>{};
  std::map<std::string, std::vector<Placed>, std::less<>> byNamespace;
  for (const NodeView& node : nodes)
    for (const auto& entry : node.pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && spread.contains(entry.pod->metadata.namespace_) &&
          args_.scope.covers(*entry.pod) && mayGo(*entry.pod))
        byNamespace[entry.pod->metadata.namespace_].push_back({entry.pod, &node});
  std::vector<PodPtr> leaving;
  for (const auto& [namespace_, pods] : byNamespace)
    for (const Constraint& constraint : constraintsOf(pods))
      balanceDomains(constraint, domainsOf(constraint, pods, nodes), leaving);
  std::set<const Pod*> seen;  // several constraints may want the same pod to leave
  std::erase_if(leaving, [&](const PodPtr& pod) { return !seen.insert(pod.get()).second; });
  auto task = evictAll(std::move(leaving));
  co_await task;
  co_return Result<>{};
}

}  // namespace koord::descheduler
