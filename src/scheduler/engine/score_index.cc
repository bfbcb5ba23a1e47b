#include "scheduler/engine/score_index.h"

#include <algorithm>

namespace koord::scheduler {

void ScoreIndex::clear(std::size_t capacity) {
  const std::size_t blocks = (capacity + 63) / 64;
  totals_.assign(blocks * 64, kInfeasible);
  blocks_.assign(blocks, Block{});
  dirty_.clear();
}

void ScoreIndex::reserve(std::size_t capacity) {
  const std::size_t blocks = (capacity + 63) / 64;
  if (blocks <= blocks_.size()) return;
  totals_.resize(blocks * 64, kInfeasible);
  blocks_.resize(blocks);
}

void ScoreIndex::set(NodeId node, std::int64_t total) {
  std::int64_t& slot = totals_[node];
  if (slot == total) return;
  slot = total;
  dirty_.insert(node >> 6);
}

void ScoreIndex::refresh(std::size_t block) {
  const auto* first = totals_.data() + block * 64;
  std::int64_t max = kInfeasible;
  for (std::size_t i = 0; i < 64; ++i) max = std::max(max, first[i]);
  std::uint32_t ties = 0;
  for (std::size_t i = 0; i < 64; ++i) ties += first[i] == max;
  blocks_[block] = {max, max == kInfeasible ? 0 : ties};
}

std::optional<ScoreIndex::Best> ScoreIndex::best(Random& random) {
  dirty_.forEach([&](NodeId block) { refresh(block); });
  dirty_.clear();
  Best best{kNoNode, kInfeasible, 0};
  for (const Block& block : blocks_) {
    if (block.max > best.total) {
      best.total = block.max;
      best.ties = block.ties;
    } else if (block.max == best.total) {
      best.ties += block.ties;
    }
  }
  if (best.total == kInfeasible) return std::nullopt;
  std::size_t pick = best.ties > 1 ? random.below(best.ties) : 0;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].max != best.total) continue;
    if (pick >= blocks_[b].ties) {
      pick -= blocks_[b].ties;
      continue;
    }
    for (std::size_t i = b * 64;; ++i) {
      if (totals_[i] == best.total && pick-- == 0) {
        best.node = static_cast<NodeId>(i);
        return best;
      }
    }
  }
  return std::nullopt;
}

}  // namespace koord::scheduler
