#include "scheduler/plugins/interpodaffinity/plugin.h"

#include <algorithm>

namespace koord::scheduler {

namespace {

constexpr std::string_view kAttempt = "InterPodAffinity/attempt";

bool hasPreferred(const PodInfo& pod) {
  return pod.terms && !pod.terms->preferred.empty();
}

}  // namespace

InterPodAffinity::Sums& InterPodAffinity::sumsFor(std::vector<Sums>& list, Symbol key) const {
  const auto known = std::ranges::find(list, key, &Sums::key);
  return known != list.end() ? *known : list.emplace_back(Sums{key, {}, false});
}

void InterPodAffinity::addUp(Sums& sums, const NodeAmounts& amounts, std::int64_t factor) {
  const PodIndex::Topology& topology = index_.topology(sums.key);
  sums.byDomain.resize(static_cast<std::size_t>(topology.domains));
  amounts.forEach([&](NodeId node, std::int64_t amount) {
    const std::int32_t domain = topology.domainOf[node];
    if (domain == PodIndex::kNoDomain) return;
    sums.byDomain[static_cast<std::size_t>(domain)] += factor * amount;
    sums.any = true;
  });
}

bool InterPodAffinity::matchesAll(const std::vector<TermId>& terms, const PodInfo& pod) const {
  return !terms.empty() && std::ranges::all_of(terms, [&](TermId id) {
    return index_.matches(cluster_.terms().term(id).pods, pod);
  });
}

bool InterPodAffinity::matchesAny(const std::vector<TermId>& terms, const PodInfo& pod) const {
  return std::ranges::any_of(
      terms, [&](TermId id) { return index_.matches(cluster_.terms().term(id).pods, pod); });
}

void InterPodAffinity::work(const PodInfo& pod) {
  Conditions& out = conditions_;
  out.affinity.clear();
  out.antiAffinity.clear();
  out.existingAnti.clear();
  out.firstOfItsGroup = false;
  if (pod.terms && !pod.terms->affinity.empty()) {
    PodIndex::Query all;
    for (const TermId id : pod.terms->affinity)
      all.selectors.push_back(cluster_.terms().term(id).pods);
    const NodeAmounts& counts = index_.counts(all);
    bool none = true;
    for (const TermId id : pod.terms->affinity) {
      Sums& sums =
          out.affinity.emplace_back(Sums{cluster_.terms().term(id).topologyKey, {}, false});
      addUp(sums, counts, 1);
      none &= !sums.any;
    }
    out.firstOfItsGroup = none && matchesAll(pod.terms->affinity, pod);
  }
  if (pod.terms) {
    for (const TermId id : pod.terms->antiAffinity) {
      const AffinityTerm& term = cluster_.terms().term(id);
      addUp(sumsFor(out.antiAffinity, term.topologyKey), index_.counts({{term.pods}, true}), 1);
    }
  }
  index_.forEachTermAbout(pod, [&](const AffinityTerm& term, const PodIndex::TermHolders& holders) {
    // One sum per key is enough: whoever keeps the pod away keeps it away.
    if (!holders.antiAffinity.empty())
      addUp(sumsFor(out.existingAnti, term.topologyKey), holders.antiAffinity, 1);
  });
  out.version = index_.version();
}

PreFilterResult InterPodAffinity::preFilter(CycleState& state, const PodInfo& pod) {
  if (pod.terms && !pod.terms->error.empty())
    return {Status::unresolvable("parsing pod: " + pod.terms->error), {}};
  const bool own = pod.terms && (!pod.terms->affinity.empty() || !pod.terms->antiAffinity.empty());
  if (!own && !index_.hasTermAbout(pod)) return {Status::skip(), {}};
  work(pod);
  conditions_.attempt = state.put(kAttempt, ++attempts_);
  const bool keptAway = std::ranges::any_of(conditions_.existingAnti, &Sums::any);
  if (!own && !keptAway) return {Status::skip(), {}};
  return {};
}

Status InterPodAffinity::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  // What-if changes, and questions about other pods, make it necessary to look again.
  const std::uint64_t attempt = *state.get<std::uint64_t>(kAttempt);
  if (conditions_.attempt != attempt || conditions_.version != index_.version()) {
    work(pod);
    conditions_.attempt = attempt;
  }
  struct View {
    const std::int32_t* domainOf;
    const std::int64_t* byDomain;
    std::int32_t domains;
    std::int64_t at(NodeId node) const {
      const std::int32_t domain = domainOf[node];
      return domain == PodIndex::kNoDomain || domain >= domains ? 0 : byDomain[domain];
    }
  };
  using Views = boost::container::small_vector<View, 4>;
  const auto viewsOf = [&](const std::vector<Sums>& list) {
    Views views;
    for (const Sums& sums : list) {
      views.push_back({index_.topology(sums.key).domainOf.data(), sums.byDomain.data(),
                       static_cast<std::int32_t>(sums.byDomain.size())});
    }
    return views;
  };
  const Views affinity = viewsOf(conditions_.affinity);
  const Views antiAffinity = viewsOf(conditions_.antiAffinity);
  const Views existingAnti = viewsOf(conditions_.existingAnti);
  const auto unmet = [&](NodeId node) {
    bool missing = false;
    for (const View& view : affinity) {
      if (view.domainOf[node] == PodIndex::kNoDomain) return true;
      missing |= view.at(node) <= 0;
    }
    return missing && !conditions_.firstOfItsGroup;
  };
  const auto refused = [](const Views& views, NodeId node) {
    return std::ranges::any_of(views, [&](const View& view) { return view.at(node) > 0; });
  };
  VerdictId far = kPasses, near = kPasses, unwanted = kPasses;
  const auto reject = [&](NodeId node, VerdictId& verdict, Code code, const char* reason) {
    if (verdict == kPasses) verdict = nodes.rejection(code, {reason});
    nodes.reject(node, verdict);
  };
  nodes.forEach([&](NodeId node) {
    if (unmet(node)) {
      reject(node, far, Code::UnschedulableAndUnresolvable,
             "node(s) didn't match pod affinity rules");
    } else if (refused(antiAffinity, node)) {
      reject(node, near, Code::Unschedulable, "node(s) didn't match pod anti-affinity rules");
    } else if (refused(existingAnti, node)) {
      reject(node, unwanted, Code::Unschedulable,
             "node(s) didn't satisfy existing pods anti-affinity rules");
    }
  });
  return {};
}

bool InterPodAffinity::indifferent(const PodInfo& pod) {
  return !hasPreferred(pod) &&
         (args_.ignorePreferredTermsOfExistingPods || !index_.hasTermAbout(pod));
}

Status InterPodAffinity::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId>) {
  preferred_.clear();
  if (indifferent(pod)) return Status::skip();
  if (pod.terms) {
    for (const auto& [id, weight] : pod.terms->preferred) {
      const AffinityTerm& term = cluster_.terms().term(id);
      addUp(sumsFor(preferred_, term.topologyKey), index_.counts({{term.pods}, true}), weight);
    }
  }
  index_.forEachTermAbout(pod, [&](const AffinityTerm& term, const PodIndex::TermHolders& holders) {
    if (args_.hardPodAffinityWeight > 0 && !holders.affinity.empty())
      addUp(sumsFor(preferred_, term.topologyKey), holders.affinity, args_.hardPodAffinityWeight);
    if (!holders.preferred.empty())
      addUp(sumsFor(preferred_, term.topologyKey), holders.preferred, 1);
  });
  std::erase_if(preferred_, [](const Sums& sums) { return !sums.any; });
  return preferred_.empty() ? Status::skip() : Status{};
}

Status InterPodAffinity::score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
                               std::span<std::int64_t> scores) {
  std::ranges::fill(scores, 0);
  for (const Sums& sums : preferred_) {
    const auto& domainOf = index_.topology(sums.key).domainOf;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::int32_t domain = domainOf[nodes[n]];
      if (domain != PodIndex::kNoDomain)
        scores[n] += sums.byDomain[static_cast<std::size_t>(domain)];
    }
  }
  return {};
}

Status InterPodAffinity::normalize(const CycleState&, const PodInfo&, std::span<const NodeId>,
                                   std::span<std::int64_t> scores) {
  if (scores.empty()) return {};
  const auto [least, most] = std::ranges::minmax(scores);
  const auto range = static_cast<double>(most - least);
  for (std::int64_t& score : scores)
    score = range == 0
                ? 0
                : static_cast<std::int64_t>(100 * (static_cast<double>(score - least) / range));
  return {};
}

// One matching term of several is enough to wake the pod when a pod that it avoids goes away:
// asking for all of them would leave pods waiting that could run.
Hint InterPodAffinity::onPod(const PodInfo& pod, const ClusterEvent& event) const {
  static const PodTerms kNone;
  const PodTerms& terms = pod.terms ? *pod.terms : kNone;
  const auto queueIf = [](bool yes) { return yes ? Hint::Queue : Hint::Skip; };
  const auto avoided = [&](const PodInfo& other) {
    return matchesAny(terms.antiAffinity, other) ||
           (other.terms && matchesAny(other.terms->antiAffinity, pod));
  };
  if (!event.newPod) return queueIf(event.oldPod && avoided(*event.oldPod));
  if (event.newPod->uid() == pod.uid()) return Hint::Queue;
  const api::Pod& other = *event.newPod->pod;
  if (other.spec.nodeName.empty() && other.status.nominatedNodeName.empty()) return Hint::Skip;
  const bool wanted = matchesAll(terms.affinity, *event.newPod);
  if (!event.oldPod) return queueIf(wanted);
  return queueIf((wanted && !matchesAll(terms.affinity, *event.oldPod)) ||
                 (avoided(*event.oldPod) && !avoided(*event.newPod)));
}

Hint InterPodAffinity::onNode(const PodInfo& pod, const ClusterEvent& event) const {
  if (!event.newNode) return Hint::Skip;
  // Rejected by the anti-affinity of others alone: their keys are not known here.
  if (!pod.terms || (pod.terms->affinity.empty() && pod.terms->antiAffinity.empty()))
    return Hint::Queue;
  const auto valueIn = [&](const std::shared_ptr<const api::Node>& node, TermId term) {
    const std::string& key = cluster_.symbols().text(cluster_.terms().term(term).topologyKey);
    return node ? api::findIn(node->metadata.labels, key) : nullptr;
  };
  const auto changed = [&](TermId term) {
    const auto* before = valueIn(event.oldNode, term);
    const auto* after = valueIn(event.newNode, term);
    return (before == nullptr) != (after == nullptr) || (before && *before != *after);
  };
  for (const TermId term : pod.terms->affinity)
    if (valueIn(event.newNode, term) && changed(term)) return Hint::Queue;
  for (const TermId term : pod.terms->antiAffinity)
    if (!event.oldNode || changed(term)) return Hint::Queue;
  return Hint::Skip;
}

std::vector<EventRegistration> InterPodAffinity::eventsToRegister() const {
  return {
      {EventResource::Pod, action::kAdd | action::kUpdatePodLabel | action::kDelete, "",
       [this](const PodInfo& pod, const ClusterEvent& event) { return onPod(pod, event); }},
      {EventResource::Node, action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeTaint, "",
       [this](const PodInfo& pod, const ClusterEvent& event) { return onNode(pod, event); }}};
}

}  // namespace koord::scheduler
