#include "scheduler/plugins/interpodaffinity/plugin.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace koord::scheduler {

namespace {

constexpr std::string_view kAffinityAttempt = "InterPodAffinity/attempt";

bool hasPreferred(const PodInfo& pod) {
  return pod.terms && !pod.terms->preferred.empty();
}

}  // namespace

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
    PodIndex::Tally& counts = index_.counts(all);
    for (const TermId id : pod.terms->affinity)
      out.affinity.push_back(index_.sums(counts, cluster_.terms().term(id).topologyKey));
    const bool none = std::ranges::all_of(
        out.affinity, [](const PodIndex::SumsPtr& sums) { return sums->byDomain.empty(); });
    out.firstOfItsGroup = none && matchesAll(pod.terms->affinity, pod);
  }
  if (pod.terms) {
    for (const TermId id : pod.terms->antiAffinity)
      if (auto sums = sumsOf(cluster_.terms().term(id)))
        out.antiAffinity.push_back(std::move(sums));
  }
  index_.forEachTermAbout(pod, [&](const AffinityTerm& term, PodIndex::TermHolders& holders) {
    if (!holders.antiAffinity.empty())
      out.existingAnti.push_back(index_.sums(holders.antiAffinity, term.topologyKey));
  });
  out.version = index_.version();
}

PreFilterResult InterPodAffinity::preFilter(CycleState& state, const PodInfo& pod) {
  if (pod.terms && !pod.terms->error.empty())
    return {Status::unresolvable("parsing pod: " + pod.terms->error), {}};
  const bool own = pod.terms && (!pod.terms->affinity.empty() || !pod.terms->antiAffinity.empty());
  if (!own && !index_.hasTermAbout(pod)) return {Status::skip(), {}};
  work(pod);
  conditions_.attempt = state.put(kAffinityAttempt, ++attempts_);
  const bool keptAway =
      std::ranges::any_of(conditions_.existingAnti,
                          [](const PodIndex::SumsPtr& sums) { return !sums->byDomain.empty(); });
  if (!own && !keptAway) return {Status::skip(), {}};
  return {};
}

Status InterPodAffinity::filter(const CycleState& state, const PodInfo& pod, NodeFilter& nodes) {
  // Simulations, and questions about other pods, require a new look-up.
  const std::uint64_t attempt = *state.get<std::uint64_t>(kAffinityAttempt);
  if (conditions_.attempt != attempt || conditions_.version != index_.version()) {
    work(pod);
    conditions_.attempt = attempt;
  }
  constexpr const char* kFar = "node(s) didn't match pod affinity rules";
  constexpr const char* kNear = "node(s) didn't match pod anti-affinity rules";
  constexpr const char* kUnwanted = "node(s) didn't satisfy existing pods anti-affinity rules";
  if (!nodes.nodes().smallerThan(kManyNodes)) {
    for (const auto& sums : conditions_.affinity) {
      NodeSet labelled;
      if (conditions_.firstOfItsGroup) cluster_.labels().collect(sums->topology->key, labelled);
      nodes.keepOnly(conditions_.firstOfItsGroup ? labelled : sums->nodes,
                     Code::UnschedulableAndUnresolvable, kFar);
    }
    for (const auto& sums : conditions_.antiAffinity)
      nodes.rejectAny(sums->nodes, Code::Unschedulable, kNear);
    for (const auto& sums : conditions_.existingAnti)
      nodes.rejectAny(sums->nodes, Code::Unschedulable, kUnwanted);
    return {};
  }
  const auto unmet = [&](NodeId node) {
    return std::ranges::any_of(conditions_.affinity, [&](const PodIndex::SumsPtr& sums) {
      return conditions_.firstOfItsGroup ? sums->topology->of(node) == PodIndex::kNoDomain
                                         : sums->at(node) <= 0;
    });
  };
  const auto refused = [](const std::vector<PodIndex::SumsPtr>& all, NodeId node) {
    return std::ranges::any_of(all,
                               [&](const PodIndex::SumsPtr& sums) { return sums->at(node) > 0; });
  };
  nodes.forEach([&](NodeId node) {
    if (unmet(node)) {
      nodes.reject(node, Code::UnschedulableAndUnresolvable, kFar);
    } else if (refused(conditions_.antiAffinity, node)) {
      nodes.reject(node, Code::Unschedulable, kNear);
    } else if (refused(conditions_.existingAnti, node)) {
      nodes.reject(node, Code::Unschedulable, kUnwanted);
    }
  });
  return {};
}

bool InterPodAffinity::willSkipScore(const PodInfo& pod) {
  return !hasPreferred(pod) &&
         (args_.ignorePreferredTermsOfExistingPods || !index_.hasTermAbout(pod));
}

std::vector<InterPodAffinity::Preference> InterPodAffinity::preferencesOf(const PodInfo& pod) {
  std::vector<Preference> found;
  const auto add = [&](const PodIndex::SumsPtr& sums, std::int64_t weight) {
    if (sums && !sums->byDomain.empty()) found.push_back({sums, weight});
  };
  if (pod.terms) {
    for (const auto& [id, weight] : pod.terms->preferred)
      add(sumsOf(cluster_.terms().term(id)), weight);
  }
  index_.forEachTermAbout(pod, [&](const AffinityTerm& term, PodIndex::TermHolders& holders) {
    if (args_.hardPodAffinityWeight > 0 && !holders.affinity.empty())
      add(index_.sums(holders.affinity, term.topologyKey), args_.hardPodAffinityWeight);
    if (!holders.preferred.empty()) add(index_.sums(holders.preferred, term.topologyKey), 1);
  });
  return found;
}

std::optional<NodeParts> InterPodAffinity::scoreParts(const PodInfo& pod, const NodeSet& nodes) {
  NodeParts parts(nodes);
  for (const auto& [sums, weight] : preferencesOf(pod)) {
    const NodeParts* const byAmount = index_.parts(*sums);
    if (!byAmount || !parts.add(*byAmount, static_cast<double>(weight))) return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax(parts.parts(), {}, &NodePart::value);
  const double range = most.value - least.value;
  return parts.map([&](double value) {
    return range == 0 ? 0 : std::floor(100 * ((value - least.value) / range));
  });
}

Status InterPodAffinity::preScore(CycleState&, const PodInfo& pod, std::span<const NodeId>) {
  preferred_.clear();
  if (willSkipScore(pod)) return Status::skip();
  for (const auto& [sums, weight] : preferencesOf(pod)) {
    auto known = std::ranges::find(preferred_, sums->topology, &Preferred::topology);
    if (known == preferred_.end()) {
      preferred_.push_back({sums->topology, {}});
      known = std::prev(preferred_.end());
      known->byDomain.resize(static_cast<std::size_t>(sums->topology->domains));
    }
    sums->byDomain.forEach(
        [&](NodeId domain, std::int64_t amount) { known->byDomain[domain] += weight * amount; });
  }
  return preferred_.empty() ? Status::skip() : Status{};
}

Status InterPodAffinity::score(const CycleState&, const PodInfo&, std::span<const NodeId> nodes,
                               std::span<std::int64_t> scores) {
  std::ranges::fill(scores, 0);
  for (const Preferred& preferred : preferred_) {
    const auto& domainOf = preferred.topology->domainOf;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::int32_t domain = domainOf[nodes[n]];
      if (domain != PodIndex::kNoDomain)
        scores[n] += preferred.byDomain[static_cast<std::size_t>(domain)];
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

// One matching term of several is enough to wake the pod when a pod that it avoids is removed:
// requiring all of them would leave pods waiting that could run.
Hint InterPodAffinity::onPod(const PodInfo& pod, const ClusterEvent& event) const {
  static const PodTerms kNone;
  const PodTerms& terms = pod.terms ? *pod.terms : kNone;
  const auto queueIf = [](bool yes) { return yes ? Hint::Queue : Hint::Skip; };
  const auto avoided = [&](const PodInfo& other) {
    return matchesAny(terms.antiAffinity, other) ||
           (other.terms && matchesAny(other.terms->antiAffinity, pod));
  };
  // If no pod matches its affinity, it may be the first of its group; kube-scheduler does
  // not wake it.
  const auto wantedLikeItself = [&](const PodInfo& other) {
    return matchesAll(terms.affinity, other) && matchesAll(terms.affinity, pod);
  };
  if (!event.newPod)
    return queueIf(event.oldPod && (avoided(*event.oldPod) || wantedLikeItself(*event.oldPod)));
  if (event.newPod->uid() == pod.uid()) return Hint::Queue;
  const api::Pod& other = *event.newPod->pod;
  if (other.spec.nodeName.empty() && other.status.nominatedNodeName.empty()) return Hint::Skip;
  const bool wanted = matchesAll(terms.affinity, *event.newPod);
  if (!event.oldPod) return queueIf(wanted);
  return queueIf((wanted && !matchesAll(terms.affinity, *event.oldPod)) ||
                 (avoided(*event.oldPod) && !avoided(*event.newPod)) ||
                 (wantedLikeItself(*event.oldPod) && !wanted));
}

Hint InterPodAffinity::onNode(const PodInfo& pod, const ClusterEvent& event) const {
  if (!event.newNode) return Hint::Skip;
  // Rejected by the anti-affinity of others alone, whose keys are not known here.
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
