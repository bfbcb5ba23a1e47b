#pragma once

// SymbolSelector: a label selector with the cluster's symbols, for matching single nodes: a
// requirement costs a binary search over a few integers. For all nodes at once see
// node_selection.h.

#include <vector>

#include "api/selector.h"
#include "scheduler/engine/cluster.h"

namespace koord::scheduler {

class SymbolSelector {
 public:
  // Interns the selector's labels, so that nodes that get them later match.
  SymbolSelector(Symbols& symbols, const api::Selector& selector);
  bool matches(const Symbols& symbols, const NodeRow& node) const;

 private:
  struct Requirement {
    Symbol key = 0;
    api::Selector::Op op = api::Selector::Op::Exists;
    std::vector<Symbol> values;
    std::int64_t bound = 0;
  };
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

// A node selector term: labels, and fields of which only metadata.name has a value.
class SymbolTerm {
 public:
  SymbolTerm(Symbols& symbols, const api::NodeTerm& term)
      : labels_(symbols, term.labels()), fields_(term.fields()) {}
  bool matches(const Symbols& symbols, const NodeRow& node) const;

 private:
  SymbolSelector labels_;
  std::vector<api::FieldSelector::Requirement> fields_;
};

}  // namespace koord::scheduler
