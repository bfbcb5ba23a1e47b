#pragma once

// How the children of one quota share what it has of one resource.
//
// Every child is promised its min (or, with guarantees, the larger of min and what it has been given).
// Who asks for no more than that gets what it asks for, if it lends the rest, or all that it was
// promised. The others are borrowers: what is left is dealt out among them by weight, in rounds, until
// nothing is left or everybody has what he asked for.
//
//   each round   a share is floor(weight * left / weights of all borrowers); the units that rounding
//                leaves over go one each to the largest remainders, and among equals by name (Hamilton's
//                apportionment). Who has more than he asked for gives the surplus back and is out.
//
// If the promises are more than there is they are kept all the same, and nobody borrows. A weight of 0
// never borrows. Products are taken in 128 bits: amounts are bytes or thousandths of a core.
//
// Cost: O(children) a round; a round ends with a borrower less, or is the last one. Source: the rules of
// Koordinator's elastic quota (redistribution of runtime quota), golden cases in quota_runtime.json.

#include <cstdint>
#include <span>
#include <vector>

namespace koord::scheduler::quota {

// One child; those of a quota are given in the order of their names.
struct Claim {
  std::int64_t promised = 0;
  std::int64_t request = 0;
  std::int64_t weight = 0;
  bool lends = true;

  bool borrows() const { return request > promised; }
};

// What a round dealt out, for people.
struct Round {
  std::int64_t left = 0;      // at its start
  std::size_t borrowers = 0;  // that took part
};

// Fills runtime[i] for claims[i]. `rounds`, when given, gets a line for every round.
void redistribute(std::span<const Claim> claims, std::int64_t total,
                  std::span<std::int64_t> runtime, std::vector<Round>* rounds = nullptr);

// floor(available * min / sum), for what is left of a min when all mins together are more than there
// is; 0 when nothing is.
std::int64_t scaledMin(std::int64_t available, std::int64_t min, __int128 sum);

}  // namespace koord::scheduler::quota
