#pragma once

// Columns: a set of columns of a QuotaTree, whose number is not bounded. Nearly always all of them
// are among the first 64, and the set is one word. Other columns cost a bit for each column below
// the highest.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace koord::scheduler::quota {

using Column = std::uint32_t;
// The number of common columns: every quota has cells for them.
inline constexpr Column kCommonColumns = 64;

class Columns {
 public:
  Columns() = default;

  bool empty() const { return low_ == 0 && high_.empty(); }
  bool contains(Column column) const {
    const std::size_t word = column / kWord;
    if (word == 0) return (low_ & bit(column)) != 0;
    return word <= high_.size() && (high_[word - 1] & bit(column)) != 0;
  }
  void insert(Column column) {
    const std::size_t word = column / kWord;
    if (word > high_.size()) high_.resize(word);
    (word == 0 ? low_ : high_[word - 1]) |= bit(column);
  }
  void erase(Column column) {
    const std::size_t word = column / kWord;
    if (word > high_.size()) return;
    (word == 0 ? low_ : high_[word - 1]) &= ~bit(column);
    trim();
  }

  Columns& operator|=(const Columns& other) {
    low_ |= other.low_;
    if (other.high_.size() > high_.size()) high_.resize(other.high_.size());
    for (std::size_t n = 0; n < other.high_.size(); ++n) high_[n] |= other.high_[n];
    return *this;
  }
  Columns& operator&=(const Columns& other) {
    low_ &= other.low_;
    if (high_.size() > other.high_.size()) high_.resize(other.high_.size());
    for (std::size_t n = 0; n < high_.size(); ++n) high_[n] &= other.high_[n];
    trim();
    return *this;
  }
  // Set difference.
  Columns& operator-=(const Columns& other) {
    low_ &= ~other.low_;
    for (std::size_t n = 0; n < std::min(high_.size(), other.high_.size()); ++n)
      high_[n] &= ~other.high_[n];
    trim();
    return *this;
  }
  friend Columns operator|(Columns a, const Columns& b) { return a |= b; }
  friend Columns operator&(Columns a, const Columns& b) { return a &= b; }
  friend Columns operator-(Columns a, const Columns& b) { return a -= b; }
  // Symmetric difference.
  friend Columns operator^(const Columns& a, const Columns& b) { return (a - b) | (b - a); }
  bool operator==(const Columns&) const = default;

  // The common columns that are in both, and all other columns of this set.
  Columns withCommonOf(const Columns& other) const {
    Columns result = *this;
    result.low_ = other.low_;
    return result;
  }

  // Calls fn in ascending order. The set must not change meanwhile.
  template <class F>
  void forEach(F&& fn) const {
    eachOf(low_, 0, fn);
    for (std::size_t n = 0; n < high_.size(); ++n)
      eachOf(high_[n], static_cast<Column>((n + 1) * kWord), fn);
  }

 private:
  static constexpr Column kWord = 64;
  static_assert(kCommonColumns == kWord);
  static constexpr std::uint64_t bit(Column column) { return std::uint64_t{1} << column % kWord; }
  template <class F>
  static void eachOf(std::uint64_t word, Column first, F& fn) {
    for (; word != 0; word &= word - 1) fn(first + static_cast<Column>(std::countr_zero(word)));
  }
  void trim() {
    while (!high_.empty() && high_.back() == 0) high_.pop_back();
  }

  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;  // from the 65th on; the last word is not 0
};

template <class F>
void forEachColumn(const Columns& columns, F&& fn) {
  columns.forEach(fn);
}

}  // namespace koord::scheduler::quota
