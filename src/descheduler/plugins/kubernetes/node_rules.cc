#include "descheduler/plugins/kubernetes/node_rules.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "descheduler/plugins/kubernetes/spread_index.h"
#include "descheduler/rules/node_fit.h"
#include "descheduler/rules/pod_order.h"

namespace koord::descheduler {

namespace {

bool namesTaint(const std::vector<std::string>& list, const api::Taint& taint) {
  return std::ranges::any_of(list, [&](const std::string& entry) {
    return entry == taint.key || entry == taint.key + "=" + taint.value;
  });
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

}  // namespace

NodeTaints::Args NodeTaints::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  out.preferNoSchedule = args.boolean("includePreferNoSchedule", false);
  out.excluded = args.texts("excludedTaints");
  out.included = args.texts("includedTaints");
  if (!out.excluded.empty() && !out.included.empty())
    args.error("includedTaints", "only one of includedTaints and excludedTaints can be set");
  out.effective = givenOf(args, {"namespaces", "labelSelector", "includePreferNoSchedule",
                                 "excludedTaints", "includedTaints"});
  return out;
}

bool NodeTaints::counts(const api::Taint& taint) const {
  if (taint.effect != "NoSchedule" &&
      !(args_.preferNoSchedule && taint.effect == "PreferNoSchedule"))
    return false;
  return !namesTaint(args_.excluded, taint) &&
         (args_.included.empty() || namesTaint(args_.included, taint));
}

Task<Result<>> NodeTaints::deschedule(const Nodes& nodes) {
  for (const NodeView& node : nodes) {
    std::vector<const api::Taint*> taints;
    for (const api::Taint& taint : node.node->spec.taints)
      if (counts(taint)) taints.push_back(&taint);
    if (taints.empty()) continue;
    std::vector<PodPtr> pods;
    for (const auto& entry : node.pods->entries) {
      if (entry.facts.is(PodFacts::Terminal)) continue;
      const bool intolerant = std::ranges::any_of(
          taints, [&](const api::Taint* taint) { return !toleratesTaint(*entry.pod, *taint); });
      if (intolerant && args_.scope.covers(*entry.pod) && isEvictable(*entry.pod))
        pods.push_back(entry.pod);
    }
    auto task = evictAll(std::move(pods));
    co_await task;
  }
  co_return Result<>{};
}

NodeAffinity::Args NodeAffinity::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  out.types = readChoices(args, "nodeAffinityType", {kRequired, kPreferred});
  if (out.types.empty()) args.error("nodeAffinityType", "Required value: name at least one type");
  out.effective = givenOf(args, {"namespaces", "labelSelector", "nodeAffinityType"});
  return out;
}

bool NodeAffinity::violatesRequired(const Pod& pod, const NodeView& node,
                                    const Nodes& nodes) const {
  return pod.facts.is(PodFacts::NodeRequired) && !NodeDemand(pod).matches(*node.node) &&
         fitsAnyNode(pod, nodes);
}

bool NodeAffinity::violatesPreferred(const Pod& pod, const NodeView& node,
                                     const Nodes& nodes) const {
  if (!pod.facts.is(PodFacts::NodePreferred)) return false;
  const auto terms = api::PreferredNodeTerms::compile(
      pod.spec.affinity->nodeAffinity->preferredDuringSchedulingIgnoredDuringExecution);
  if (!terms) return false;
  const auto scoreOf = [&](const NodeView& view) {
    return terms->score(view.node->metadata.labels, view.name());
  };
  const std::int64_t now = scoreOf(node);
  return std::ranges::any_of(nodes, [&](const NodeView& other) { return scoreOf(other) > now; }) &&
         fitsAnyNode(pod, nodes);
}

Task<Result<>> NodeAffinity::deschedule(const Nodes& nodes) {
  for (const std::string& type : args_.types) {
    std::vector<PodPtr> pods;
    for (const NodeView& node : nodes) {
      for (const auto& entry : node.pods->entries) {
        if (entry.facts.is(PodFacts::Terminal)) continue;
        const auto flag = type == kRequired ? PodFacts::NodeRequired : PodFacts::NodePreferred;
        if (!entry.facts.is(flag)) continue;
        const bool violates = type == kRequired ? violatesRequired(*entry.pod, node, nodes)
                                                : violatesPreferred(*entry.pod, node, nodes);
        if (violates && args_.scope.covers(*entry.pod) && isEvictable(*entry.pod))
          pods.push_back(entry.pod);
      }
    }
    auto task = evictAll(std::move(pods));
    co_await task;
  }
  co_return Result<>{};
}

InterPodAntiAffinity::Args InterPodAntiAffinity::Args::read(Fields& args) {
  Args out;
  out.scope = PodScope::read(args);
  out.effective = givenOf(args, {"namespaces", "labelSelector"});
  return out;
}

// Finds the pods that may violate a term: those of the pod's own node and of its topology domain,
// by the term's selector. Pods without terms cost nothing if no pod nearby has any.
class InterPodAntiAffinity::Present {
 public:
  Present(const Nodes& nodes, const PodScope& scope) : nodes_(nodes), scope_(scope) {}

  bool violates(const Pod& pod, const NodeView& node) {
    const auto& terms =
        pod.spec.affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
    return std::ranges::any_of(terms,
                               [&](const auto& term) { return violatesTerm(pod, node, term); });
  }
  void remove(const PodPtr& pod) { gone_.insert(pod.get()); }

 private:
  // Nodes, and their pods, filled on first use.
  struct Domain {
    std::vector<const NodeView*> nodes;
    std::optional<PodsByLabel> pods;
  };
  using ByValue = std::unordered_map<std::string, Domain>;

  bool violatesTerm(const Pod& pod, const NodeView& node, const api::PodAffinityTerm& term) {
    if (!term.labelSelector) return false;
    const auto selector = api::Selector::compile(*term.labelSelector);
    if (!selector) return false;
    const auto* value = api::findIn(node.node->metadata.labels, term.topologyKey);
    // A node without the label is a domain of its own.
    Domain& domain = value ? domainsOf(term.topologyKey)[*value] : single_[&node];
    if (domain.nodes.empty()) domain.nodes.push_back(&node);
    if (!domain.pods) domain.pods = podsOf(domain.nodes);
    PodsByLabel& pods = *domain.pods;
    return pods.any(*selector, [&](std::uint32_t i) { return isAnother(pod, term, pods.pod(i)); });
  }

  static PodsByLabel podsOf(const std::vector<const NodeView*>& nodes) {
    PodsByLabel pods;
    for (const NodeView* node : nodes)
      for (const auto& entry : node->pods->entries)
        if (!entry.facts.is(PodFacts::Terminal)) pods.add(*entry.pod);
    return pods;
  }

  bool isAnother(const Pod& pod, const api::PodAffinityTerm& term, const Pod& other) const {
    if (other.metadata.name == pod.metadata.name) return false;
    const bool inScope = term.namespaces.empty()
                             ? other.metadata.namespace_ == pod.metadata.namespace_
                             : std::ranges::find(term.namespaces, other.metadata.namespace_) !=
                                   term.namespaces.end();
    return inScope && scope_.covers(other) && !gone_.contains(&other);
  }

  ByValue& domainsOf(const std::string& key) {
    const auto [at, fresh] = domains_.try_emplace(key);
    if (fresh)
      for (const NodeView& node : nodes_)
        if (const auto* value = api::findIn(node.node->metadata.labels, key))
          at->second[*value].nodes.push_back(&node);
    return at->second;
  }

  const Nodes& nodes_;
  const PodScope& scope_;
  std::unordered_map<std::string, ByValue> domains_;
  std::unordered_map<const NodeView*, Domain> single_;
  std::unordered_set<const Pod*> gone_;
};

Task<Result<>> InterPodAntiAffinity::deschedule(const Nodes& nodes) {
  Present present(nodes, args_.scope);
  for (const NodeView& node : nodes) {
    std::vector<PodPtr> pods;
    for (const auto& entry : node.pods->entries)
      if (!entry.facts.is(PodFacts::Terminal) && entry.facts.is(PodFacts::AntiAffinity) &&
          args_.scope.covers(*entry.pod))
        pods.push_back(entry.pod);
    std::ranges::stable_sort(pods, [](const PodPtr& a, const PodPtr& b) {
      return comparePriority(a->facts, b->facts) < 0;
    });
    for (const PodPtr& pod : pods) {
      if (!present.violates(*pod, node) || !isEvictable(*pod)) continue;
      auto task = evictOne(pod);
      const bool evicted = co_await task;
      if (evicted) present.remove(pod);
    }
  }
  co_return Result<>{};
}

}  // namespace koord::descheduler
