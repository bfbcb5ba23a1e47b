#pragma once

// CpuSet: a set of CPU numbers, read and written as a Linux CPU list ("0-3,8,10-11"). A bit set:
// keeps 256 CPUs in place, more on the heap.

#include <bit>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace koord {

class CpuSet {
 public:
  // CPU numbers are below this. No kernel has more, and an invalid text cannot cost more than 8
  // KiB.
  static constexpr int kMaxCpus = 65'536;

  // "7-4" names no CPU for Koordinator and the kernel's own tools; Kubernetes calls it an error.
  enum class ReversedRange { Empty, Error };

  CpuSet() = default;
  CpuSet(std::initializer_list<int> cpus);
  static CpuSet of(std::span<const int> cpus);
  // 0 ... count - 1
  static CpuSet firstCpus(int count);
  // The empty text is the empty set; spaces and empty items are errors.
  static Result<CpuSet> parse(std::string_view text, ReversedRange reversed = ReversedRange::Empty);

  // Ascending, with ranges as long as possible; "" for the empty set.
  std::string toString() const;
  std::vector<int> toVector() const;

  int size() const;
  bool empty() const { return words_.empty(); }
  bool contains(int cpu) const {
    const auto word = static_cast<std::size_t>(cpu) / kWordBits;
    return cpu >= 0 && word < words_.size() && (words_[word] >> bitOf(cpu) & 1) != 0;
  }

  // The CPU must be in [0, kMaxCpus).
  void add(int cpu);
  void addRange(int first, int last);
  void remove(int cpu);

  CpuSet unionWith(const CpuSet& other) const;
  CpuSet intersect(const CpuSet& other) const;
  CpuSet difference(const CpuSet& other) const;
  bool isSubsetOf(const CpuSet& other) const;
  bool intersects(const CpuSet& other) const;
  bool operator==(const CpuSet& other) const { return words_ == other.words_; }

  // Calls visit(cpu) in ascending order.
  template <class Visit>
  void forEach(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (Word word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<int>(i * kWordBits) + std::countr_zero(word));
      }
    }
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kWordBits = 64;
  static unsigned bitOf(int cpu) { return static_cast<unsigned>(cpu) % kWordBits; }
  void trim();

  boost::container::small_vector<Word, 4> words_;  // the last one is never 0
};

}  // namespace koord
