#pragma once

// Pod affinity terms, parsed once and interned: pods made from one template share theirs.

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "api/selector.h"
#include "scheduler/engine/label_sets.h"
#include "scheduler/engine/symbols.h"

namespace koord::scheduler {

// Labels of namespaces by name; nullptr for one that is not known.
using NamespaceLabels = std::function<const api::StringMap*(const std::string& namespace_)>;

// Which pods a term is about.
struct PodSelector {
  std::vector<std::string> namespaces;  // sorted
  std::optional<api::Selector> namespaceSelector;
  api::Selector labels = api::Selector::nothing();

  bool matches(const LabelSet& set, const NamespaceLabels& namespaceLabels) const;
  std::string key() const;  // equal selectors have equal keys
};

using TermId = std::uint32_t;

struct AffinityTerm {
  Symbol topologyKey = 0;
  PodSelector pods;
};

// The terms of one pod.
struct PodTerms {
  std::vector<TermId> affinity;      // required
  std::vector<TermId> antiAffinity;  // required
  std::vector<std::pair<TermId, std::int64_t>> preferred;  // with weights; negative ones keep away
  // Why a required or preferred term could not be read; terms that can be are there all the same.
  std::string error;
};

class TermTable {
 public:
  // nullptr when the pod has no pod (anti-)affinity.
  std::shared_ptr<const PodTerms> parse(Symbols& symbols, const api::Pod& pod);
  const AffinityTerm& term(TermId id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }

 private:
  std::optional<TermId> intern(Symbols& symbols, const api::Pod& pod, const api::PodAffinityTerm& term,
                               std::string& error);
  std::deque<AffinityTerm> terms_;
  std::unordered_map<std::string, TermId> ids_;
};

}  // namespace koord::scheduler
