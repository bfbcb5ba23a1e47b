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
  // Selectors of nothing and of everything print alike.
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
  parsed.pods.namespaces.assign(term.namespaces.begin(), term.namespaces.end());
  if (term.namespaces.empty() && !term.namespaceSelector)
    parsed.pods.namespaces.push_back(pod.metadata.namespace_);
  std::ranges::sort(parsed.pods.namespaces);
  parsed.topologyKey = symbols.intern(term.topologyKey);
  std::string key = term.topologyKey + '\n' + parsed.pods.key();
  Table& table = *table_;
  if (const auto known = table.ids.find(key); known != table.ids.end()) {
    ++table.slots[known->second].users;
    return known->second;
  }
  TermId id = static_cast<TermId>(table.slots.size());
  if (table.freeIds.empty()) {
    table.slots.emplace_back();
  } else {
    id = table.freeIds.back();
    table.freeIds.pop_back();
  }
  table.slots[id] = {std::move(parsed), key, 1, ++table.lastSerial};
  table.ids.emplace(std::move(key), id);
  table.bySerial.emplace(table.lastSerial, id);
  return id;
}

void TermTable::Table::release(TermId id) {
  Slot& slot = slots[id];
  if (--slot.users > 0) return;
  ids.erase(slot.key);
  bySerial.erase(slot.serial);
  slot = {};
  freeIds.push_back(id);
}

void TermTable::translate(const Symbols& from, Symbols& to) {
  for (const auto& [serial, id] : table_->bySerial) {
    Symbol& key = table_->slots[id].term.topologyKey;
    key = to.intern(from.text(key));
  }
}

std::shared_ptr<const PodTerms> TermTable::parse(Symbols& symbols, const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  if (!affinity || (!affinity->podAffinity && !affinity->podAntiAffinity)) return nullptr;
  const std::shared_ptr<PodTerms> terms(new PodTerms, [table = table_](const PodTerms* gone) {
    for (const TermId id : gone->affinity) table->release(id);
    for (const TermId id : gone->antiAffinity) table->release(id);
    for (const auto& [id, weight] : gone->preferred) table->release(id);
    delete gone;
  });
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
