#include "scheduler/plugins/nodeaffinity/plugin.h"

#include <algorithm>
#include <set>

#include "scheduler/engine/node_selection.h"
#include "scheduler/engine/symbol_selector.h"
#include "scheduler/framework/signature.h"

namespace koord::scheduler {

namespace {

constexpr std::string_view kRequired = "NodeAffinity/required";
constexpr std::string_view kPreferred = "NodeAffinity/preferred";

const api::NodeAffinity* affinityOf(const PodInfo& pod) {
  const auto& affinity = pod.pod->spec.affinity;
  return affinity && affinity->nodeAffinity ? &*affinity->nodeAffinity : nullptr;
}

const api::NodeSelector* requiredOf(const PodInfo& pod) {
  const api::NodeAffinity* affinity = affinityOf(pod);
  if (!affinity || !affinity->requiredDuringSchedulingIgnoredDuringExecution) return nullptr;
  return &*affinity->requiredDuringSchedulingIgnoredDuringExecution;
}

// The node names that the terms allow; nullopt if a term names none.
std::optional<std::set<std::string>> pinnedNames(const api::NodeSelector& selector) {
  std::set<std::string> all;
  for (const auto& term : selector.nodeSelectorTerms) {
    std::optional<std::set<std::string>> names;
    for (const auto& field : term.matchFields) {
      if (field.key != "metadata.name" || field.operator_ != "In") continue;
      const std::set<std::string> values(field.values.begin(), field.values.end());
      if (!names) {
        names = values;
      } else {
        std::erase_if(*names, [&](const std::string& name) { return !values.contains(name); });
      }
    }
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  if (selector.nodeSelectorTerms.empty()) return std::nullopt;
  return all;
}

// The pod's requirements in two forms: for many nodes and for few.
struct Required {
  api::RequiredNodeAffinity pod;
  SymbolSelector selector;
  bool hasTerms = false;
  std::vector<SymbolTerm> terms;

  Required(Symbols& symbols, const api::PodSpec& spec)
      : pod(spec), selector(symbols, pod.nodeSelector()), hasTerms(pod.affinity().has_value()) {
    if (!hasTerms) return;
    for (const auto& term : pod.affinity()->terms()) terms.emplace_back(symbols, term);
  }
  bool matches(const Symbols& symbols, const NodeRow& node) const {
    return selector.matches(symbols, node) &&
           (!hasTerms || std::ranges::any_of(terms, [&](const SymbolTerm& term) {
             return term.matches(symbols, node);
           }));
  }
};

// A preferred term in both forms.
struct Preference {
  api::NodeTerm pod;
  SymbolTerm term;
  std::int64_t weight = 0;
};

}  // namespace

NodeAffinity::NodeAffinity(Handle& handle, const NodeAffinityArgs& args)
    : cluster_(handle.cluster()) {
  if (!args.addedAffinity) return;
  const auto& added = *args.addedAffinity;
  if (added.requiredDuringSchedulingIgnoredDuringExecution) {
    addedRequired_ = api::NodeSelectorMatcher::compileLazily(
        *added.requiredDuringSchedulingIgnoredDuringExecution);
  }
  if (auto terms =
          api::PreferredNodeTerms::compile(added.preferredDuringSchedulingIgnoredDuringExecution);
      terms && !terms->terms().empty()) {
    addedPreferred_ = *std::move(terms);
  }
}

void NodeAffinity::sign(const PodInfo& pod, Signature& signature) const {
  signRequiredNodeAffinity(pod.pod->spec, signature);
  const api::NodeAffinity* affinity = affinityOf(pod);
  if (!affinity) return signature.add(std::int64_t{0});
  const auto& preferred = affinity->preferredDuringSchedulingIgnoredDuringExecution;
  signature.add(static_cast<std::int64_t>(preferred.size()));
  for (const auto& term : preferred) {
    signature.add(std::int64_t{term.weight});
    signTerm(term.preference, signature);
  }
}

PreFilterResult NodeAffinity::preFilter(CycleState& state, const PodInfo& pod) {
  const api::NodeSelector* required = requiredOf(pod);
  if (!required && pod.pod->spec.nodeSelector.empty() && !addedRequired_)
    return {Status::skip(), {}};
  state.put(kRequired, Required(cluster_.symbols(), pod.pod->spec));
  if (!required) return {};
  const auto names = pinnedNames(*required);
  if (!names) return {};
  if (names->empty()) return {Status::unresolvable("pod affinity terms conflict"), {}};
  return {Status{}, std::vector<std::string>(names->begin(), names->end())};
}

Status NodeAffinity::filter(const CycleState& state, const PodInfo&, NodeFilter& nodes) {
  const auto& required = *state.get<Required>(kRequired);
  constexpr auto kCode = Code::UnschedulableAndUnresolvable;
  const char* enforced = "node(s) didn't match scheduler-enforced node affinity";
  const char* own = "node(s) didn't match Pod's node affinity/selector";
  if (nodes.nodes().smallerThan(kManyNodes)) {
    nodes.forEach([&](NodeId id) {
      const NodeRow& node = cluster_.node(id);
      if (addedRequired_ &&
          !addedRequired_->matches(node.object->metadata.labels, node.name).value_or(false)) {
        nodes.reject(id, kCode, enforced);
      } else if (!required.matches(cluster_.symbols(), node)) {
        nodes.reject(id, kCode, own);
      }
    });
    return {};
  }
  if (addedRequired_) {
    NodeSet matching = nodes.nodes();
    narrow(cluster_, *addedRequired_, matching);
    nodes.keepOnly(matching, kCode, enforced);
  }
  NodeSet matching = nodes.nodes();
  narrow(cluster_, required.pod, matching);
  nodes.keepOnly(matching, kCode, own);
  return {};
}

Status NodeAffinity::preScore(CycleState& state, const PodInfo& pod, std::span<const NodeId>) {
  const api::NodeAffinity* affinity = affinityOf(pod);
  const bool own = affinity && !affinity->preferredDuringSchedulingIgnoredDuringExecution.empty();
  if (!own && !addedPreferred_) return Status::skip();
  std::vector<Preference> preferences;
  const auto add = [&](const api::PreferredNodeTerms& terms) {
    for (const auto& [term, weight] : terms.terms())
      preferences.push_back({term, SymbolTerm(cluster_.symbols(), term), weight});
  };
  if (own) {
    const auto terms =
        api::PreferredNodeTerms::compile(affinity->preferredDuringSchedulingIgnoredDuringExecution);
    if (!terms) return Status::of(terms.error());
    add(*terms);
  }
  if (addedPreferred_) add(*addedPreferred_);
  state.put(kPreferred, std::move(preferences));
  return {};
}

Status NodeAffinity::score(const CycleState& state, const PodInfo&, std::span<const NodeId> nodes,
                           std::span<std::int64_t> scores) {
  const auto& preferences = *state.get<std::vector<Preference>>(kPreferred);
  std::ranges::fill(scores, 0);
  if (nodes.size() < kManyNodes) {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const NodeRow& node = cluster_.node(nodes[n]);
      for (const auto& [pod, term, weight] : preferences)
        if (term.matches(cluster_.symbols(), node)) scores[n] += weight;
    }
    return {};
  }
  for (const auto& [pod, term, weight] : preferences) {
    const NodeSet matching = select(cluster_, pod, cluster_.live());
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (matching.contains(nodes[n])) scores[n] += weight;
  }
  return {};
}

std::vector<EventRegistration> NodeAffinity::eventsToRegister() const {
  return {{EventResource::Node, action::kAdd | action::kUpdateNodeLabel | action::kUpdateNodeTaint,
           "", [this](const PodInfo& pod, const ClusterEvent& event) {
             const api::RequiredNodeAffinity required(pod.pod->spec);
             const auto fits = [&](const std::shared_ptr<const api::Node>& node) {
               if (!node) return false;
               const auto& meta = node->metadata;
               return (!addedRequired_ ||
                       addedRequired_->matches(meta.labels, meta.name).value_or(false)) &&
                      required.matches(meta.labels, meta.name).value_or(false);
             };
             return fits(event.newNode) && !fits(event.oldNode) ? Hint::Queue : Hint::Skip;
           }}};
}

}  // namespace koord::scheduler
