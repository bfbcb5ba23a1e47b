#pragma once

// One run: an embedded API server, two koord-scheduler processes behind bad networks, and the life
// of a cluster, all on virtual time and from one seed. Then quiet, in which everything has to come
// to an end: what the leader believes is what the store says, no pod is forgotten, and no pod waits
// that would fit.

#include <cstdint>
#include <deque>
#include <set>
#include <string>

namespace koord::simulation {

struct RunOutcome {
  std::string violation;  // "invariant: details"; "" when all held
  std::deque<std::string> lastLines;
  std::uint64_t fingerprint = 0;  // of all that happened
  // How much there was to check.
  std::size_t attempts = 0;
  std::size_t bound = 0;
  std::size_t preempted = 0;
};

// `features`: names of those that it has whatever the seed says; none: the seed says it.
RunOutcome simulate(std::uint64_t seed, bool verbose, const std::set<std::string>& features = {});

}  // namespace koord::simulation
