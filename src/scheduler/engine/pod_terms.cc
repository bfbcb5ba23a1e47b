#include "scheduler/engine/pod_terms.h"

#include <algorithm>

namespace koord::scheduler {

bool PodSelector::matches(const LabelSet& set, const NamespaceLabels& namespaceLabels) const {
  bool here = std::ranges::binary_search(namespaces, set.namespace_);
  if (!here && namespaceSelector) {
    const api::StringMap* of = namespaceLabels ? namespaceLabels(set.namespace_) : nullptr;
    static const api::StringMap kNone;
    here = namespaceSelector->matches(of ? *of : kNone);
  }
  return here && labels.matches(set.labels);
}

std::string PodSelector::key() const {
  std::string key;
  for (const auto& name : namespaces) key += name + ",";
  key += '\n';
  if (namespaceSelector) key += "?" + namespaceSelector->toString();
  key += '\n';
  // Nothing and everything print alike.
  key += labels.requirements().empty() ? (labels.empty() ? "*" : "-") : labels.toString();
  return key;
}

std::optional<TermId> TermTable::intern(Symbols& symbols, const api::Pod& pod,
                                        const api::PodAffinityTerm& term, std::string& error) {
  AffinityTerm parsed;
  auto labels = api::Selector::compile(term.labelSelector);
  if (!labels) {
    error = labels.error().message;
    return std::nullopt;
  }
  parsed.pods.labels = *std::move(labels);
  if (term.namespaceSelector) {
    auto selector = api::Selector::compile(*term.namespaceSelector);
    if (!selector) {
      error = selector.error().message;
      return std::nullopt;
    }
    parsed.pods.namespaceSelector = *std::move(selector);
  }
  parsed.pods.namespaces = term.namespaces;
  if (term.namespaces.empty() && !term.namespaceSelector)
    parsed.pods.namespaces.push_back(pod.metadata.namespace_);
  std::ranges::sort(parsed.pods.namespaces);
  parsed.topologyKey = symbols.intern(term.topologyKey);
  const auto [it, added] = ids_.emplace(term.topologyKey + '\n' + parsed.pods.key(), terms_.size());
  if (added) terms_.push_back(std::move(parsed));
  return it->second;
}

std::shared_ptr<const PodTerms> TermTable::parse(Symbols& symbols, const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  if (!affinity || (!affinity->podAffinity && !affinity->podAntiAffinity)) return nullptr;
  auto terms = std::make_shared<PodTerms>();
  for (const bool anti : {false, true}) {
    const auto& part = anti ? affinity->podAntiAffinity : affinity->podAffinity;
    if (!part) continue;
    const auto read = [&](std::string_view group, const api::PodAffinityTerm& term) {
      std::string error;
      const auto id = intern(symbols, pod, term, error);
      if (!id && terms->error.empty()) terms->error = std::string(group) + ": " + error;
      return id;
    };
    for (const auto& term : part->requiredDuringSchedulingIgnoredDuringExecution)
      if (const auto id = read(anti ? "requiredAntiAffinityTerms" : "requiredAffinityTerms", term))
        (anti ? terms->antiAffinity : terms->affinity).push_back(*id);
    for (const auto& term : part->preferredDuringSchedulingIgnoredDuringExecution)
      if (const auto id = read(anti ? "preferredAntiAffinityTerms" : "preferredAffinityTerms",
                               term.podAffinityTerm))
        terms->preferred.emplace_back(
            *id, anti ? -std::int64_t{term.weight} : std::int64_t{term.weight});
  }
  return terms;
}

}  // namespace koord::scheduler
