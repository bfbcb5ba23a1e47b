#include "scheduler/plugins/podtopologyspread/plugin.h"

#include <algorithm>

#include "scheduler/engine/node_selection.h"
#include "scheduler/engine/tolerations.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kAttempt = "PodTopologySpread/attempt";

bool restrictsNodes(const api::PodSpec& spec) {
  return !spec.nodeSelector.empty() ||
         (spec.affinity && spec.affinity->nodeAffinity &&
          spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution);
}

}  // namespace

// Domains are not filled in yet.
std::vector<PodTopologySpread::Spread> PodTopologySpread::spreadsOf(
    const PodInfo& pod, std::vector<SpreadConstraint> constraints, bool needAllKeys) {
  const api::PodSpec& spec = pod.pod->spec;
  NodeSet labelled = cluster_.live();
  if (needAllKeys) {
    for (const SpreadConstraint& constraint : constraints) {
      NodeSet holders(cluster_.capacity());
      cluster_.labels().collect(constraint.key, holders);
      labelled.intersect(holders);
    }
  }
  std::optional<NodeSet> suitable, tolerated;
  std::vector<Spread> spreads;
  for (SpreadConstraint& constraint : constraints) {
    Spread& spread = spreads.emplace_back();
    spread.selfMatches = constraint.pods.labels.matches(pod.pod->metadata.labels);
    spread.nodes = labelled;
    if (constraint.honorAffinity && restrictsNodes(spec)) {
      if (!suitable) {
        suitable = cluster_.live();
        narrow(cluster_, api::RequiredNodeAffinity(spec), *suitable);
      }
      spread.nodes.intersect(*suitable);
    }
    if (constraint.honorTaints) {
      if (!tolerated) {
        tolerated = cluster_.live();
        const Tolerations tolerations(spec.tolerations);
        cluster_.tainted().forEach([&](NodeId node) {
          if (!tolerations.tolerateAll(cluster_.taints(cluster_.taintSets()[node])))
            tolerated->erase(node);
        });
      }
      spread.nodes.intersect(*tolerated);
    }
    spread.constraint = std::move(constraint);
  }
  return spreads;
}

void PodTopologySpread::prepare(const PodInfo& pod, std::vector<SpreadConstraint> constraints) {
  hard_.spreads = spreadsOf(pod, std::move(constraints), true);
  for (Spread& spread : hard_.spreads) {
    const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
    spread.exists.assign(static_cast<std::size_t>(topology.domains), 0);
    spread.nodes.forEach(
        [&](NodeId node) { spread.exists[static_cast<std::size_t>(topology.domainOf[node])] = 1; });
    count(spread);
  }
  hard_.version = index_.version();
}

void PodTopologySpread::count(Spread& spread) {
  const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
  spread.counts.assign(spread.exists.size(), 0);
  countsOf(spread).forEach([&](NodeId node, std::int64_t pods) {
    if (spread.nodes.contains(node))
      spread.counts[static_cast<std::size_t>(topology.domainOf[node])] += pods;
  });
  std::int64_t domains = 0;
  std::int64_t least = INT64_MAX;
  for (std::size_t domain = 0; domain < spread.exists.size(); ++domain) {
    if (!spread.exists[domain]) continue;
    ++domains;
    least = std::min(least, spread.counts[domain]);
  }
  // Domains that should be there and are not count as empty ones.
  spread.least = domains == 0 || domains < spread.constraint.minDomains ? 0 : least;
}

PreFilterResult PodTopologySpread::preFilter(CycleState& state, const PodInfo& pod) {
  if (constraints_.none(pod, SpreadAction::DoNotSchedule)) return {Status::skip(), {}};
  auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
  if (!constraints) {
    return {Status::error("obtaining pod's hard topology spread constraints: " +
                          constraints.error().message),
            {}};
  }
  if (constraints->empty()) return {Status::skip(), {}};
  prepare(pod, *std::move(constraints));
  hard_.attempt = state.put(kAttempt, ++attempts_);
  return {};
}

Status PodTopologySpread::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const std::uint64_t attempt = *state.get<std::uint64_t>(kAttempt);
  if (hard_.attempt != attempt) {  // another pod has been asked about since
    auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
    if (!constraints) return Status::of(constraints.error());
    prepare(pod, *std::move(constraints));
    hard_.attempt = attempt;
  } else if (hard_.version != index_.version()) {  // what-if changes: pods, not nodes
    for (Spread& spread : hard_.spreads) count(spread);
    hard_.version = index_.version();
  }
  std::vector<const std::int32_t*> domainOf;
  for (const Spread& spread : hard_.spreads)
    domainOf.push_back(index_.topology(spread.constraint.key).domainOf.data());
  VerdictId missing = kPasses, skewed = kPasses;
  nodes.forEach([&](NodeId node) {
    for (std::size_t i = 0; i < hard_.spreads.size(); ++i) {
      const Spread& spread = hard_.spreads[i];
      const std::int32_t domain = domainOf[i][node];
      if (domain == PodIndex::kNoDomain) {
        if (missing == kPasses) {
          missing = nodes.rejection(
              Code::UnschedulableAndUnresolvable,
              {"node(s) didn't match pod topology spread constraints (missing required label)"});
        }
        return nodes.reject(node, missing);
      }
      const std::int64_t skew = spread.counts[static_cast<std::size_t>(domain)] +
                                (spread.selfMatches ? 1 : 0) - spread.least;
      if (skew > spread.constraint.maxSkew) {
        if (skewed == kPasses) {
          skewed = nodes.rejection(Code::Unschedulable,
                                   {"node(s) didn't match pod topology spread constraints"});
        }
        return nodes.reject(node, skewed);
      }
    }
  });
  return {};
}

// A pod waits for others to come or go only where that shifts a count of one of its constraints.
Hint PodTopologySpread::onPod(const PodInfo& pod, const ClusterEvent& event) const {
  const PodInfo* before = event.oldPod.get();
  const PodInfo* after = event.newPod.get();
  const PodInfo& other = after ? *after : *before;
  const auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
  if (!constraints) return Hint::Queue;
  if (after && after->uid() == pod.uid()) {
    if ((event.actions & action::kUpdatePodToleration) == 0) return Hint::Queue;
    const bool taints = std::ranges::any_of(*constraints, &SpreadConstraint::honorTaints);
    return taints ? Hint::Queue : Hint::Skip;
  }
  if (other.pod->spec.nodeName.empty() && other.pod->status.nominatedNodeName.empty())
    return Hint::Skip;
  const auto counted = [&](const SpreadConstraint& constraint, const PodInfo* which) {
    return which && index_.matches(constraint.pods, *which);
  };
  const bool shifted = std::ranges::any_of(*constraints, [&](const SpreadConstraint& constraint) {
    return counted(constraint, before) != counted(constraint, after);
  });
  return shifted ? Hint::Queue : Hint::Skip;
}

Hint PodTopologySpread::onNode(const PodInfo& pod, const ClusterEvent& event) const {
  const auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
  if (!constraints) return Hint::Queue;
  const auto value = [&](const api::Node& node, const SpreadConstraint& constraint) {
    return api::findIn(node.metadata.labels, cluster_.symbols().text(constraint.key));
  };
  const auto takesPart = [&](const std::shared_ptr<const api::Node>& node) {
    return node && std::ranges::all_of(*constraints,
                                       [&](const auto& c) { return value(*node, c) != nullptr; });
  };
  const bool before = takesPart(event.oldNode);
  const bool after = takesPart(event.newNode);
  if (before != after) return Hint::Queue;
  if (!before) return Hint::Skip;
  if (!event.newNode || !event.oldNode || event.actions == action::kUpdateNodeTaint)
    return Hint::Queue;
  const bool moved = std::ranges::any_of(*constraints, [&](const SpreadConstraint& constraint) {
    return *value(*event.oldNode, constraint) != *value(*event.newNode, constraint);
  });
  return moved ? Hint::Queue : Hint::Skip;
}

std::vector<EventRegistration> PodTopologySpread::eventsToRegister() const {
  return {{EventResource::Pod,
           action::kAdd | action::kUpdatePodLabel | action::kUpdatePodToleration | action::kDelete,
           "", [this](const PodInfo& pod, const ClusterEvent& event) { return onPod(pod, event); }},
          {EventResource::Node,
           action::kAdd | action::kDelete | action::kUpdateNodeLabel | action::kUpdateNodeTaint, "",
           [this](const PodInfo& pod, const ClusterEvent& event) { return onNode(pod, event); }}};
}

}  // namespace koord::scheduler
