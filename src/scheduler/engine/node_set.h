#pragma once

// NodeSet: a set of dense node ids as a bitset with a summary level (one bit per word of 64), so
// that iterating a nearly empty set of 100,000 nodes reads a handful of words.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduler {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

// Batches from this size on are judged by sets of nodes (by label, by domain), smaller ones node by
// node.
inline constexpr std::size_t kManyNodes = 64;

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(std::size_t capacity) { reserve(capacity); }

  // Makes space for ids below `capacity`; never shrinks. insert() does so itself.
  void reserve(std::size_t capacity);
  std::size_t capacity() const { return words_.size() * 64; }

  bool contains(NodeId node) const {
    const std::size_t w = node >> 6;
    return w < words_.size() && (words_[w] >> (node & 63) & 1) != 0;
  }
  void insert(NodeId node) {
    const std::size_t w = node >> 6;
    if (w >= words_.size()) reserve(node + 1);
    words_[w] |= 1ULL << (node & 63);
    summary_[w >> 6] |= 1ULL << (w & 63);
  }
  void erase(NodeId node) {
    const std::size_t w = node >> 6;
    if (w >= words_.size()) return;
    words_[w] &= ~(1ULL << (node & 63));
    if (words_[w] == 0) summary_[w >> 6] &= ~(1ULL << (w & 63));
  }
  // Empties the set. The cost depends on its members, not on its capacity.
  void clear();

  bool empty() const {
    for (const std::uint64_t word : summary_)
      if (word != 0) return false;
    return true;
  }
  std::size_t size() const;
  // Returns true if it has at most `limit` members. Cheaper than size() for small limits.
  bool smallerThan(std::size_t limit) const;

  void intersect(const NodeSet& other);
  void unite(const NodeSet& other);
  std::size_t add(const NodeSet& other);  // the same; returns the number of new members
  void subtract(const NodeSet& other);

  // The members from 64 * index on, one bit each.
  std::uint64_t word(std::size_t index) const { return index < words_.size() ? words_[index] : 0; }

  // Calls fn(NodeId) in ascending order. fn may erase the current member, but no other.
  template <class F>
  void forEach(F&& fn) const {
    for (std::size_t s = 0; s < summary_.size(); ++s) {
      for (std::uint64_t top = summary_[s]; top != 0; top &= top - 1) {
        const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
        for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
          fn(static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }
  // Calls fn with the members that are also in `other`.
  template <class F>
  void forEachIn(const NodeSet& other, F&& fn) const {
    for (std::size_t s = 0; s < std::min(summary_.size(), other.summary_.size()); ++s) {
      for (std::uint64_t top = summary_[s] & other.summary_[s]; top != 0; top &= top - 1) {
        const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
        for (std::uint64_t bits = words_[w] & other.words_[w]; bits != 0; bits &= bits - 1)
          fn(static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }
  // Calls fn(index) for each of the nodes that is a member; nodes must ascend. Nearly free if the
  // set is small.
  template <class F>
  void forEachOf(std::span<const NodeId> nodes, F&& fn) const {
    if (smallerThan(nodes.size() / 16)) {
      auto from = nodes.begin();
      forEach([&](NodeId node) {
        from = std::lower_bound(from, nodes.end(), node);
        if (from != nodes.end() && *from == node)
          fn(static_cast<std::size_t>(from - nodes.begin()));
      });
      return;
    }
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (contains(nodes[n])) fn(n);
  }
  // Returns true if a member meets the condition.
  template <class F>
  bool any(F&& meets) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
        if (meets(static_cast<NodeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)))))
          return true;
    return false;
  }
  // Replaces `out` by the members in ascending order.
  void copyTo(std::vector<NodeId>& out) const;

  bool operator==(const NodeSet& other) const;

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
};

}  // namespace koord::scheduler
