// Finding the best of N nodes after one of them has changed. A heap would find the best, but the
// scheduler needs a random one of equals, and often the best within some set of nodes (a domain,
// those that passed a filter). Scores of most nodes also stay equal for long.
//
// So the totals are an array by node, in blocks of 64, like the words of a NodeSet. Each block has
// its highest total and a bit for each node that has it:
//
//   set       a total above the block's highest replaces it; an equal one sets the node's bit; a
//   lower
//             one clears it. Without bits the highest is only an upper bound, which stays for now.
//   top       the highest of all blocks' highest. A block without bits is rescanned (refresh) only
//   if
//             its bound is not below the best so far: most such blocks get a better total before
//             they are ever rescanned.
//   nth       walks the blocks that have the top total and counts their bits, to find the k-th
//             holder for a random k.
//
// With a set of nodes, a block's stored answer holds if some holder is in the set; otherwise those
// members of the block are scanned.
//
// Cost: set O(1); top and nth O(N / 64), and 64 for each rescanned block, which the set that
// removed its last holder has paid for. 5,000 nodes are 79 blocks. Totals take as few bytes as they
// need (NarrowColumn), and a block is compared with vector instructions, so that a rescan costs
// little. Why not a tree over the blocks: with 100,000 nodes the walk is 1,563 steps over 12 KiB of
// contiguous memory, and in a tree every set would have to climb.

#include "scheduler/engine/score_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace koord::scheduler {

namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace

void ScoreIndex::clear(std::size_t capacity) {
  totals_.assign(0);
  max_.clear();
  holders_.clear();
  ties_.clear();
  reserve(capacity);
}

void ScoreIndex::reserve(std::size_t capacity) {
  const std::size_t blocks = (capacity + 63) / 64;
  if (blocks <= max_.size()) return;
  totals_.resize(blocks * 64);
  max_.resize(blocks);
  holders_.resize(blocks);
  ties_.resize(blocks);
}

void ScoreIndex::remember(std::size_t block, std::int64_t max, std::uint64_t holders) {
  max_[block] = max;
  holders_[block] = holders;
  ties_[block] = static_cast<std::uint8_t>(std::popcount(holders));
}

void ScoreIndex::set(NodeId node, std::int64_t total) {
  const std::int64_t value = total + 1;
  totals_.set(node, value);
  const std::size_t block = node >> 6;
  const std::uint64_t bit = std::uint64_t{1} << (node & 63);
  if (value > max_[block]) return remember(block, value, bit);
  const std::uint64_t holders =
      value == max_[block] ? holders_[block] | bit : holders_[block] & ~bit;
  if (holders != holders_[block]) remember(block, max_[block], holders);
}

void ScoreIndex::set(std::span<const NodeId> nodes, std::span<const std::int64_t> totals) {
  if (nodes.size() < max_.size()) {
    for (std::size_t n = 0; n < nodes.size(); ++n) set(nodes[n], totals[n]);
    return;
  }
  const std::int64_t bound = std::ranges::max(totals) + 1;
  totals_.set(nodes, totals, 1);
  for (std::size_t b = 0; b < max_.size(); ++b) remember(b, std::max(max_[b], bound), 0);
}

std::int64_t ScoreIndex::highest(std::size_t block, std::uint64_t members) const {
  return totals_.read([&](const auto& totals) {
    const auto* first = totals.data() + block * 64;
    auto max = static_cast<std::decay_t<decltype(*first)>>(0);
    if (members == kAll) {
      for (std::size_t i = 0; i < 64; ++i) max = std::max(max, first[i]);
    } else {
      for (; members != 0; members &= members - 1)
        max = std::max(max, first[std::countr_zero(members)]);
    }
    return static_cast<std::int64_t>(max);
  });
}

std::uint64_t ScoreIndex::holders(std::size_t block, std::int64_t total,
                                  std::uint64_t members) const {
  return totals_.read([&](const auto& totals) {
    const auto* first = totals.data() + block * 64;
    // Compared with vector instructions, a byte each, then eight bytes to eight bits at once.
    const auto wanted = static_cast<std::decay_t<decltype(*first)>>(total);
    std::array<std::uint8_t, 64> equal;
    for (std::size_t i = 0; i < 64; ++i) equal[i] = first[i] == wanted ? 1 : 0;
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < 64; i += 8) {
      std::uint64_t eight = 0;
      static_assert(std::endian::native == std::endian::little);
      std::memcpy(&eight, &equal[i], 8);
      found |= (eight * 0x0102040810204080U) >> 56 << i;
    }
    return found & members;
  });
}

void ScoreIndex::refresh(std::size_t block) {
  const std::int64_t max = highest(block, kAll);
  remember(block, max, max == 0 ? 0 : holders(block, max, kAll));
}

// Of all nodes. The highest of the blocks' maxima is the answer unless it is only a bound.
ScoreIndex::Top ScoreIndex::topOfAll() {
  std::int64_t best = 0;
  for (const std::int64_t max : max_) best = std::max(best, max);
  std::size_t ties = 0;
  for (std::size_t b = 0; b < max_.size() && best > 0; ++b) {
    if (max_[b] != best) continue;
    if (holders_[b] == 0) refresh(b);
    if (max_[b] == best) ties += ties_[b];
  }
  return ties == 0 ? Top{} : Top{best - 1, ties};
}

ScoreIndex::Top ScoreIndex::top(const NodeSet* among) {
  if (!among)
    if (const Top top = topOfAll(); top.ties > 0) return top;
  std::int64_t best = 1;  // the lowest feasible total
  std::size_t ties = 0;
  const auto found = [&](std::int64_t max, std::size_t holders) {
    if (max < best) return;
    if (max > best) ties = 0;
    best = max;
    ties += holders;
  };
  for (std::size_t b = 0; b < max_.size(); ++b) {
    if (max_[b] < best) continue;
    const std::uint64_t members = among ? among->word(b) : kAll;
    if (members == 0) continue;
    if (holders_[b] == 0) refresh(b);
    if (const std::uint64_t some = holders_[b] & members; some == holders_[b]) {
      found(max_[b], ties_[b]);
    } else if (some != 0) {
      found(max_[b], static_cast<std::size_t>(std::popcount(some)));
    } else if (max_[b] >= best) {
      const std::int64_t max = highest(b, members);
      if (max >= best)
        found(max, static_cast<std::size_t>(std::popcount(holders(b, max, members))));
    }
  }
  return ties == 0 ? Top{} : Top{best - 1, ties};
}

NodeId ScoreIndex::nth(std::int64_t total, std::size_t position, const NodeSet* among) const {
  const std::int64_t value = total + 1;
  for (std::size_t b = 0; b < max_.size(); ++b) {
    if (max_[b] < value) continue;
    const std::uint64_t members = among ? among->word(b) : kAll;
    if (members == 0) continue;
    std::uint64_t found = max_[b] == value ? holders_[b] & members : holders(b, value, members);
    const std::size_t count =
        found == holders_[b] ? ties_[b] : static_cast<std::size_t>(std::popcount(found));
    if (position >= count) {
      position -= count;
      continue;
    }
    for (; position > 0; --position) found &= found - 1;
    return static_cast<NodeId>(b * 64 + static_cast<std::size_t>(std::countr_zero(found)));
  }
  return kNoNode;
}

std::optional<ScoreIndex::Best> ScoreIndex::best(Random& random, const NodeSet* among) {
  const Top top = this->top(among);
  if (top.ties == 0) return std::nullopt;
  const std::size_t position = top.ties > 1 ? random.below(top.ties) : 0;
  return Best{nth(top.total, position, among), top.total, top.ties};
}

}  // namespace koord::scheduler
