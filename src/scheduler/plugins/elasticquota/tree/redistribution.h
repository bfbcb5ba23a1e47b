#pragma once

// How the children of one quota share its amount of one resource.
//
// Every child is guaranteed its min (or, with guarantees, the larger of min and what was allocated
// to it). A child that requests at most that much gets its request if it lends the rest, otherwise
// the whole guaranteed amount. The other children borrow: the remaining amount is distributed among
// them by weight, in rounds, until nothing is left or every child has what it requested.
//
//   each round   a share is floor(weight * left / weights of all borrowers); the units that
//                rounding leaves go one each to the largest remainders, and among equals by name
//                (Hamilton's apportionment). A child that has more than it requested returns the
//                surplus and is out.
//
// If the guaranteed amounts exceed the total, they are given nevertheless, and no child borrows. A
// child with weight 0 never borrows. Products have 128 bits: amounts are bytes or millicores.
//
// Cost: O(children) per round; each round removes a borrower or is the last. Source: the rules of
// Koordinator's elastic quota (redistribution of runtime quota), golden cases in
// quota_runtime.json.

#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduler::quota {

// One child. The claims of a quota are in the order of the children's names.
struct Claim {
  std::int64_t promised = 0;
  std::int64_t request = 0;
  std::int64_t weight = 0;
  bool lends = true;

  bool borrows() const { return request > promised; }
};

// The result of a round, for display.
struct Round {
  std::int64_t left = 0;      // at the start of the round
  std::size_t borrowers = 0;  // that took part
};

// Fills runtime[i] for claims[i]. Adds a Round to `rounds` for every round, unless it is nullptr.
void redistribute(std::span<const Claim> claims, std::int64_t total,
                  std::span<std::int64_t> runtime, std::vector<Round>* rounds = nullptr);

// floor(available * min / sum): the scaled min if the mins of all children exceed what is
// available; 0 if nothing is available.
std::int64_t scaledMin(std::int64_t available, std::int64_t min, __int128 sum);

}  // namespace koord::scheduler::quota
