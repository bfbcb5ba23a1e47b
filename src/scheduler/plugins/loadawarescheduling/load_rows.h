#pragma once

// LoadRows: the inputs of a profile's verdicts and scores, one row per node.
//
// With k classes of pods in turn, each class asks about a node that changed, k times in all. So
// everything that does not depend on the pod is computed once, when the node's load or capacity
// changes:
//
//   Filter   A node is below a limit, no matter how the percentage is rounded, if
//            (used + estimate) * 100 <= capacity * limit. These are integers, so that is
//            estimate <= room, where room = capacity * limit / 100 - used, rounded down.
//   Score    (capacity - used - estimate) * 100 / capacity, rounded down, from two doubles:
//            (capacity - used) * 100 and capacity. Below kSmallAmount they are exact, and so is
//            their quotient rounded down.
//
// An answer is then a comparison, or a subtraction and a division, for each of two resources, which
// share one cache line. A row is valid for a node that has a report with its usage, has no settings
// of its own, and has no amounts from kSmallAmount on. For all other nodes, and for nodes without
// enough room, the plugin computes the same answers without rows.
//
// Most nodes have far more free than any pod requests. The others, and those without a valid
// row, are in the set `near`. Filter visits no other nodes, as long as pods request at most the
// mark and every expired report has been noticed. A pod that requests more raises the mark, and
// more nodes become near. If all nodes are near, each visit costs two comparisons.
//
// Cost: a change of load O(1); Filter O(nodes / 64 + near nodes in question), and O(nodes) when the
// mark moves, which it does by half at least; Score O(nodes in question).

#include <array>

#include "scheduler/plugins/loadawarescheduling/load_table.h"

namespace koord::scheduler {

class LoadRows {
 public:
  // The number of resources that are limited, or weighted: usually two, cpu and memory. If there
  // are more, rows are never valid. If there is only one, the second has no limit, or no weight.
  static constexpr std::size_t kMaxResources = 2;
  template <class Number>
  using Pair = std::array<Number, kMaxResources>;

  struct alignas(64) Row {
    WallTime updated = WallTime::min();  // min(): the row is not valid
    Pair<std::int64_t> free{};
    Pair<double> left{};      // in hundredths: what is unused without the pod
    Pair<double> capacity{};  // at least 1
  };

  // prod: use the usage of prod pods instead of all pods. limits, weights: by resource; 0: none.
  // nullptr: no limits. They must outlive this object.
  LoadRows(const LoadTable& table, bool prod, const LoadAmounts* limits,
           const LoadAmounts& weights);

  bool judges() const { return judges_; }
  bool scores() const { return scores_; }
  // Called when the node's load or capacity has changed. fresh: its report has not expired, and
  // tooOld() will be called when it does.
  void load(NodeId node, bool fresh);
  void resize(NodeId node, bool fresh);
  void tooOld(NodeId node) { near_.insert(node); }

  // Adds to `rest` the nodes that may exceed their limits with a pod of this estimate, or whose
  // report may have expired, as a report of time `oldest` has. fresh: tooOld() has been called for
  // all nodes with an expired report.
  void judge(const LoadAmounts& estimate, const NodeSet& nodes, WallTime oldest, bool fresh,
             std::vector<NodeId>& rest);

  // By node.
  const Row* rows() const { return rows_.data(); }
  // What a pod's score needs. The score of a node is the sum over the two resources of its row.
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
  // The capacity of a node.
  struct Size {
    bool good = false;              // no amounts from kSmallAmount on and no settings of its own
    Pair<std::int64_t> allowed{};   // of the limited resources
    Pair<std::int64_t> capacity{};  // of the weighted ones
  };
  static bool fits(const Row& row, const Pair<std::int64_t>& takes) {
    return takes[0] <= row.free[0] && takes[1] <= row.free[1];
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
  Scale scale_;  // of a pod that requests nothing
  std::vector<Row> rows_;
  std::vector<Size> sizes_;
  // What pods may request without a visit to nodes that are not near.
  Pair<std::int64_t> mark_{};
  NodeSet near_;
};

}  // namespace koord::scheduler
