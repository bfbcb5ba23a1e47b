#pragma once

// ScoreIndex: the total score of every feasible node, arranged so that the best node, of all or of
// some, is found without visiting all. Nodes are in blocks of 64, as in the words of a NodeSet. A
// block stores its highest total and the nodes that have it. When the last of these changes, the
// stored total is only an upper bound; the block is rescanned when a search reaches it without a
// better total. Setting a score is O(1), finding the best O(nodes / 64) and 64 for every rescanned
// block.

#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "scheduler/engine/narrow_column.h"
#include "scheduler/engine/node_set.h"

namespace koord::scheduler {

class ScoreIndex {
 public:
  static constexpr std::int64_t kInfeasible = -1;

  // All nodes below `capacity` infeasible.
  void clear(std::size_t capacity);
  void reserve(std::size_t capacity);
  // total: not negative, or kInfeasible.
  void set(NodeId node, std::int64_t total);
  void set(std::span<const NodeId> nodes, std::span<const std::int64_t> totals);
  std::int64_t at(NodeId node) const { return totals_.at(node) - 1; }

  // The highest total and how many nodes have it.
  struct Top {
    std::int64_t total = kInfeasible;
    std::size_t ties = 0;
  };
  // Of all nodes, or of these.
  Top top(const NodeSet* among = nullptr);
  // The node at this position among those with that total, which must be the highest.
  NodeId nth(std::int64_t total, std::size_t position, const NodeSet* among = nullptr) const;

  struct Best {
    NodeId node = kNoNode;
    std::int64_t total = 0;
    std::size_t ties = 0;  // nodes with that total
  };
  // The best node; a random one of equals. `random` is not used if there is only one.
  std::optional<Best> best(Random& random, const NodeSet* among = nullptr);

 private:
  // Stores a block's highest total; without holders it is only an upper bound.
  void remember(std::size_t block, std::int64_t max, std::uint64_t holders);
  void refresh(std::size_t block);
  Top topOfAll();
  // The nodes of a block that have this total and are in `members`.
  std::uint64_t holders(std::size_t block, std::int64_t total, std::uint64_t members) const;
  std::int64_t highest(std::size_t block, std::uint64_t members) const;

  NarrowColumn totals_;  // plus 1, so that 0 is infeasible; padded to whole blocks
  // By block:
  std::vector<std::int64_t> max_;
  std::vector<std::uint64_t> holders_;  // nodes with max_; none if that is only an upper bound
  std::vector<std::uint8_t> ties_;      // the number of holders
};

}  // namespace koord::scheduler
