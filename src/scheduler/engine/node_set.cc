#include "scheduler/engine/node_set.h"

#include <algorithm>

namespace koord::scheduler {

void NodeSet::reserve(std::size_t capacity) {
  const std::size_t words = (capacity + 63) / 64;
  if (words <= words_.size()) return;
  // Grow in steps: nodes are added one at a time.
  const std::size_t grown = std::max(words, words_.size() + words_.size() / 2);
  words_.resize(grown);
  summary_.resize((grown + 63) / 64);
}

void NodeSet::clear() {
  for (std::size_t s = 0; s < summary_.size(); ++s) {
    for (std::uint64_t top = summary_[s]; top != 0; top &= top - 1)
      words_[s * 64 + static_cast<std::size_t>(std::countr_zero(top))] = 0;
    summary_[s] = 0;
  }
}

std::size_t NodeSet::size() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

bool NodeSet::smallerThan(std::size_t limit) const {
  std::size_t count = 0;
  for (std::size_t s = 0; s < summary_.size(); ++s) {
    for (std::uint64_t top = summary_[s]; top != 0; top &= top - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
      count += static_cast<std::size_t>(std::popcount(words_[w]));
      if (count >= limit) return false;
    }
  }
  return count < limit;
}

void NodeSet::intersect(const NodeSet& other) {
  for (std::size_t s = 0; s < summary_.size(); ++s) {
    for (std::uint64_t top = summary_[s]; top != 0; top &= top - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
      words_[w] &= w < other.words_.size() ? other.words_[w] : 0;
      if (words_[w] == 0) summary_[s] &= ~(1ULL << (w & 63));
    }
  }
}

void NodeSet::unite(const NodeSet& other) {
  if (other.words_.size() > words_.size()) reserve(other.capacity());
  for (std::size_t s = 0; s < other.summary_.size(); ++s) {
    for (std::uint64_t top = other.summary_[s]; top != 0; top &= top - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
      words_[w] |= other.words_[w];
    }
    summary_[s] |= other.summary_[s];
  }
}

std::size_t NodeSet::add(const NodeSet& other) {
  if (other.words_.size() > words_.size()) reserve(other.capacity());
  std::size_t added = 0;
  for (std::size_t s = 0; s < other.summary_.size(); ++s) {
    for (std::uint64_t top = other.summary_[s]; top != 0; top &= top - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
      const std::uint64_t fresh = other.words_[w] & ~words_[w];
      if (fresh == 0) continue;
      added += static_cast<std::size_t>(std::popcount(fresh));
      words_[w] |= fresh;
    }
    summary_[s] |= other.summary_[s];
  }
  return added;
}

void NodeSet::subtract(const NodeSet& other) {
  const std::size_t common = std::min(summary_.size(), other.summary_.size());
  for (std::size_t s = 0; s < common; ++s) {
    for (std::uint64_t top = summary_[s] & other.summary_[s]; top != 0; top &= top - 1) {
      const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(top));
      words_[w] &= ~other.words_[w];
      if (words_[w] == 0) summary_[s] &= ~(1ULL << (w & 63));
    }
  }
}

void NodeSet::copyTo(std::vector<NodeId>& out) const {
  out.clear();
  forEach([&](NodeId node) { out.push_back(node); });
}

bool NodeSet::operator==(const NodeSet& other) const {
  const std::size_t words = std::max(words_.size(), other.words_.size());
  for (std::size_t w = 0; w < words; ++w) {
    const std::uint64_t a = w < words_.size() ? words_[w] : 0;
    const std::uint64_t b = w < other.words_.size() ? other.words_[w] : 0;
    if (a != b) return false;
  }
  return true;
}

}  // namespace koord::scheduler
