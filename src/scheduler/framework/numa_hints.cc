#include "scheduler/framework/numa_hints.h"

namespace koord::scheduler {

namespace {

// Appends to `chosen` every set of `size` ids, from `first` on, in lexicographic order.
void addSubsets(const std::vector<int>& ids, std::size_t first, std::size_t size, NumaMask chosen,
                std::size_t most, std::vector<NumaMask>& sets) {
  if (sets.size() >= most) return;
  if (size == 0) {
    sets.push_back(chosen);
    return;
  }
  for (std::size_t i = first; i + size <= ids.size(); ++i)
    addSubsets(ids, i + 1, size - 1, chosen | NumaMask{1} << ids[i], most, sets);
}

}  // namespace

std::vector<NumaMask> numaSubsets(const std::vector<int>& ids, std::size_t most) {
  std::vector<NumaMask> sets;
  for (std::size_t size = 1; size <= ids.size(); ++size) addSubsets(ids, 0, size, 0, most, sets);
  NumaMask all = 0;
  for (const int id : ids) all |= NumaMask{1} << id;
  if (!sets.empty() && sets.back() != all) sets.back() = all;
  return sets;
}

}  // namespace koord::scheduler
