#include "scheduler/plugins/elasticquota/tree/redistribution.h"

#include <algorithm>

namespace koord::scheduler::quota {

namespace {

using Wide = __int128;

struct Share {
  std::uint32_t child = 0;
  Wide remainder = 0;
};

// Distributes `left` among the borrowers by weight.
void distributeLeft(std::span<const Claim> claims, std::span<const std::uint32_t> borrowers,
                    Wide left, Wide weights, std::span<std::int64_t> runtime,
                    std::vector<Share>& shares) {
  shares.clear();
  Wide residual = left;
  for (const std::uint32_t child : borrowers) {
    const Wide product = Wide{claims[child].weight} * left;
    const Wide base = product / weights;
    runtime[child] += static_cast<std::int64_t>(base);
    residual -= base;
    shares.push_back({child, product - base * weights});
  }
  // Fewer than there are borrowers. Children are in the order of their names.
  const auto units = static_cast<std::ptrdiff_t>(residual);
  if (units <= 0) return;
  std::nth_element(shares.begin(), shares.begin() + (units - 1), shares.end(),
                   [](const Share& a, const Share& b) {
                     return a.remainder != b.remainder ? a.remainder > b.remainder
                                                       : a.child < b.child;
                   });
  for (std::ptrdiff_t n = 0; n < units; ++n) ++runtime[shares[static_cast<std::size_t>(n)].child];
}

}  // namespace

void redistribute(std::span<const Claim> claims, std::int64_t total,
                  std::span<std::int64_t> runtime, std::vector<Round>* rounds) {
  Wide left = total;
  Wide weights = 0;
  std::vector<std::uint32_t> borrowers;
  for (std::uint32_t child = 0; child < claims.size(); ++child) {
    const Claim& claim = claims[child];
    runtime[child] = claim.borrows() || !claim.lends ? claim.promised : claim.request;
    left -= runtime[child];
    if (!claim.borrows() || claim.weight <= 0) continue;
    borrowers.push_back(child);
    weights += claim.weight;
  }
  std::vector<Share> shares;
  shares.reserve(borrowers.size());
  while (left > 0 && weights > 0) {
    if (rounds) rounds->push_back({static_cast<std::int64_t>(left), borrowers.size()});
    distributeLeft(claims, borrowers, left, weights, runtime, shares);
    left = 0;
    std::erase_if(borrowers, [&](std::uint32_t child) {
      const Claim& claim = claims[child];
      if (runtime[child] < claim.request) return false;
      left += runtime[child] - claim.request;
      runtime[child] = claim.request;
      weights -= claim.weight;
      return true;
    });
  }
}

std::int64_t scaledMin(std::int64_t available, std::int64_t min, __int128 sum) {
  if (available <= 0 || sum <= 0) return 0;
  return static_cast<std::int64_t>(Wide{available} * min / sum);
}

}  // namespace koord::scheduler::quota
