#pragma once

// One run: an embedded API server, two koord-scheduler processes behind faulty networks, and the
// life of a cluster, all on virtual time and from one seed. The run ends with a quiet phase, after
// which the leader's state must equal the store, no pod may be forgotten, and no pod may wait that
// would fit.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

namespace koord::simulation {

struct RunOutcome {
  std::string violation;  // "invariant: details"; "" when all held
  std::deque<std::string> lastLines;
  std::uint64_t fingerprint = 0;  // of all events
  // How much was checked.
  std::size_t attempts = 0;
  std::size_t bound = 0;
  std::size_t preempted = 0;
  std::size_t foretold = 0;
  std::vector<std::string> plugins;  // of the run's features
};

// `features`: the names of the features of the run; empty: the seed decides.
RunOutcome simulate(std::uint64_t seed, bool verbose, const std::set<std::string>& features = {});

}  // namespace koord::simulation
