#pragma once

// Pod affinity terms, parsed once and interned: pods made from one template share theirs.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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

// Labels of namespaces by name; nullptr if the namespace is unknown.
using NamespaceLabels = std::function<const api::StringMap*(const std::string& namespace_)>;

// The pods that a term selects.
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
  std::vector<TermId> affinity;                            // required
  std::vector<TermId> antiAffinity;                        // required
  std::vector<std::pair<TermId, std::int64_t>> preferred;  // with weights; negative: anti-affinity
  // Why a required or preferred term could not be parsed; the other terms are set.
  std::string error;
};

// A term is released with its last pod; its id is then reused with another serial.
class TermTable {
 public:
  TermTable() : table_(std::make_shared<Table>()) {}

  // nullptr if the pod has no pod (anti-)affinity. The result keeps its terms alive.
  std::shared_ptr<const PodTerms> parse(Symbols& symbols, const api::Pod& pod);
  const AffinityTerm& term(TermId id) const { return table_->slots[id].term; }
  // 0 if the id is not in use.
  std::uint64_t serial(TermId id) const { return table_->slots[id].serial; }
  std::uint64_t lastSerial() const { return table_->lastSerial; }
  // In the order of creation.
  const std::map<std::uint64_t, TermId>& bySerial() const { return table_->bySerial; }
  std::size_t size() const { return table_->bySerial.size(); }
  // Converts topology keys from one symbol table to another.
  void translate(const Symbols& from, Symbols& to);

 private:
  struct Slot {
    AffinityTerm term;
    std::string key;
    std::size_t users = 0;
    std::uint64_t serial = 0;
  };
  struct Table {
    std::deque<Slot> slots;
    std::vector<TermId> freeIds;
    std::unordered_map<std::string, TermId> ids;
    std::map<std::uint64_t, TermId> bySerial;
    std::uint64_t lastSerial = 0;

    void release(TermId id);
  };
  std::optional<TermId> intern(Symbols& symbols, const api::Pod& pod,
                               const api::PodAffinityTerm& term, std::string& error);
  std::shared_ptr<Table> table_;  // pods may outlive this object
};

}  // namespace koord::scheduler
