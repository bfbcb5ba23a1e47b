#pragma once

// LabelIndex: the nodes with a label: for every key and for every (key, value) the set of nodes.
// Values that few nodes have (host names) are stored as short lists, common ones as bitsets.

#include <boost/unordered/unordered_flat_map.hpp>
#include <span>
#include <vector>

#include "scheduler/engine/node_set.h"
#include "scheduler/engine/symbols.h"

namespace koord::scheduler {

struct Label {
  Symbol key = 0;
  Symbol value = 0;
  auto operator<=>(const Label&) const = default;
};

class LabelIndex {
 public:
  void add(NodeId node, std::span<const Label> labels);
  void remove(NodeId node, std::span<const Label> labels);

  // Adds the nodes with the key, or with the key and this value, to `out`.
  void collect(Symbol key, NodeSet& out) const;
  void collect(Label label, NodeSet& out) const;
  // The number of nodes with that label.
  std::size_t count(Label label) const;

 private:
  struct Holders {
    std::vector<NodeId> few;
    NodeSet many;
    std::size_t size = 0;
    void add(NodeId node);
    void remove(NodeId node);
    void collect(NodeSet& out) const;
  };
  static constexpr std::size_t kFew = 32;

  static std::uint64_t pack(Label label) { return std::uint64_t{label.key} << 32 | label.value; }

  boost::unordered_flat_map<Symbol, Holders> byKey_;
  boost::unordered_flat_map<std::uint64_t, Holders> byLabel_;
};

}  // namespace koord::scheduler
