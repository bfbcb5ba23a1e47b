#pragma once

// ScoreIndex: the total score of every feasible node, arranged so that the best one is found without
// looking at all of them. Nodes stand in blocks of 64; a block remembers its maximum and how many nodes
// have it, and is looked at again only when one of its nodes changed. Setting a score is O(1), finding
// the best O(nodes / 64 + changed blocks * 64).

#include <optional>
#include <vector>

#include "base/random.h"
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
  std::int64_t at(NodeId node) const { return totals_[node]; }

  struct Best {
    NodeId node = kNoNode;
    std::int64_t total = 0;
    std::size_t ties = 0;  // nodes with that total
  };
  // The best node; among equals uniformly random (the random source is not used when there is one).
  std::optional<Best> best(Random& random);

 private:
  struct Block {
    std::int64_t max = kInfeasible;
    std::uint32_t ties = 0;
  };
  void refresh(std::size_t block);

  std::vector<std::int64_t> totals_;
  std::vector<Block> blocks_;
  NodeSet dirty_;  // of block numbers
};

}  // namespace koord::scheduler
