#include "scheduler/plugins/podtopologyspread/plugin.h"

#include <algorithm>
#include <utility>

#include "scheduler/engine/node_selection.h"
#include "scheduler/engine/tolerations.h"
#include "scheduler/framework/signature.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kSpreadAttempt = "PodTopologySpread/attempt";

bool restrictsNodes(const api::PodSpec& spec) {
  return !spec.nodeSelector.empty() ||
         (spec.affinity && spec.affinity->nodeAffinity &&
          spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution);
}

}  // namespace

std::shared_ptr<const PodTopologySpread::Participants> PodTopologySpread::participantsOf(
    const PodInfo& pod, const SpreadConstraint& constraint, const std::vector<Symbol>& keys) {
  constexpr std::size_t kMost = 256;
  const api::PodSpec& spec = pod.pod->spec;
  const bool affinity = constraint.honorAffinity && restrictsNodes(spec);
  Signature signature;
  signature.add(std::int64_t{constraint.key});
  for (const Symbol key : keys) signature.add(std::int64_t{key});
  signature.add(affinity ? 1 : 0);
  if (affinity) signRequiredNodeAffinity(spec, signature);
  if (constraint.honorTaints) signTolerations(spec, signature);
  if (std::exchange(places_, cluster_.placesVersion()) != cluster_.placesVersion() ||
      participants_.size() >= kMost) {
    participants_.clear();
  }
  auto& known = participants_[signature.bytes()];
  if (known) return known;

  Participants found;
  found.nodes = cluster_.live();
  for (const Symbol key : keys) {
    NodeSet holders;
    cluster_.labels().collect(key, holders);
    found.nodes.intersect(holders);
  }
  if (affinity) narrow(cluster_, api::RequiredNodeAffinity(spec), found.nodes);
  if (constraint.honorTaints) {
    const Tolerations tolerations(spec.tolerations);
    cluster_.tainted().forEach([&](NodeId node) {
      if (!tolerations.tolerateAll(cluster_.taints(cluster_.taintSets()[node])))
        found.nodes.erase(node);
    });
  }
  const PodIndex::Topology& topology = index_.topology(constraint.key);
  std::vector<char> exists(static_cast<std::size_t>(topology.domains), 0);
  std::size_t labelled = 0;
  found.nodes.forEach([&](NodeId node) {
    const std::int32_t domain = topology.of(node);
    if (domain == PodIndex::kNoDomain) return;
    ++labelled;
    exists[static_cast<std::size_t>(domain)] = 1;
  });
  NodeSet holders;
  cluster_.labels().collect(constraint.key, holders);
  found.all = labelled == holders.size();
  found.domains = static_cast<std::size_t>(std::ranges::count(exists, 1));
  known = std::make_shared<const Participants>(std::move(found));
  return known;
}

std::vector<PodTopologySpread::Spread> PodTopologySpread::spreadsOf(
    const PodInfo& pod, std::vector<SpreadConstraint> constraints, bool needAllKeys) {
  std::vector<Symbol> keys;
  if (needAllKeys)
    for (const SpreadConstraint& constraint : constraints) keys.push_back(constraint.key);
  std::vector<Spread> spreads;
  for (SpreadConstraint& constraint : constraints) {
    Spread& spread = spreads.emplace_back();
    spread.selfMatches = constraint.pods.labels.matches(pod.pod->metadata.labels);
    spread.participants = participantsOf(pod, constraint, keys);
    spread.constraint = std::move(constraint);
  }
  return spreads;
}

void PodTopologySpread::prepare(const PodInfo& pod, std::vector<SpreadConstraint> constraints) {
  hard_.spreads = spreadsOf(pod, std::move(constraints), true);
  for (Spread& spread : hard_.spreads) {
    count(spread);
    findMinimum(spread);
  }
  hard_.version = index_.version();
}

// Counts the matching pods per domain, on nodes that count.
void PodTopologySpread::count(Spread& spread) {
  spread.sums = nullptr;
  spread.own.clear();
  if (spread.constraint.countsNone) return;
  PodIndex::Tally& pods = index_.counts({{spread.constraint.pods}, false});
  if (spread.participants->all) {
    spread.sums = index_.sums(pods, spread.constraint.key);
    return;
  }
  const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
  pods.byNode().forEach([&](NodeId node, std::int64_t amount) {
    const std::int32_t domain = topology.of(node);
    if (domain != PodIndex::kNoDomain && spread.participants->nodes.contains(node))
      spread.own.add(static_cast<NodeId>(domain), amount);
  });
}

void PodTopologySpread::findMinimum(Spread& spread) {
  const std::size_t domains = spread.participants->domains;
  spread.least = 0;
  // Domains missing to minDomains count as empty.
  if (domains < static_cast<std::size_t>(std::max<std::int64_t>(spread.constraint.minDomains, 1)) ||
      spread.counts().size() < domains) {
    return;
  }
  std::int64_t least = INT64_MAX;
  spread.counts().forEach([&](NodeId, std::int64_t pods) { least = std::min(least, pods); });
  spread.least = least;
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
  hard_.attempt = state.put(kSpreadAttempt, ++attempts_);
  return {};
}

Status PodTopologySpread::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  const std::uint64_t attempt = *state.get<std::uint64_t>(kSpreadAttempt);
  if (hard_.attempt != attempt) {  // another pod has been asked about since
    auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
    if (!constraints) return Status::of(constraints.error());
    prepare(pod, *std::move(constraints));
    hard_.attempt = attempt;
  } else if (hard_.version != index_.version()) {  // simulated changes: pods, not nodes
    for (Spread& spread : hard_.spreads) {
      count(spread);
      findMinimum(spread);
    }
    hard_.version = index_.version();
  }
  constexpr const char* kMissing =
      "node(s) didn't match pod topology spread constraints (missing required label)";
  constexpr const char* kSkewed = "node(s) didn't match pod topology spread constraints";
  if (!nodes.nodes().smallerThan(kManyNodes)) {
    for (const Spread& spread : hard_.spreads) {
      const PodIndex::Topology& topology = index_.topology(spread.constraint.key);
      NodeSet labelled, full;
      cluster_.labels().collect(topology.key, labelled);
      nodes.keepOnly(labelled, Code::UnschedulableAndUnresolvable, kMissing);
      spread.counts().forEach([&](NodeId domain, std::int64_t pods) {
        if (spread.full(pods)) index_.collect(topology, static_cast<std::int32_t>(domain), full);
      });
      nodes.rejectAny(full, Code::Unschedulable, kSkewed);
    }
    return {};
  }
  std::vector<const PodIndex::Topology*> topologies;
  for (const Spread& spread : hard_.spreads)
    topologies.push_back(&index_.topology(spread.constraint.key));
  nodes.forEach([&](NodeId node) {
    for (std::size_t i = 0; i < hard_.spreads.size(); ++i) {
      const std::int32_t domain = topologies[i]->of(node);
      if (domain == PodIndex::kNoDomain)
        return nodes.reject(node, Code::UnschedulableAndUnresolvable, kMissing);
      const Spread& spread = hard_.spreads[i];
      if (spread.full(spread.counts().at(static_cast<NodeId>(domain))))
        return nodes.reject(node, Code::Unschedulable, kSkewed);
    }
  });
  return {};
}

// Only pods that change a count of one of its constraints can help a pod.
Hint PodTopologySpread::onPod(const PodInfo& pod, const ClusterEvent& event) const {
  const PodInfo* before = event.oldPod.get();
  const PodInfo* after = event.newPod.get();
  const PodInfo& other = after ? *after : *before;
  const bool own = other.uid() == pod.uid();
  // This decides for nearly all pods, and costs almost nothing.
  if (!own && other.pod->metadata.namespace_ != pod.pod->metadata.namespace_) return Hint::Skip;
  const auto constraints = constraints_.of(pod, SpreadAction::DoNotSchedule);
  if (!constraints) return Hint::Queue;
  if (own) {
    if (event.actions == action::kUpdatePodToleration) {
      const bool taints = std::ranges::any_of(*constraints, &SpreadConstraint::honorTaints);
      return taints ? Hint::Queue : Hint::Skip;
    }
  } else if (other.pod->spec.nodeName.empty() && other.pod->status.nominatedNodeName.empty()) {
    return Hint::Skip;
  }
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
  const auto isEligible = [&](const std::shared_ptr<const api::Node>& node) {
    return node && std::ranges::all_of(*constraints,
                                       [&](const auto& c) { return value(*node, c) != nullptr; });
  };
  const bool before = isEligible(event.oldNode);
  const bool after = isEligible(event.newNode);
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
