#include "descheduler/rules/node_fit.h"

#include <algorithm>

#include "model/resources.h"
#include "model/well_known.h"

namespace koord::descheduler {

namespace {

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == "Exists") return true;
  if (!toleration.operator_.empty() && toleration.operator_ != "Equal") return false;
  return !toleration.key.empty() && toleration.value == taint.value;
}

// Returns true if a pod on the node matches the term of required anti-affinity and the node has its
// topology key.
bool repels(const Pod& pod, const api::PodAffinityTerm& term, const NodeView& node) {
  if (!term.labelSelector || !node.node->metadata.labels.contains(term.topologyKey)) return false;
  const auto selector = api::Selector::compile(*term.labelSelector);
  if (!selector) return false;
  const auto inScope = [&](const std::string& name) {
    return term.namespaces.empty()
               ? name == pod.metadata.namespace_
               : std::ranges::find(term.namespaces, name) != term.namespaces.end();
  };
  return std::ranges::any_of(node.pods->entries, [&](const NodePods::Entry& entry) {
    const api::ObjectMeta& other = entry.pod->metadata;
    return !entry.facts.is(PodFacts::Terminal) && other.name != pod.metadata.name &&
           inScope(other.namespace_) && selector->matches(other.labels);
  });
}

bool repelledBy(const Pod& pod, const NodeView& node) {
  if (!pod.facts.is(PodFacts::AntiAffinity)) return false;
  const auto& terms =
      pod.spec.affinity->podAntiAffinity->requiredDuringSchedulingIgnoredDuringExecution;
  return std::ranges::any_of(terms, [&](const auto& term) { return repels(pod, term, node); });
}

std::int64_t amountIn(const api::Map<std::int64_t>& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

bool anyFits(const Pod& pod, const Nodes& nodes, bool ownToo) {
  const NodeDemand demand(pod);
  return std::ranges::any_of(nodes, [&](const NodeView& node) {
    return (ownToo || node.name() != pod.spec.nodeName) &&
           kubernetesMisfit(pod, demand, node).empty();
  });
}

}  // namespace

NodeDemand::NodeDemand(const Pod& pod) {
  if ((pod.facts.flags & (PodFacts::NodeSelected | PodFacts::NodeRequired)) != 0)
    affinity_.emplace(pod.spec);
}

bool NodeDemand::matches(const api::Node& node) const {
  if (!affinity_) return true;
  return affinity_->matches(node.metadata.labels, node.metadata.name).value_or(false);
}

bool toleratesTaints(const api::Pod& pod, const api::Node& node) {
  return std::ranges::all_of(node.spec.taints, [&](const api::Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::ranges::any_of(pod.spec.tolerations, [&](const api::Toleration& toleration) {
      return tolerates(toleration, taint);
    });
  });
}

bool toleratesTaint(const api::Pod& pod, const api::Taint& taint) {
  return std::ranges::any_of(pod.spec.tolerations, [&](const api::Toleration& toleration) {
    return tolerates(toleration, taint);
  });
}

void Arrivals::add(const Pod& pod) {
  milliCpu += pod.facts.milliCpu;
  memory += pod.facts.memory;
  for (const auto& [name, amount] : pod.scalars) scalars[name] += amount;
  ++pods;
}

void Arrivals::remove(const Pod& pod) {
  milliCpu -= pod.facts.milliCpu;
  memory -= pod.facts.memory;
  for (const auto& [name, amount] : pod.scalars) scalars[name] -= amount;
  --pods;
}

bool hasCapacityFor(const Pod& pod, const NodeView& node, const Arrivals* arrivals) {
  const PodFacts& facts = pod.facts;
  if (facts.is(PodFacts::Beyond)) return false;
  static const Arrivals kNone;
  const Arrivals& coming = arrivals ? *arrivals : kNone;
  const api::ResourceList& allocatable = node.node->status.allocatable;
  const auto has = [](std::int64_t wanted, std::int64_t all, std::int64_t taken) {
    return wanted <= 0 || wanted <= all - taken;
  };
  if (!has(facts.milliCpu, model::amountOf(allocatable, model::kCpu).milliValue(),
           node.pods->milliCpu + coming.milliCpu))
    return false;
  if (!has(facts.memory, model::amountOf(allocatable, model::kMemory).value(),
           node.pods->memory + coming.memory))
    return false;
  return std::ranges::all_of(pod.scalars, [&](const auto& entry) {
    const auto& [name, amount] = entry;
    return has(amount, model::amountOf(allocatable, name).value(),
               amountIn(node.pods->scalars, name) + amountIn(coming.scalars, name));
  });
}

bool fitsKoordinator(const Pod& pod, const NodeDemand& demand, const NodeView& node,
                     const Arrivals* arrivals) {
  return !node.node->spec.unschedulable && demand.matches(*node.node) &&
         toleratesTaints(pod, *node.node) && hasCapacityFor(pod, node, arrivals);
}

std::string_view kubernetesMisfit(const Pod& pod, const NodeDemand& demand, const NodeView& node) {
  if (node.node->spec.unschedulable) return "node is not schedulable";
  if (!demand.matches(*node.node)) return "pod node selector does not match the node label";
  if (!toleratesTaints(pod, *node.node)) return "pod does not tolerate taints on the node";
  if (repelledBy(pod, node)) return "pod matches inter-pod anti-affinity rule of other pod on node";
  if (node.name() == pod.spec.nodeName) return {};
  if (!hasCapacityFor(pod, node)) return "insufficient resources";
  const auto slots = model::amountOf(node.node->status.allocatable, "pods").value();
  if (node.pods->running + 1 > slots) return "insufficient pods";
  return {};
}

bool fitsAnyNode(const Pod& pod, const Nodes& nodes) {
  return anyFits(pod, nodes, true);
}

bool fitsAnyOtherNode(const Pod& pod, const Nodes& nodes) {
  return anyFits(pod, nodes, false);
}

}  // namespace koord::descheduler
