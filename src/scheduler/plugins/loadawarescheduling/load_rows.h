#pragma once

// LoadRows: what a profile's answers about a node are worked out from, in one row for each node.
//
// With k classes of pods in turn, a node that changed is asked about by each of them, k times. So all that does not
// depend on the pod is worked out once, when the node's load or capacity changes:
//
//   Filter   A node is below a limit, whatever is rounded, if (used + estimate) * 100 <= capacity * limit. These are
//            whole numbers, so that is estimate <= room, where room = capacity * limit / 100 - used, rounded down.
//   Score    (capacity - used - estimate) * 100 / capacity, rounded down, by two doubles: (capacity - used) * 100 and
//            capacity. They are exact, and so is what their quotient rounds down to, below kSmallAmount.
//
// An answer is then a comparison, or a subtraction and a division, for each of two resources, which stand on one
// cache line. A row is good for a node that is reported with what is used of it, says nothing of its own, and has
// no giant amounts. For all others, and where there is no room, the plugin goes the long way to the same answers.
//
// Most nodes have room for far more than any pod takes. The others, and those without a good row, are the set `near`;
// Filter looks at no other nodes, as long as pods take no more than a mark and no report has become too old unnoticed.
// A pod that takes more moves the mark up, and with it there are more nodes near. Where all are, a look at each costs
// two comparisons.
//
// Cost: a change of load O(1); Filter O(nodes / 64 + those in question that are near), and O(nodes) when the mark
// moves, which it does by half at least; Score O(nodes in question).

#include <array>

#include "scheduler/plugins/loadawarescheduling/load_table.h"

namespace koord::scheduler {

class LoadRows {
 public:
  // Of resources that are limited, or weighed. There are nearly always two of them, cpu and memory; if there are more,
  // no row is good for that. Where there is but one, the second allows anything, or weighs nothing.
  static constexpr std::size_t kMost = 2;
  template <class Number>
  using Pair = std::array<Number, kMost>;

  struct alignas(64) Row {
    WallTime updated = WallTime::min();  // min(): it is not good
    Pair<std::int64_t> room{};
    Pair<double> left{};      // in hundredths: what is not used, before the pod comes
    Pair<double> capacity{};  // at least 1
  };

  // Of what prod pods use, or all. limits, weights: by resource; 0: none. nullptr: nothing is limited. They must
  // outlive it.
  LoadRows(const LoadTable& table, bool prod, const LoadAmounts* limits,
           const LoadAmounts& weights);

  bool judges() const { return judges_; }
  bool scores() const { return scores_; }
  // The node's load changed, or what it has. fresh: its report is not too old, and tooOld() will follow once it is.
  void load(NodeId node, bool fresh);
  void resize(NodeId node, bool fresh);
  void tooOld(NodeId node) { near_.insert(node); }

  // Adds those of the nodes to `rest` that may be above their limits with a pod of this estimate, or whose report may
  // be too old, as one of `oldest` is. fresh: tooOld() has been called for all of these.
  void judge(const LoadAmounts& estimate, const NodeSet& nodes, WallTime oldest, bool fresh,
             std::vector<NodeId>& rest);

  // By node.
  const Row* rows() const { return rows_.data(); }
  // The score of a node for it is the sum of what it says for its row's two resources.
  struct Scale {
    Pair<double> takes{};  // in hundredths
    Pair<std::uint32_t> weights{};
    std::uint32_t weightSum = 1;
  };
  Scale scaleFor(const LoadAmounts& estimate) const;
  static std::int64_t score(const Scale& scale, const Row& row) {
    const auto share = [&](std::size_t i) {
      const double left = std::max(row.left[i] - scale.takes[i], 0.0);
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(left / row.capacity[i]));
    };
    return (share(0) * scale.weights[0] + share(1) * scale.weights[1]) / scale.weightSum;
  }

 private:
  // What it has.
  struct Size {
    bool good = false;              // no giant amounts, and it says nothing of its own
    Pair<std::int64_t> allowed{};   // of the limited resources
    Pair<std::int64_t> capacity{};  // of the weighed ones
  };
  static bool fits(const Row& row, const Pair<std::int64_t>& takes) {
    return takes[0] <= row.room[0] && takes[1] <= row.room[1];
  }
  Size sizeOf(NodeId node) const;
  void moveMark(const Pair<std::int64_t>& takes);

  const LoadTable& table_;
  const bool prod_;
  const LoadAmounts* const limits_;
  const LoadAmounts& weights_;
  bool judges_ = false;
  bool scores_ = false;
  Pair<std::size_t> limited_{};  // the resources
  Pair<std::size_t> weighed_{};
  Scale scale_;  // of a pod that takes nothing
  std::vector<Row> rows_;
  std::vector<Size> sizes_;
  // What pods may take without looking at nodes that are not near.
  Pair<std::int64_t> mark_{};
  NodeSet near_;
};

}  // namespace koord::scheduler
